//! The store of a single node: SQLite.

use super::log::Seal;
use super::rows::{Call, Read, StoreRows, Tables, Write};
use super::tables::{INDEXES, TABLES};
use crate::Supervisor;
use crate::data_dir::DatabaseFile;
use crate::database::{Count, Database, RowKey, StoreError, check_copy, fault};
use crate::table::{Records as _, Value, schema};
use rusqlite::Connection;
use std::path::Path;
use std::sync::LazyLock;
use trefoil_matching::VaultState;

/// The version of the tables, and of no others that a file may have.
pub const VERSION: i64 = 1;

static SCHEMA: LazyLock<String> = LazyLock::new(|| schema(&TABLES) + INDEXES);

/// See the module.
pub struct Sqlite(pub(super) Database);

impl Sqlite {
    /// Opens or creates the file; `secret` authenticates its rows.
    ///
    /// # Errors
    /// [`StoreError::Altered`] when another program wrote to the file.
    pub fn open(path: &Path, secret: &[u8; 32]) -> Result<Sqlite, StoreError> {
        Sqlite::open_under(&Supervisor::default(), path, secret)
    }

    /// As [`Sqlite::open`], for a process that ends when the writing thread panics.
    ///
    /// # Errors
    /// As [`Sqlite::open`].
    pub fn open_under(
        supervisor: &Supervisor,
        file: impl Into<DatabaseFile>,
        secret: &[u8; 32],
    ) -> Result<Sqlite, StoreError> {
        let database = Database::open(file, VERSION, &SCHEMA, RowKey::of(secret), supervisor)?;
        database.refuse_older()?;
        Ok(Sqlite(database))
    }

    /// Checks a copy that no process has open; `secret` authenticates its rows.
    ///
    /// # Errors
    /// As [`Sqlite::open`].
    pub fn check_copy(path: &Path, secret: &[u8; 32]) -> Result<VaultState, StoreError> {
        check_copy(path, VERSION, &SCHEMA, RowKey::of(secret))
    }

    /// The statements that make the tables.
    pub fn schema() -> &'static str {
        &SCHEMA
    }
}

/// The size of a page of the file.
const PAGE_BYTES: u64 = 16_384;
/// Pages that one transaction returns.
const FREE_PAGES_STEP: u64 = 64;

impl Tables for Sqlite {
    fn count(&self) -> Count {
        self.0.count()
    }

    fn follow(&self, vault: Count) -> u64 {
        self.0.follow(vault);
        self.0.seen()
    }

    fn checkpoint(&self) -> Result<(), StoreError> {
        self.0.checkpoint()
    }

    fn shrink(&self, kept: u64) -> Result<bool, StoreError> {
        let kept = kept / PAGE_BYTES;
        let free = |connection: &Connection| {
            connection.query_row("PRAGMA freelist_count", [], |row| row.get::<_, u64>(0)).map_err(fault)
        };
        if self.0.read(free)? <= kept {
            return Ok(false);
        }
        self.0.write(move |connection| {
            // Each row of this statement is a returned page.
            let vacuum = format!("PRAGMA incremental_vacuum({FREE_PAGES_STEP})");
            let mut statement = connection.prepare(&vacuum).map_err(fault)?;
            let before = free(connection)?;
            let mut pages = statement.query([]).map_err(fault)?;
            while pages.next().map_err(fault)?.is_some() {}
            let after = free(connection)?;
            Ok(after < before && after > kept)
        })
    }

    fn write(&self, call: Call, operation: Write) -> Result<(), StoreError> {
        let run = move |connection: &Connection| operation(connection);
        if call.shreds { self.0.shred(run) } else { self.0.write(run) }
    }

    fn read(&self, call: Call, operation: Read) -> Result<(), StoreError> {
        // The connection that has checked the file has its pages in memory already.
        match call.walks && !self.0.is_still() {
            true => self.0.write(move |connection| operation(connection)),
            false => self.0.read(|connection| operation(connection)),
        }
    }
}

impl StoreRows for Connection {
    fn prune(&self, header: &Seal) -> Result<(), StoreError> {
        // Not an update, which would leave pages of old seals half empty.
        if self.remove::<Seal>(&[Value::bound(header.number)])? {
            self.insert(header)?;
        }
        Ok(())
    }
}
