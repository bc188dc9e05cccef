//! Why a call of a store failed.

use crate::supervisor::Supervisor;
use std::any::Any;
use std::path::Path;
use thiserror::Error;

/// Why a call of a store failed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StoreError {
    /// The record exists already, or is older than the one stored.
    #[error("conflicts with a stored record")]
    Conflict,
    /// The template is under keys that the tenant's rotation of keys replaces.
    #[error("the template is under keys that are being replaced")]
    OldKeys,
    /// Too many writes wait.
    #[error("too many writes wait for the disk")]
    Busy,
    /// Another program holds the file, which is well.
    #[error("{0}")]
    Locked(String),
    /// The disk is full.
    #[error("store: {0}")]
    Full(String),
    /// The database failed; the text is for the log.
    #[error("store: {0}")]
    Fault(String),
    /// Another program wrote to the file.
    #[error(
        "{0}; somebody else wrote to this file, or it is damaged: keep a copy, find out who, then restore the whole directory from \
         the newest backup"
    )]
    Altered(String),
    /// SQLite finds the file damaged.
    #[error(
        "the file is damaged ({0}); keep a copy, check the disk, then restore the whole directory from the newest backup"
    )]
    Damaged(String),
    /// It existed before, and is empty.
    #[error("the file is empty and was not before; restore the whole directory from the newest backup")]
    Emptied,
    /// Acknowledged transactions are not in the file.
    #[error(
        "the file counts {found} transactions and {reached} were acknowledged: it is an older copy, or its write-ahead log (-wal) \
         is missing or damaged; restore the whole directory from the newest backup"
    )]
    Older {
        /// Transactions in the file.
        found: u64,
        /// Transactions that its mark counts.
        reached: u64,
    },
    /// The database server cannot be reached, or gave no answer in time. A change that was asked for may have been made.
    #[error("{0}")]
    Unreachable(String),
    /// Another process uses the database.
    #[error("{0}")]
    InUse(String),
    /// The database cannot be used as it is; the text says what to do.
    #[error("{0}")]
    Unusable(String),
    /// A row in the database is not one that this installation wrote.
    #[error(
        "{0}; somebody else wrote to this database, it belongs to another installation, or it is damaged: keep a dump, find out who, then restore \
         it with PostgreSQL's tools and start once with --store-restored"
    )]
    Forged(String),
}

impl StoreError {
    /// Whether the file could not be read or written, as with a full disk.
    pub fn is_fault(&self) -> bool {
        matches!(self, StoreError::Fault(_) | StoreError::Full(_))
    }
}

/// The text of a database error, without statement values. Damage, a lock and a full disk are errors of their own.
pub fn fault(cause: impl std::fmt::Display + 'static) -> StoreError {
    use rusqlite::ErrorCode as Code;
    let sqlite: Option<&rusqlite::Error> = (&cause as &dyn Any).downcast_ref();
    match sqlite.and_then(rusqlite::Error::sqlite_error_code) {
        _ if sqlite.is_some_and(is_damage) => StoreError::Damaged(cause.to_string()),
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => StoreError::Locked(cause.to_string()),
        Some(Code::DiskFull) => StoreError::Full(cause.to_string()),
        _ => StoreError::Fault(cause.to_string()),
    }
}

/// Whether SQLite found the file damaged, or a value that this program does not write.
fn is_damage(cause: &rusqlite::Error) -> bool {
    use rusqlite::{Error, ErrorCode};
    let is_foreign = matches!(
        cause,
        Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..)
    );
    let code = cause.sqlite_error_code();
    is_foreign || matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Damage of a file or database that was sound when it was opened, or a row that somebody else wrote, ends the process.
pub fn tell_damage<T>(supervisor: &Supervisor, place: impl AsRef<Path>, outcome: &Result<T, StoreError>) {
    use StoreError::{Altered, Damaged, Forged, Unusable};
    if let Err(cause @ (Altered(_) | Damaged(_) | Forged(_) | Unusable(_))) = outcome {
        supervisor.damaged(place.as_ref(), &cause.to_string());
    }
}
