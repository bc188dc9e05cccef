//! Nonces that were used, for as long as a request that carries one could be sent again.
//!
//! What is remembered of a session's nonce is the first half of a digest of both, 16 bytes. Equal nonces have equal halves, so none is
//! accepted twice whatever the digest does. Two different ones with one half would cost the later request an answer, and its holder may
//! sign again with another nonce: with 14 million halves remembered, one request meets another's by chance with odds of 2^-104. A
//! stranger who wants to block a login whose session and nonce it knows needs the half of that very digest, 2^128 digests divided by
//! the entries that it has here.
//!
//! A request is fresh from [`AHEAD_S`] before its time, for clocks that are fast, until [`FRESHNESS_S`] after it. Nonces go
//! into the newer of two generations; every [`LIFETIME_S`] the older is dropped.
//!
//! The guard is in memory. What the process before this one attested was dated at most [`AHEAD_S`] after its last seal,
//! whose time is stored. Until then, and before its own start, a process refuses every request: nothing is spent, and the
//! holder may sign it again with a later time.

#![expect(
    clippy::disallowed_types,
    reason = "on the path of a login: one of 256 locks for one nonce, see ARCHITECTURE.md"
)]

use sha3::{Digest as _, Sha3_256};
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use trefoil_pipeline::SessionId;

/// Accepted age of a request by its `issued_at` and our clock, seconds.
pub const FRESHNESS_S: u64 = 60;
/// How far a request may be dated ahead of our clock, seconds.
pub const AHEAD_S: u64 = 5;
/// How long a nonce is remembered at least.
const LIFETIME_S: u64 = 2 * FRESHNESS_S;
/// Age at which every earlier use of a nonce is still remembered.
const WAITED_S_MAX: u64 = LIFETIME_S - AHEAD_S;
/// Locks, so that workers seldom meet, and so that a table that grows moves few entries while its lock is held.
const SHARDS: usize = 256;

/// What is remembered of a nonce.
type Half = [u8; 16];

/// See the module.
pub(crate) struct ReplayGuard {
    shards: [Mutex<Generations>; SHARDS],
    per_generation_max: usize,
}

#[derive(Default)]
struct Generations {
    since: u64,
    newer: HashSet<Half>,
    older: HashSet<Half>,
}

/// What the guard knows of a nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Never seen; now remembered.
    First,
    /// Seen before.
    Repeated,
    /// Not remembered, because the guard is full: the request must be refused.
    Full,
    /// Issued so long ago that an earlier use may be forgotten: the request must be refused.
    TooOld,
}

impl ReplayGuard {
    /// A guard that remembers at least `capacity` nonces of each [`LIFETIME_S`]. It takes memory as it fills, and gives it back.
    pub(crate) fn new(capacity: usize) -> ReplayGuard {
        // Digests fall on shards at random: one in a thousand million shards gets six standard deviations more than its part.
        let part = capacity.div_ceil(SHARDS);
        let shards = std::array::from_fn(|_| Mutex::default());
        ReplayGuard { shards, per_generation_max: part + 6 * part.isqrt() }
    }

    /// Remembers a nonce of a session. A request that was fresh when it came may have waited since; it is too old once its nonce could
    /// have been used at its earliest, [`AHEAD_S`] before its time, and forgotten.
    pub(crate) fn note(&self, session: &SessionId, nonce: &[u8], issued_at: u64, now: u64) -> Use {
        if now.saturating_sub(issued_at) > WAITED_S_MAX {
            return Use::TooOld;
        }
        let entry = entry(session, nonce);
        let mut shard = self.shard(&entry);
        shard.rotate(now);
        if shard.newer.contains(&entry) || shard.older.contains(&entry) {
            return Use::Repeated;
        }
        if shard.newer.len() >= self.per_generation_max {
            return Use::Full;
        }
        shard.newer.insert(entry);
        Use::First
    }

    fn shard(&self, entry: &Half) -> MutexGuard<'_, Generations> {
        self.shards[usize::from(entry[0])].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn rotate(&mut self, now: u64) {
        let age = now.saturating_sub(self.since);
        if age < LIFETIME_S {
            return;
        }
        self.older = std::mem::take(&mut self.newer);
        if age >= 2 * LIFETIME_S {
            self.older.clear();
        }
        self.since = now;
    }
}

/// The session id has a fixed length, so session and nonce cannot run together.
fn entry(session: &SessionId, nonce: &[u8]) -> Half {
    let digest: [u8; 32] = Sha3_256::new().chain_update(session).chain_update(nonce).finalize().into();
    *digest.first_chunk().expect("a digest has two halves")
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: SessionId = SessionId::new([1; 32]);

    #[test]
    fn a_nonce_is_used_once_per_session() {
        let guard = ReplayGuard::new(1000);
        assert_eq!(guard.note(&S, b"n", 1000, 1000), Use::First);
        assert_eq!(guard.note(&S, b"n", 1000, 1000), Use::Repeated);
        assert_eq!(guard.note(&SessionId::new([2; 32]), b"n", 1000, 1000), Use::First);
    }

    #[test]
    fn it_is_remembered_for_twice_the_freshness_and_then_given_up() {
        for start in [1000, 1001, 1119, 1120, 1121, 1239] {
            let guard = ReplayGuard::new(1000);
            guard.note(&S, b"first", 1000, 1000);
            assert_eq!(guard.note(&S, b"n", start, start), Use::First);
            for later in start..=start + LIFETIME_S {
                assert_eq!(guard.note(&S, b"n", later, later), Use::Repeated, "{start} {later}");
            }
            assert_eq!(
                guard.note(&S, b"n", start + 4 * LIFETIME_S, start + 4 * LIFETIME_S),
                Use::First,
                "{start}"
            );
        }
    }

    #[test]
    fn a_request_that_waited_until_its_nonce_may_be_forgotten_is_too_old() {
        for start in 1000..1000 + 2 * LIFETIME_S {
            let guard = ReplayGuard::new(1000);
            guard.note(&S, b"first", 1000, 1000);
            // Dated ahead as far as may be, used at once, and sent again.
            let issued_at = start + AHEAD_S;
            assert_eq!(guard.note(&S, b"n", issued_at, start), Use::First);
            for later in start..start + 4 * LIFETIME_S {
                assert_ne!(guard.note(&S, b"n", issued_at, later), Use::First, "{start} {later}");
            }
        }
    }

    #[test]
    fn a_full_guard_refuses_accepts_nothing_twice_and_empties_with_time() {
        const CAPACITY: u32 = 10_000;
        let guard = ReplayGuard::new(CAPACITY as usize);
        let note = |i: u32, now| guard.note(&S, &i.to_le_bytes(), 1000, now);
        assert!((0..CAPACITY).all(|i| note(i, 1000) == Use::First), "as many as it was made for");
        let full = (CAPACITY..10 * CAPACITY).filter(|i| note(*i, 1000) == Use::Full).count();
        assert!(full > 0);
        let held: usize = guard.shards.iter().map(|shard| shard.lock().unwrap().newer.len()).sum();
        assert_eq!(held, SHARDS * guard.per_generation_max, "every shard is full, and no shard has more");
        // Also while it is full, and once these are the older generation.
        for now in [1000, 1000 + WAITED_S_MAX] {
            assert!((0..CAPACITY).all(|i| note(i, now) == Use::Repeated), "{now}");
        }
        let later = 1000 + LIFETIME_S;
        assert_eq!(guard.note(&S, b"later", later, later), Use::First);
        assert_eq!(guard.note(&S, &0_u32.to_le_bytes(), later, later), Use::Repeated);
    }

    #[test]
    fn a_guard_of_seven_million_takes_no_memory_at_first_and_at_most_300_mb() {
        let guard = ReplayGuard::new(7_000_000);
        assert!(guard.shards.iter().all(|shard| shard.lock().unwrap().newer.capacity() == 0));
        // A table has a byte beside each place, and is seven eighths full at most.
        let places = HashSet::<Half>::with_capacity(guard.per_generation_max).capacity().div_ceil(7) * 8;
        let bytes = 2 * SHARDS * places * (size_of::<Half>() + 1);
        assert!(bytes <= 300_000_000, "{bytes}");
    }

    #[test]
    fn a_clock_that_steps_back_forgets_nothing() {
        let guard = ReplayGuard::new(1000);
        assert_eq!(guard.note(&S, b"n", 10_000, 10_000), Use::First);
        assert_eq!(guard.note(&S, b"n", 5_000, 5_000), Use::Repeated);
    }
}
