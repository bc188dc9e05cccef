//! The store of a node as the other nodes' store.

use super::{Parts, nodes, rights};
use crate::Postgres;
use crate::address::Address;
use crate::link::{CONNECT_MAX, Link};
use std::any::Any;
use std::time::{Duration, Instant};
use trefoil_storage::store::fleet::{Apply, Figures, Fleet, Node, NodeKeys, Right, Work};
use trefoil_storage::store::{Call, StoreError};
use trefoil_storage::table::Rows as _;
use trefoil_types::TenantId;

impl Fleet for Postgres {
    fn follow(&self, apply: Apply) -> Result<(), StoreError> {
        self.parts()?.follow(apply)
    }

    fn catch_up(&self) -> Result<(), StoreError> {
        let parts = self.parts()?;
        let last =
            self.0.read(Call::ALL, |rows| rows.number("SELECT registry FROM node WHERE id = 0", &[]))?;
        parts.until_seen(last.unwrap_or(0))
    }

    fn has_heard_since(&self, asked: Instant) -> bool {
        self.1.as_ref().is_some_and(|parts| parts.has_heard_since(asked))
    }

    fn is_stale(&self) -> bool {
        self.1.as_ref().is_some_and(|parts| parts.stale().is_some())
    }

    fn log_turn(&self) -> Result<Box<dyn Any + Send>, StoreError> {
        self.parts()?.log_turn()
    }

    fn registry_turn(&self) -> Result<Box<dyn Any + Send>, StoreError> {
        self.0.check()?;
        self.parts()?.registry_turn(|| self.0.check())
    }

    fn right(&self, work: Work, of: &TenantId, wait: Duration) -> Result<Option<Box<dyn Right>>, StoreError> {
        self.parts()?.right(work, of, wait)
    }

    fn is_at_work(&self, work: Work, tenant: &TenantId) -> Result<bool, StoreError> {
        let tenant = *tenant;
        self.0.read(Call::ALL, move |rows| rights::is_at_work(rows, work, &tenant))
    }

    fn keeps_house(&self) -> bool {
        self.1.as_ref().is_some_and(Parts::keeps_house)
    }

    fn nodes(&self) -> Vec<Node> {
        self.1.as_ref().map(Parts::nodes).unwrap_or_default()
    }

    fn figures(&self) -> Figures {
        self.1.as_ref().map(Parts::figures).unwrap_or_default()
    }

    fn announce(&self, keys: NodeKeys) {
        self.1.iter().for_each(|parts| parts.announce(keys));
    }
}

impl Postgres {
    /// The nodes of the fleet that run, without being one of them. Needs no secret but the database's password.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`], and a fault.
    pub fn nodes_of(address: &Address, patience: Duration) -> Result<Vec<Node>, StoreError> {
        nodes(&Link::open(address, patience, CONNECT_MAX)?)
    }
}
