//! Attestations that were left out of the answer, kept for as long as they verify.
//!
//! A login that asks for no attestation is sealed like any other, and its caller may want the attestation later. Statements are in no
//! file: the store has seals, which are digests. So the parts of an attestation beside its seal, about a kilobyte, are kept in memory for
//! [`KEPT_S`] seconds, the longest time for which an attestation verifies; of each tenant the newest [`KEPT_MAX`]. The seal is twenty times as
//! large and is read from the store when the attestation is fetched. Logins that were answered with their attestation are not kept, and
//! nothing survives the process. The other nodes of a fleet ask the one that has it ([`crate::attestations`]).
//!
//! The task that answers a login puts it here after the decision, and no worker does.

#![expect(
    clippy::disallowed_types,
    reason = "on the path of logins that take no attestation: one of 16 locks of their tenant, see ARCHITECTURE.md"
)]

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, SemaphorePermit};
use trefoil_attest::Decision;
use trefoil_attest::tree::Hash;
use trefoil_types::AttestationId;

/// How long an attestation is kept, seconds: the longest life that a policy may give one.
pub const KEPT_S: u64 = trefoil_attest::LIFETIME_SECONDS_MAX;

/// Attestations kept of one tenant: 8 MiB.
pub const KEPT_MAX: usize = SHARDS * SHARD_MAX;

/// Locks, so that answers of one tenant seldom meet.
const SHARDS: usize = 16;
const SHARD_MAX: usize = 512;

/// Fetches that ask the other nodes at a time, each with a thread that waits for a second at most.
const ASKING_MAX: usize = 32;

/// The kept attestations of one tenant. See the module.
#[derive(Default)]
pub struct Recent([Mutex<Shard>; SHARDS]);

#[derive(Default)]
struct Shard {
    kept: HashMap<AttestationId, Unsealed>,
    /// In the order in which they were kept, with the second at which each is dropped.
    order: VecDeque<(AttestationId, u64)>,
}

/// The fetches that ask other nodes.
pub struct Asking(Semaphore);

impl Default for Asking {
    fn default() -> Asking {
        Asking(Semaphore::new(ASKING_MAX))
    }
}

impl Asking {
    /// For one more, if there is room.
    pub(crate) fn place(&self) -> Option<SemaphorePermit<'_>> {
        self.0.try_acquire().ok()
    }
}

/// An attestation without its seal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unsealed {
    pub(crate) decision: Decision,
    /// CBOR.
    pub(crate) statement: Vec<u8>,
    pub(crate) leaf_index: u64,
    /// From the leaf to the seal's root.
    pub(crate) path: Vec<Hash>,
    pub(crate) seal_number: u64,
}

impl Unsealed {
    /// Its bytes for another node.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let Unsealed { decision, statement, leaf_index, path, seal_number } = self;
        let is_match = u8::from(*decision == Decision::Match);
        let length = u8::try_from(path.len()).expect("a path has at most 63 hashes");
        let numbers = [leaf_index.to_le_bytes(), seal_number.to_le_bytes()].concat();
        [&[is_match, length], numbers.as_slice(), path.as_flattened(), statement].concat()
    }

    /// `None` for anything that [`Unsealed::encode`] did not make.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Unsealed> {
        let (&[is_match, length], rest) = bytes.split_first_chunk()?;
        let decision = match is_match {
            0 => Decision::NoMatch,
            1 => Decision::Match,
            _ => return None,
        };
        let (leaf_index, rest) = rest.split_first_chunk()?;
        let (seal_number, rest) = rest.split_first_chunk()?;
        let (path, statement) = rest.split_at_checked(usize::from(length) * size_of::<Hash>())?;
        Some(Unsealed {
            decision,
            statement: statement.to_vec(),
            leaf_index: u64::from_le_bytes(*leaf_index),
            path: path.as_chunks().0.to_vec(),
            seal_number: u64::from_le_bytes(*seal_number),
        })
    }
}

impl Recent {
    /// Keeps an attestation that is given at `now`, unix seconds.
    pub(crate) fn put(&self, id: AttestationId, unsealed: Unsealed, now: u64) {
        let mut shard = self.shard(&id);
        shard.expire(now);
        if shard.order.len() >= SHARD_MAX {
            shard.drop_oldest();
        }
        shard.order.push_back((id, now + KEPT_S));
        shard.kept.insert(id, unsealed);
    }

    /// The attestation with this digest of its statement, if it is still kept.
    pub(crate) fn get(&self, id: &AttestationId, now: u64) -> Option<Unsealed> {
        let mut shard = self.shard(id);
        shard.expire(now);
        shard.kept.get(id).cloned()
    }

    /// Drops those that have expired.
    pub fn sweep(&self, now: u64) {
        for shard in &self.0 {
            shard.lock().unwrap_or_else(PoisonError::into_inner).expire(now);
        }
    }

    /// Identifiers are digests with random salts in them, so they spread.
    fn shard(&self, id: &AttestationId) -> MutexGuard<'_, Shard> {
        self.0[usize::from(id.as_bytes()[0]) % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shard {
    fn expire(&mut self, now: u64) {
        while self.order.front().is_some_and(|(_, until)| *until <= now) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((id, _)) = self.order.pop_front() {
            self.kept.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsealed(number: u64) -> Unsealed {
        let decision = Decision::Match;
        Unsealed { decision, statement: vec![1], leaf_index: number, path: vec![], seal_number: number }
    }

    /// In one shard.
    fn id(number: u64) -> AttestationId {
        let mut id = [0; 32];
        id[1..9].copy_from_slice(&number.to_le_bytes());
        AttestationId::new(id)
    }

    #[test]
    fn an_attestation_is_kept_until_it_would_no_longer_verify() {
        let recent = Recent::default();
        recent.put(id(1), unsealed(1), 1000);
        assert_eq!(recent.get(&id(1), 1000 + KEPT_S - 1), Some(unsealed(1)));
        assert_eq!(recent.get(&id(2), 1000), None);
        assert_eq!(recent.get(&id(1), 1000 + KEPT_S), None);
        recent.put(id(3), unsealed(3), 2000);
        recent.sweep(2000 + KEPT_S);
        assert!(recent.shard(&id(3)).kept.is_empty() && recent.shard(&id(3)).order.is_empty());
    }

    #[test]
    fn so_many_fetches_ask_other_nodes_and_no_more() {
        let asking = Asking::default();
        let places: Vec<_> = (0..ASKING_MAX).map(|_| asking.place().unwrap()).collect();
        assert!(asking.place().is_none());
        drop(places);
        assert!(asking.place().is_some());
    }

    #[test]
    fn what_another_node_gets_is_the_same_and_nothing_that_is_cut_short() {
        let unsealed = Unsealed { path: vec![[3; 32], [4; 32]], ..unsealed(5) };
        let bytes = unsealed.encode();
        assert_eq!(Unsealed::decode(&bytes), Some(unsealed));
        // All that may follow the path is the statement.
        (0..bytes.len() - 1).for_each(|short| assert_eq!(Unsealed::decode(&bytes[..short]), None, "{short}"));
        assert_eq!(Unsealed::decode(&[&[2], &bytes[1..]].concat()), None);
    }

    #[test]
    fn the_newest_are_kept_and_no_more() {
        let (recent, max) = (Recent::default(), SHARD_MAX as u64);
        (0..2 * max).for_each(|number| recent.put(id(number), unsealed(number), 1000));
        let shard = recent.shard(&id(0));
        assert_eq!((shard.kept.len(), shard.order.len()), (SHARD_MAX, SHARD_MAX));
        drop(shard);
        assert_eq!(recent.get(&id(max - 1), 1000), None);
        assert_eq!(recent.get(&id(max), 1000), Some(unsealed(max)));
    }
}
