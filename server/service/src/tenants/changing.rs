//! The right to change tenants, keys or operators.
//!
//! A change is checked against what this node has in memory, so nothing may change meanwhile. One lock keeps this node's other changes and the news away.
//! In a fleet a turn keeps the other nodes' changes away. If the database ends the turn early, it still refuses a change that another node was faster
//! with.

#![expect(clippy::disallowed_types, reason = "changes are rare; readers have a snapshot")]

use std::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};
use trefoil_storage::store::{Store, StoreError};

/// See the module. Dropping it gives the right up.
pub(crate) struct Changing<'a> {
    _own: MutexGuard<'a, ()>,
    _turn: Option<Box<dyn Any + Send>>,
}

impl Changing<'_> {
    /// Waits for the right. Returns once memory has every change of other nodes.
    pub(crate) fn begin<'a>(own: &'a Mutex<()>, store: &dyn Store) -> Result<Changing<'a>, StoreError> {
        let turn = match store.fleet() {
            None => None,
            Some(fleet) => {
                let turn = fleet.registry_turn()?;
                fleet.catch_up()?;
                Some(turn)
            }
        };
        Ok(Changing { _own: own.lock().unwrap_or_else(PoisonError::into_inner), _turn: turn })
    }
}
