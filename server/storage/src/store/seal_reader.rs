//! Reads the seals of a store's file, with or without a service that writes to it.

use super::StoreError;
use super::log::{Cosignature, Seal};
use crate::table::{Records as _, Rows as _, Value};
use rusqlite::{Connection, OpenFlags};
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
        self.0.number("SELECT max(number) FROM seals", &[])
    }

    /// The cosignatures of the largest size that witnesses have cosigned, and that size.
    pub fn cosigned(&self) -> Result<Option<(u64, Vec<String>)>, StoreError> {
        let largest = "WHERE size = (SELECT max(size) FROM cosignatures) ORDER BY witness";
        let found: Vec<Cosignature> = self.0.select(largest, &[])?;
        let size = found.first().map(|first| first.size);
        Ok(size.map(|size| (size, found.into_iter().map(|found| found.line).collect())))
    }

    /// A seal.
    pub fn seal(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.0.get::<Seal>(&[Value::bound(number)])?.map(|seal| seal.bytes))
    }
}
