//! The calls of a store: what a database does beside its rows, so that [`super::Store`] is written once.

use super::fleet::{Fleet, Item};
use super::log::Seal;
use super::operators::add_note;
use super::{Note, StoreError};
use crate::database::Count;
use crate::table::Rows;
use std::sync::mpsc::sync_channel;
use trefoil_types::TenantId;

/// The rows of a store, inside one call.
pub trait StoreRows: Rows {
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
pub type Write = Box<dyn FnOnce(&dyn StoreRows) -> Result<(), StoreError> + Send>;
/// What reads. It may run again if the connection was lost.
pub type Read = Box<dyn Fn(&dyn StoreRows) -> Result<(), StoreError> + Send>;

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
        operation: impl FnOnce(&dyn StoreRows) -> Result<T, StoreError> + Send + 'static,
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
        change: impl FnOnce(&dyn StoreRows) -> Result<(), StoreError> + Send + 'static,
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
        operation: impl Fn(&dyn StoreRows) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        // One that ran again tells twice.
        let (tell, told) = sync_channel(2);
        self.read(call, Box::new(move |rows| operation(rows).map(|found| drop(tell.try_send(found)))))?;
        told.try_iter().last().ok_or(StoreError::Busy)
    }
}

impl<T: Tables + ?Sized> Calls for T {}
