//! Attestations that were left out of the answer, kept for as long as they verify.
//!
//! A login that asks for no attestation is sealed like any other, and its caller may want the attestation later. Statements are in no
//! file: the store has seals, which are digests. So the parts of an attestation beside its seal, about a kilobyte, are kept in memory for
//! [`KEPT_S`] seconds, the longest time for which an attestation verifies; of each tenant the newest [`KEPT_MAX`]. The seal is twenty times as
//! large and is read from the store when the attestation is fetched. Logins that were answered with their attestation are not kept, and
//! nothing survives the process.
//!
//! The task that answers a login puts it here after the decision, and no worker does.

#![expect(
    clippy::disallowed_types,
    reason = "on the path of logins that take no attestation: one of 16 locks of their tenant, see ARCHITECTURE.md"
)]

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use trefoil_attest::Decision;
use trefoil_attest::tree::Hash;

/// How long an attestation is kept, seconds: the longest life that a policy may give one.
pub const KEPT_S: u64 = trefoil_attest::LIFETIME_SECONDS_MAX;

/// Attestations kept of one tenant: 8 MiB.
pub const KEPT_MAX: usize = SHARDS * SHARD_MAX;

/// Locks, so that answers of one tenant seldom meet.
const SHARDS: usize = 16;
const SHARD_MAX: usize = 512;

pub(crate) type Id = [u8; 32];

/// The kept attestations of one tenant. See the module.
#[derive(Default)]
pub struct Recent([Mutex<Shard>; SHARDS]);

#[derive(Default)]
struct Shard {
    kept: HashMap<Id, Unsealed>,
    /// In the order in which they were kept, with the second at which each is dropped.
    order: VecDeque<(Id, u64)>,
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

impl Recent {
    /// Keeps an attestation that is given at `now`, unix seconds.
    pub(crate) fn put(&self, id: Id, unsealed: Unsealed, now: u64) {
        let mut shard = self.shard(&id);
        shard.expire(now);
        if shard.order.len() >= SHARD_MAX {
            shard.drop_oldest();
        }
        shard.order.push_back((id, now + KEPT_S));
        shard.kept.insert(id, unsealed);
    }

    /// The attestation with this digest of its statement, if it is still kept.
    pub(crate) fn get(&self, id: &Id, now: u64) -> Option<Unsealed> {
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
    fn shard(&self, id: &Id) -> MutexGuard<'_, Shard> {
        self.0[usize::from(id[0]) % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
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
    fn id(number: u64) -> Id {
        let mut id = [0; 32];
        id[1..9].copy_from_slice(&number.to_le_bytes());
        id
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
