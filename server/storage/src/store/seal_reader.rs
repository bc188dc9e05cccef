//! Reads the seals of a store's file, with or without a service that writes to it.

use super::StoreError;
use crate::database::fault;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use std::path::Path;

/// A file opened for reading only.
pub struct SealReader(Connection);

impl SealReader {
    /// Opens the file and never creates it.
    pub fn open(path: &Path) -> Result<SealReader, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let named = |cause: rusqlite::Error| StoreError::Fault(format!("{}: {cause}", path.display()));
        Connection::open_with_flags(path, flags).map(SealReader).map_err(named)
    }

    /// The number of the newest seal.
    pub fn newest(&self) -> Result<Option<u64>, StoreError> {
        self.0.query_row("SELECT max(number) FROM seals", [], |row| row.get(0)).map_err(fault)
    }

    /// The cosignatures of the largest size that witnesses have cosigned, and that size.
    pub fn cosigned(&self) -> Result<Option<(u64, Vec<String>)>, StoreError> {
        let lines = "SELECT size, line FROM cosignatures
            WHERE size = (SELECT max(size) FROM cosignatures) ORDER BY witness";
        let rows = || -> rusqlite::Result<Vec<(u64, String)>> {
            self.0.prepare(lines)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        };
        let rows = rows().map_err(fault)?;
        let size = rows.first().map(|(size, _)| *size);
        Ok(size.map(|size| (size, rows.into_iter().map(|(_, line)| line).collect())))
    }

    /// A seal.
    pub fn seal(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let Ok(number) = i64::try_from(number) else { return Ok(None) };
        let one = "SELECT bytes FROM seals WHERE number = ?";
        self.0.query_row(one, [number], |row| row.get(0)).optional().map_err(fault)
    }
}
