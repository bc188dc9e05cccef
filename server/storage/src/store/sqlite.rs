//! The store of a single node: SQLite.

use super::log::Seal;
use super::records::AcceptedClock;
use super::rows::{Call, Read, Records as _, Rows, Tables, Write};
use super::table::{Dialect, Kind, Of, PLACES, Record as _, Table, Value};
use super::tables::{INDEXES, TABLES};
use crate::Supervisor;
use crate::data_dir::DatabaseFile;
use crate::database::{Count, Database, RowKey, StoreError, check_copy, fault};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, Row, ToSql};
use std::path::Path;
use std::sync::LazyLock;
use trefoil_matching::VaultState;

/// The version of the tables, and of no others that a file may have.
pub const VERSION: i64 = 1;

static SCHEMA: LazyLock<String> = LazyLock::new(|| {
    let end = |table: &Table| match (table.of, &table.columns[..table.key]) {
        // A number alone is the number of the row. Large rows fit a tree by numbers better.
        (_, [column]) if column.kind == Kind::Number => " STRICT",
        (Of::LargeRows, _) => " STRICT",
        _ => " STRICT, WITHOUT ROWID",
    };
    Table::made(&TABLES, &Dialect { types: ["INTEGER", "BLOB"], more: None, end }) + INDEXES
});

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

/// The last clock that an operator accepted.
pub const LAST_ACCEPTED_CLOCK: &str = "SELECT * FROM accepted_clocks ORDER BY id DESC LIMIT 1";

/// A clock that an operator accepted, from its row.
pub fn accepted_clock(row: &Row<'_>) -> rusqlite::Result<AcceptedClock> {
    let values = columns(&AcceptedClock::TABLE, row)?;
    AcceptedClock::read(&values).ok_or(rusqlite::Error::InvalidQuery)
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
            connection.query_row("PRAGMA freelist_count", [], |row| row.get::<_, u64>(0))
        };
        if self.0.read(free)? <= kept {
            return Ok(false);
        }
        self.0.write(move |connection| {
            // Each row of this statement is a returned page.
            let shrunk = |connection: &Connection| {
                let mut statement =
                    connection.prepare(&format!("PRAGMA incremental_vacuum({FREE_PAGES_STEP})"))?;
                let mut pages = statement.query([])?;
                while pages.next()?.is_some() {}
                free(connection)
            };
            let before = free(connection).map_err(fault)?;
            let after = shrunk(connection).map_err(fault)?;
            Ok(after < before && after > kept)
        })
    }

    fn write(&self, call: Call, operation: Write) -> Result<(), StoreError> {
        let run = move |connection: &Connection| operation(&OnFile(connection));
        if call.shreds { self.0.shred(run) } else { self.0.write(run) }
    }

    fn read(&self, call: Call, operation: Read) -> Result<(), StoreError> {
        // The connection that has checked the file has its pages in memory already.
        match call.walks {
            true => self.0.write(move |connection| operation(&OnFile(connection))),
            false => self.0.read_or(|connection| operation(&OnFile(connection))),
        }
    }
}

/// The rows on a connection.
pub(super) struct OnFile<'a>(pub(super) &'a Connection);

impl OnFile<'_> {
    fn statement(&self, sql: &str, values: &[Value<'_>]) -> rusqlite::Result<CachedStatement<'_>> {
        let mut statement = self.0.prepare_cached(sql)?;
        // By name, because SQLite counts parameters of this form as they come.
        for (place, value) in PLACES.iter().zip(values) {
            statement.raw_bind_parameter(*place, value)?;
        }
        Ok(statement)
    }

    fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let changed = self.statement(sql, values).and_then(|mut statement| statement.raw_execute());
        changed.map(|changed| changed as u64).map_err(fault)
    }
}

impl Rows for OnFile<'_> {
    fn query(
        &self,
        table: &Table,
        tail: &str,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&[Value<'_>]) -> Option<()>,
    ) -> Result<(), StoreError> {
        let strange = || {
            StoreError::Damaged(format!(
                "a row of the table {} has a value that this program does not write",
                table.name
            ))
        };
        let mut statement = self.statement(&table.select(None, tail), values).map_err(fault)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(fault)? {
            let row = columns(table, row).map_err(fault)?;
            each(&row).ok_or_else(strange)?;
        }
        Ok(())
    }

    fn number(&self, sql: &str, values: &[Value<'_>]) -> Result<Option<u64>, StoreError> {
        let mut statement = self.statement(sql, values).map_err(fault)?;
        let mut rows = statement.raw_query();
        let Some(row) = rows.next().map_err(fault)? else { return Ok(None) };
        let number: Option<i64> = row.get(0).map_err(fault)?;
        Ok(number.map(i64::cast_unsigned))
    }

    fn put_row(&self, table: &Table, row: &[Value<'_>], replace: Option<&str>) -> Result<bool, StoreError> {
        let how = replace.map(|condition| table.replacing(None, condition));
        let sql = table.insert(None, how.as_deref().unwrap_or("DO NOTHING"));
        Ok(self.execute(&sql, row)? == 1)
    }

    fn update_row(&self, table: &Table, row: &[Value<'_>], first: usize) -> Result<(), StoreError> {
        let values = [&row[..table.key], &row[first..]].concat();
        self.execute(&table.update(None, first), &values).map(drop)
    }

    fn delete_rows(&self, table: &Table, condition: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        self.execute(&format!("DELETE FROM {} WHERE {condition}", table.name), values)
    }

    fn prune(&self, header: &Seal) -> Result<(), StoreError> {
        // Not an update, which would leave pages of old seals half empty.
        if self.remove::<Seal>(&[Value::bound(header.number)])? {
            self.insert(header)?;
        }
        Ok(())
    }
}

/// The columns of a row.
fn columns<'a>(table: &Table, row: &'a Row<'_>) -> rusqlite::Result<Vec<Value<'a>>> {
    let column = |at: usize| {
        let value = row.get_ref(at)?;
        Ok(match (value, table.columns[at].kind) {
            (ValueRef::Null, Kind::Number) => Value::Number(None),
            (ValueRef::Null, Kind::Bytes) => Value::Bytes(None),
            (ValueRef::Integer(number), _) => Value::Number(Some(number)),
            (ValueRef::Blob(bytes), _) => Value::Bytes(Some(bytes)),
            _ => {
                let name = table.columns[at].name.to_owned();
                return Err(rusqlite::Error::InvalidColumnType(at, name, value.data_type()));
            }
        })
    };
    (0..table.columns.len()).map(column).collect()
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Number(None) | Value::Bytes(None) => ValueRef::Null,
            Value::Number(Some(number)) => ValueRef::Integer(*number),
            Value::Bytes(Some(bytes)) => ValueRef::Blob(bytes),
        }))
    }
}
