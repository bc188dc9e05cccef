//! Looks at a database that another process may use.

use crate::Postgres;
use crate::address::Address;
use crate::link::{CONNECT_MAX, Link};
use crate::node::{holder, stored};
use crate::records::Seal;
use crate::roles::{Rights, rights};
use crate::schema::{PROGRAM, are_there};
use crate::table::{RowMac, Rows};
use std::cell::Cell;
use std::time::Duration;
use trefoil_storage::store::StoreError;

/// What a look at a database shows.
#[derive(Debug)]
pub struct Inspected {
    /// The process that uses it, in words.
    pub holder: Option<String>,
    /// Transactions that were committed; `None` if it has no tables yet.
    pub generation: Option<u64>,
    /// The newest seal.
    pub newest_seal: Option<Vec<u8>>,
    /// What the role may do.
    pub rights: Rights,
}

impl Postgres {
    /// The process that uses a database, in words.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`], and a fault.
    pub fn user(address: &Address, patience: Duration) -> Result<Option<String>, StoreError> {
        holder(&Link::open(address, patience, CONNECT_MAX)?)
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
            return Ok(Inspected { holder, generation: None, newest_seal: None, rights: Rights::default() });
        }
        let rows = Rows { link: &link, mac: &mac, sum: Cell::default(), telling: None };
        let stored = stored(&link, "", "")?;
        let expanded = stored.as_ref().map_or(0, |stored| stored.expanded);
        let older = (expanded < PROGRAM.version()).then(|| {
            format!("its tables have version {expanded}, and this program writes {}", PROGRAM.version())
        });
        let generation = match stored.map(|stored| stored.node) {
            Some(node) => match PROGRAM.refused(node.version).or(older) {
                Some(why) => return Err(StoreError::Unusable(format!("{address}: {why}"))),
                None => Some(node.generation),
            },
            None => None,
        };
        let newest: Option<Seal> = rows.one("ORDER BY number DESC", &[])?;
        let rights = rights(&link)?;
        Ok(Inspected { holder, generation, newest_seal: newest.map(|seal| seal.bytes), rights })
    }
}
