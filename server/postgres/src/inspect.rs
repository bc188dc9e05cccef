//! Looks at a database that another process may use.

use crate::Postgres;
use crate::address::Address;
use crate::fleet::{Signs, nodes_and_signs};
use crate::link::{CONNECT_MAX, Link};
use crate::node::{holder, in_use, stored};
use crate::register::CLOCK;
use crate::roles::{Rights, rights};
use crate::schema::{are_there, refused};
use crate::table::{RowMac, Rows};
use std::cell::Cell;
use std::time::Duration;
use trefoil_storage::store::fleet::Node;
use trefoil_storage::store::{AcceptedClock, Seal, StoreError};
use trefoil_storage::table::Records as _;

/// What a look at a database shows.
#[derive(Debug)]
pub struct Inspected {
    /// The process that uses it, in words.
    pub holder: Option<String>,
    /// Transactions that were committed; `None` if it has no tables yet.
    pub generation: Option<u64>,
    /// The newest seal.
    pub newest_seal: Option<Vec<u8>>,
    /// The last clock that an operator accepted.
    pub accepted_clock: Option<AcceptedClock>,
    /// What the role may do.
    pub rights: Rights,
    /// The nodes of a fleet, or the process that serves alone, with what each shows.
    pub nodes: Vec<(Node, Signs)>,
}

impl Postgres {
    /// The process that uses a database, in words.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`], and a fault.
    pub fn user(address: &Address, patience: Duration) -> Result<Option<String>, StoreError> {
        holder(&Link::open(address, patience, CONNECT_MAX)?)
    }

    /// The time of a database, Unix seconds.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`], and a fault.
    pub fn clock(address: &Address, patience: Duration) -> Result<u64, StoreError> {
        let told = Link::open(address, patience, CONNECT_MAX)?.told(CLOCK)?;
        let now = told.and_then(|row| row.first()?.as_ref()?.parse().ok());
        now.ok_or_else(|| StoreError::Fault(format!("{address}: it says no time")))
    }

    /// Whether a new installation may begin in a database, which is neither taken nor changed: it has no tables of an installation yet.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`], [`StoreError::Unusable`], and [`StoreError::InUse`] when another process serves from it and this one
    /// is to serve alone.
    pub fn is_empty(address: &Address, patience: Duration, fleet: bool) -> Result<bool, StoreError> {
        let link = Link::open(address, patience, CONNECT_MAX)?;
        if !are_there(&link)? {
            return Ok(true);
        }
        match holder(&link)?.filter(|_| !fleet) {
            Some(who) => Err(in_use(address, &who)),
            None => Ok(false),
        }
    }

    /// Looks at a database without taking it and without changing it.
    ///
    /// # Errors
    /// As [`Postgres::open`].
    pub fn inspect(
        address: &Address,
        secret: &[u8; 32],
        patience: Duration,
    ) -> Result<Inspected, StoreError> {
        let (link, mac) = (Link::open(address, patience, CONNECT_MAX)?, RowMac::of(secret));
        let holder = holder(&link)?;
        if !are_there(&link)? {
            return Ok(Inspected {
                holder,
                generation: None,
                newest_seal: None,
                accepted_clock: None,
                rights: Rights::default(),
                nodes: Vec::new(),
            });
        }
        let rows = Rows { link: &link, mac: &mac, sum: Cell::default(), telling: None };
        let stored = stored(&link, "", "")?;
        if let Some(why) = stored.as_ref().and_then(|stored| refused(stored.version)) {
            return Err(StoreError::Unusable(format!("{address}: {why}")));
        }
        let newest: Option<Seal> = rows.one("ORDER BY number DESC", &[])?;
        let rights = rights(&link)?;
        Ok(Inspected {
            holder,
            generation: stored.map(|stored| stored.node.generation),
            newest_seal: newest.map(|seal| seal.bytes),
            accepted_clock: rows.one("ORDER BY id DESC", &[])?,
            rights,
            nodes: nodes_and_signs(&link)?,
        })
    }
}
