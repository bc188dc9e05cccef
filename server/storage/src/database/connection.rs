//! Connections to a SQLite file: their settings, and checks of the file itself.

use super::error::{StoreError, fault};
use super::rows::{RowKey, Rows};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

/// Another process holds locks only while it checks the file, so a longer wait means a fault.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Makes the file, for its owner only, unless it exists. Files that SQLite writes beside it get the same permissions.
pub(super) fn make_private(path: &Path) -> std::io::Result<()> {
    let made = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path);
    match made {
        Err(cause) if cause.kind() != std::io::ErrorKind::AlreadyExists => Err(cause),
        _ => Ok(()),
    }
}

/// Statements that a connection keeps: each has about so many.
const STATEMENTS: usize = 64;

pub(super) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // The page size takes effect only before the first table exists.
    connection.pragma_update(None, "page_size", 16_384)?;
    // So does this: deleted pages can be returned to the file system.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // The writer moves the log into the file itself, after it has cleared the pages.
    connection.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))?;
    connection.pragma_update_and_check(None, "secure_delete", "ON", |_| Ok(()))?;
    connection.pragma_update_and_check(None, "mmap_size", 0, |_| Ok(()))?;
    // What a transaction keeps to undo a part of it goes to no file elsewhere.
    connection.pragma_update(None, "temp_store", "MEMORY")
}

/// Checks every page, and every index against its table, because a damaged index would give wrong results.
pub(super) fn check_pages(connection: &Connection) -> Result<(), StoreError> {
    let found: String =
        connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).map_err(fault)?;
    if found == "ok" { Ok(()) } else { Err(StoreError::Damaged(found)) }
}

/// A value that changes with every transaction of another connection.
pub(super) fn others(connection: &Connection) -> Result<i64, StoreError> {
    let version = connection.prepare_cached("PRAGMA data_version");
    version.and_then(|mut version| version.query_row([], |row| row.get(0))).map_err(fault)
}

/// The version of the tables, 0 without any.
pub(super) fn user_version(connection: &Connection) -> Result<i64, StoreError> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(fault)
}

/// Refuses tables of another version than this program makes.
pub(super) fn check_version(path: &Path, found: i64, version: i64) -> Result<(), StoreError> {
    if found == version {
        return Ok(());
    }
    let path = path.display();
    Err(StoreError::Fault(format!(
        "{path} has schema version {found}, this program knows {version}; use the program that wrote it, or, if it was \
         this one, restore the whole directory from the newest backup"
    )))
}

/// Makes the tables of a new file, and refuses those of another version.
pub(super) fn with_tables(
    mut connection: Connection,
    (version, exists): (i64, bool),
    schema: &str,
    key: &RowKey,
    path: &Path,
) -> Result<Connection, StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
    match user_version(&transaction)? {
        0 if exists => return Err(StoreError::Emptied),
        0 => {
            transaction.execute_batch(schema).map_err(fault)?;
            Rows::create(&transaction, key)?;
            transaction.pragma_update(None, "user_version", version).map_err(fault)?;
        }
        found => check_version(path, found, version)?,
    }
    transaction.commit().map_err(fault)?;
    Ok(connection)
}

/// Opens a file to read it and leaves everything as it is: one that no process has open as immutable, so that SQLite makes no files beside it.
pub fn open_still(path: &Path) -> rusqlite::Result<Connection> {
    let length = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        std::fs::metadata(name).map(|metadata| metadata.len()).ok()
    };
    let is_open = length("-shm").is_some() || length("-wal").is_some_and(|length| length > 0);
    let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let how = if is_open { "" } else { "?immutable=1" };
    Connection::open_with_flags(format!("file:{escaped}{how}"), flags)
}

pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.pragma_update_and_check(None, "mmap_size", 0, |_| Ok(()))?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(connection)
}
