//! Rows inside a call, and the calls: what a database does, so that [`super::Store`] is written once.

use super::fleet::{Fleet, Item};
use super::log::Seal;
use super::operators::add_note;
use super::table::{Column, Record, Table, Value};
use super::{Note, StoreError};
use crate::database::Count;
use std::sync::mpsc::sync_channel;
use trefoil_types::TenantId;

/// The rows, inside one call. Parameters of statements are `$1` and so on.
pub trait Rows {
    /// Gives rows to `each`, in the order of `tail`, which has the conditions. `None` says that this program does not write such a row.
    fn query(
        &self,
        table: &Table,
        tail: &str,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&[Value<'_>]) -> Option<()>,
    ) -> Result<(), StoreError>;
    /// A number that a statement returns.
    fn number(&self, sql: &str, values: &[Value<'_>]) -> Result<Option<u64>, StoreError>;
    /// Adds a row. One that has its key is replaced if it meets this condition, and without a condition stays. Returns whether the row is there.
    fn put_row(&self, table: &Table, row: &[Value<'_>], replace: Option<&str>) -> Result<bool, StoreError>;
    /// Changes the columns from `first` on of the row with the same key, which exists.
    fn update_row(&self, table: &Table, row: &[Value<'_>], first: usize) -> Result<(), StoreError>;
    /// Deletes the rows that meet a condition. Returns how many there were.
    fn delete_rows(&self, table: &Table, condition: &str, values: &[Value<'_>]) -> Result<u64, StoreError>;
    /// Puts the header of a seal in its place, if the seal is there.
    fn prune(&self, header: &Seal) -> Result<(), StoreError>;
    /// Removes old rows that are no record's here. Returns by how much `now` is ahead of the database's clock.
    fn clean(&self, _now: u64) -> Result<u64, StoreError> {
        Ok(0)
    }
    /// Notes that the transaction changes what the registry has of a tenant, and tells the other nodes, each of which has a copy. Refused where the copy
    /// of this one is old.
    fn change_registry(&self, _tenant: TenantId) -> Result<(), StoreError> {
        Ok(())
    }
    /// Tells other nodes that what they have of this is old.
    fn tell(&self, _tenant: TenantId, _item: Item) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The same with records.
pub trait Records: Rows {
    /// Records in the order of `tail`, which has the conditions.
    fn select<R: Record>(&self, tail: &str, values: &[Value<'_>]) -> Result<Vec<R>, StoreError> {
        let mut found = Vec::new();
        self.query(&R::TABLE, tail, values, &mut |row| R::read(row).map(|record| found.push(record)))?;
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

/// How a call runs.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The tenant whose rows it sees; `None` if it sees all.
    pub tenant: Option<TenantId>,
    /// Whether it may touch many rows, and takes longer.
    pub is_long: bool,
    /// Whether the bytes of deleted rows are gone when it returns.
    pub shreds: bool,
    /// Whether it reads most of the database's pages, which would fill the memory of a connection.
    pub walks: bool,
}

impl Call {
    /// For the start, the registry, pruning and what else is not a tenant's.
    pub const ALL: Call = Call { tenant: None, is_long: false, shreds: false, walks: false };
    /// The same, long.
    pub const LONG: Call = Call { is_long: true, ..Call::ALL };

    /// For the rows of a tenant.
    pub fn of(tenant: &TenantId) -> Call {
        Call { tenant: Some(*tenant), ..Call::ALL }
    }
}

/// What runs in a transaction.
pub type Write = Box<dyn FnOnce(&dyn Rows) -> Result<(), StoreError> + Send>;
/// What reads. It may run again if the connection was lost.
pub type Read = Box<dyn Fn(&dyn Rows) -> Result<(), StoreError> + Send>;

/// A database with the tables of a store.
pub trait Tables: Send + Sync + 'static {
    /// Why every call would fail now, or `None`. Does not block.
    fn unready(&self) -> Option<String> {
        None
    }
    /// What it has if several nodes use it at a time.
    fn fleet(&self) -> Option<&dyn Fleet> {
        None
    }
    /// How many transactions are durable, for the vault beside it.
    fn count(&self) -> Count;
    /// The count of the vault beside it as of its last transaction when it was opened, and from now on notes it. 0 if it never had one.
    fn follow(&self, _vault: Count) -> u64 {
        0
    }
    /// Makes the file complete without its write-ahead log. A server does this by itself.
    fn checkpoint(&self) -> Result<(), StoreError> {
        Ok(())
    }
    /// Returns space of deleted rows to the file system in a bounded step, except this many bytes. Returns whether there is more. A server reuses the
    /// space.
    fn shrink(&self, _kept: u64) -> Result<bool, StoreError> {
        Ok(false)
    }
    /// Runs `operation` in the next transaction, and returns once that is durable. An error undoes the operation.
    fn write(&self, call: Call, operation: Write) -> Result<(), StoreError>;
    /// Runs `operation` on rows that it cannot change.
    fn read(&self, call: Call, operation: Read) -> Result<(), StoreError>;
}

/// Calls with a result.
pub(super) trait Calls: Tables {
    /// See [`Tables::write`].
    fn change<T: Send + 'static>(
        &self,
        call: Call,
        operation: impl FnOnce(&dyn Rows) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (tell, told) = sync_channel(1);
        self.write(call, Box::new(move |rows| operation(rows).map(|done| drop(tell.try_send(done)))))?;
        told.try_iter().last().ok_or(StoreError::Busy)
    }

    /// One change of the registry by an operator. Returns the number of its entry in the audit trail.
    fn noted(
        &self,
        call: Call,
        note: Note,
        change: impl FnOnce(&dyn Rows) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<u64, StoreError> {
        self.change(call, move |rows| {
            rows.change_registry(note.tenant)?;
            change(rows)?;
            add_note(rows, note)
        })
    }

    /// See [`Tables::read`].
    fn look<T: Send + 'static>(
        &self,
        call: Call,
        operation: impl Fn(&dyn Rows) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        // One that ran again tells twice.
        let (tell, told) = sync_channel(2);
        self.read(call, Box::new(move |rows| operation(rows).map(|found| drop(tell.try_send(found)))))?;
        told.try_iter().last().ok_or(StoreError::Busy)
    }
}

impl<T: Tables + ?Sized> Calls for T {}

/// The columns of a key, or values of a search.
pub(super) fn key<const N: usize>(columns: [&dyn Valued; N]) -> [Value<'_>; N] {
    columns.map(Valued::value)
}

/// A column of any type.
pub(super) trait Valued {
    fn value(&self) -> Value<'_>;
}

impl<C: Column> Valued for C {
    fn value(&self) -> Value<'_> {
        Column::value(self)
    }
}
