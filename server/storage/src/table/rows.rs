//! Rows inside a transaction: what a database does for its records.

use super::{Column, Record, Table, Value};
use crate::database::StoreError;

/// The rows, inside one call. Parameters of statements are `$1` and so on.
pub trait Rows {
    /// Gives rows to `each`, in the order of `tail`, which has the conditions.
    fn query(
        &self,
        table: &Table,
        tail: &str,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&[Value<'_>]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
    /// The error of a row that this program did not write.
    fn foreign(&self, table: &Table, what: &str) -> StoreError;
    /// A number that a statement returns.
    fn number(&self, sql: &str, values: &[Value<'_>]) -> Result<Option<u64>, StoreError>;
    /// Adds a row. One that has its key is replaced if it meets this condition, and without a condition stays. Returns whether the row is there.
    fn put_row(&self, table: &Table, row: &[Value<'_>], replace: Option<&str>) -> Result<bool, StoreError>;
    /// Changes the columns from `first` on of the row with the same key, which exists.
    fn update_row(&self, table: &Table, row: &[Value<'_>], first: usize) -> Result<(), StoreError>;
    /// Deletes the rows that meet a condition. Returns how many there were.
    fn delete_rows(&self, table: &Table, condition: &str, values: &[Value<'_>]) -> Result<u64, StoreError>;
}

/// The same with records.
pub trait Records: Rows {
    /// Records in the order of `tail`, which has the conditions.
    fn select<R: Record>(&self, tail: &str, values: &[Value<'_>]) -> Result<Vec<R>, StoreError> {
        let mut found = Vec::new();
        self.query(&R::TABLE, tail, values, &mut |row| {
            let strange = || self.foreign(&R::TABLE, "has a value that this program does not write");
            R::read(row).map(|record| found.push(record)).ok_or_else(strange)
        })?;
        Ok(found)
    }

    /// The first record of [`Records::select`].
    fn one<R: Record>(&self, tail: &str, values: &[Value<'_>]) -> Result<Option<R>, StoreError> {
        Ok(self.select(&[tail, " LIMIT 1"].concat(), values)?.pop())
    }

    /// The record with this key.
    fn get<R: Record>(&self, key: &[Value<'_>]) -> Result<Option<R>, StoreError> {
        Ok(self.select(&["WHERE ", &R::TABLE.keyed(), " LIMIT 1"].concat(), key)?.pop())
    }

    /// Adds a record; `Conflict` if its key exists.
    fn insert<R: Record>(&self, record: &R) -> Result<(), StoreError> {
        match self.put_row(&R::TABLE, &record.values(), None)? {
            true => Ok(()),
            false => Err(StoreError::Conflict),
        }
    }

    /// Adds a record of a table that is not the registry's, or replaces the one with its key.
    fn put<R: Record>(&self, record: &R) -> Result<(), StoreError> {
        self.put_row(&R::TABLE, &record.values(), Some("TRUE")).map(drop)
    }

    /// Replaces the record with the same key, which exists.
    fn update<R: Record>(&self, record: &R) -> Result<(), StoreError> {
        self.update_row(&R::TABLE, &record.values(), R::TABLE.key)
    }

    /// Deletes the records that meet a condition. Returns how many there were.
    fn delete<R: Record>(&self, condition: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        self.delete_rows(&R::TABLE, condition, values)
    }

    /// Deletes the record with this key. Returns whether there was one.
    fn remove<R: Record>(&self, key: &[Value<'_>]) -> Result<bool, StoreError> {
        Ok(self.delete::<R>(&R::TABLE.keyed(), key)? == 1)
    }
}

impl<T: Rows + ?Sized> Records for T {}

/// The columns of a key, or values of a search.
pub fn key<const N: usize>(columns: [&dyn Valued; N]) -> [Value<'_>; N] {
    columns.map(Valued::value)
}

/// A column of any type.
pub trait Valued {
    /// See [`Column::value`].
    fn value(&self) -> Value<'_>;
}

impl<C: Column> Valued for C {
    fn value(&self) -> Value<'_> {
        Column::value(self)
    }
}
