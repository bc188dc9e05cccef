//! The log of seals, and what the service notes about itself.

use super::StoreError;
use super::records::{AcceptedClock, PRUNED_BYTES_MAX};
use super::rows::{Call, Calls, Tables};
use crate::record;
use crate::table::{Column as _, Records as _, Value};
use trefoil_attest::Restoration;
use trefoil_attest::tree::Hash;

/// A seal, or its header.
pub struct Seal {
    /// Its number.
    pub number: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}
record!("seals", 1, LargeRows, Seal { number, bytes });

/// A complete node of the tree over the digests of seals: number n of level l is over seals n << l to (n + 1) << l.
pub(super) struct LogNode {
    level: u8,
    number: u64,
    hash: Hash,
}
record!("log_nodes", 2, Rows, LogNode { level, number, hash });

/// What a witness has signed: the log of the first `size` seals.
pub(super) struct Cosignature {
    pub(super) size: u64,
    witness: String,
    pub(super) line: String,
}
record!("cosignatures", 2, Rows, Cosignature { size, witness, line });

record!("restorations", 1, Rows, Restoration { time: restored_at, first: first_seal } => restored_at, first_seal);

/// What a store keeps of the log. See [`super::Store`].
pub trait Log: Tables {
    /// Appends a seal with the nodes that it completes in the log's tree, both or neither: node `l` of `completed` is
    /// number `number >> l` of level `l`. `Conflict` if another one with the number exists.
    fn put_seal(&self, number: u64, bytes: Vec<u8>, completed: Vec<Hash>) -> Result<(), StoreError> {
        self.change(Call::ALL, move |rows| {
            let seal = Seal { number, bytes };
            match rows.insert(&seal) {
                // It is stored, and the answer was lost.
                Err(StoreError::Conflict)
                    if rows
                        .get::<Seal>(&[Value::bound(number)])?
                        .is_some_and(|stored| stored.bytes == seal.bytes) =>
                {
                    return Ok(());
                }
                other => other?,
            }
            (0_u8..)
                .zip(completed)
                .try_for_each(|(level, hash)| rows.insert(&LogNode { level, number: number >> level, hash }))
        })
    }

    /// A seal, or its header if [`Log::prune_seals`] pruned it.
    fn seal(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.look(Call::ALL, move |rows| {
            Ok(rows.get::<Seal>(&[Value::bound(number)])?.map(|seal| seal.bytes))
        })
    }

    /// The newest seal.
    fn last_seal(&self) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        self.look(Call::ALL, |rows| {
            let newest: Option<Seal> = rows.one("ORDER BY number DESC", &[])?;
            Ok(newest.map(|Seal { number, bytes }| (number, bytes)))
        })
    }

    /// Replaces seals by their headers, all or none.
    fn prune_seals(&self, headers: Vec<(u64, Vec<u8>)>) -> Result<(), StoreError> {
        self.change(Call::ALL, move |rows| {
            headers.into_iter().try_for_each(|(number, bytes)| rows.prune(&Seal { number, bytes }))
        })
    }

    /// The number of the newest seal that was pruned.
    fn last_pruned(&self) -> Result<Option<u64>, StoreError> {
        let newest =
            "SELECT number FROM seals WHERE CAST(length(bytes) AS bigint) <= $1 ORDER BY number DESC LIMIT 1";
        self.look(Call { walks: true, ..Call::LONG }, move |rows| {
            rows.number(newest, &[Value::limit(PRUNED_BYTES_MAX)])
        })
    }

    /// The first seal above this number that was not pruned.
    fn unpruned_after(&self, number: u64) -> Result<Option<u64>, StoreError> {
        let next = "SELECT number FROM seals WHERE number > $1 AND CAST(length(bytes) AS bigint) > $2 ORDER BY number LIMIT 1";
        self.look(Call::ALL, move |rows| {
            rows.number(next, &[Value::bound(number), Value::limit(PRUNED_BYTES_MAX)])
        })
    }

    /// Appends a witness's cosignature of the log of `size` seals, a line of a note. `Conflict` if there is one of this
    /// witness at this size: the first one stays.
    fn put_cosignature(&self, size: u64, witness: String, line: String) -> Result<(), StoreError> {
        self.change(Call::ALL, move |rows| rows.insert(&Cosignature { size, witness, line }))
    }

    /// The cosignatures at a size, by the names of the witnesses.
    fn cosignatures(&self, size: u64) -> Result<Vec<String>, StoreError> {
        self.look(Call::ALL, move |rows| {
            let of_size = "WHERE size = $1 ORDER BY witness";
            let found: Vec<Cosignature> = rows.select(of_size, &[Value::bound(size)])?;
            Ok(found.into_iter().map(|found| found.line).collect())
        })
    }

    /// The largest size that any witness has cosigned.
    fn last_cosigned(&self) -> Result<Option<u64>, StoreError> {
        self.look(Call::ALL, |rows| rows.number("SELECT max(size) FROM cosignatures", &[]))
    }

    /// Notes that the store was restored from a backup. `Conflict` if a restoration at that time is noted already.
    fn put_restoration(&self, restoration: Restoration) -> Result<(), StoreError> {
        self.change(Call::ALL, move |rows| rows.insert(&restoration))
    }

    /// The newest restoration.
    fn last_restoration(&self) -> Result<Option<Restoration>, StoreError> {
        self.look(Call::ALL, |rows| rows.one("ORDER BY restored_at DESC", &[]))
    }

    /// Notes that an operator accepted the clock. `Conflict` if there is one with this number.
    fn put_accepted_clock(&self, accepted: AcceptedClock) -> Result<(), StoreError> {
        self.change(Call::ALL, move |rows| rows.insert(&accepted))
    }

    /// Each clock that was accepted, the oldest first.
    fn accepted_clocks(&self) -> Result<Vec<AcceptedClock>, StoreError> {
        self.look(Call::ALL, |rows| rows.select("ORDER BY id", &[]))
    }

    /// A complete node of the log's tree, see [`trefoil_attest::log`].
    fn log_node(&self, level: u8, number: u64) -> Result<Option<Hash>, StoreError> {
        self.look(Call::ALL, move |rows| {
            let found = rows.get::<LogNode>(&[level.value(), Value::bound(number)])?;
            Ok(found.map(|node| node.hash))
        })
    }
}

impl<T: Tables + ?Sized> Log for T {}
