//! Nonces that were used, for as long as a request that carries one could be sent again.
//!
//! A request is fresh from [`AHEAD_S`] before its time, for clocks that are fast, until [`FRESHNESS_S`] after it. Nonces go
//! into the newer of two generations; every [`LIFETIME_S`] the older is dropped.
//!
//! The guard is in memory. What the process before this one attested was dated at most [`AHEAD_S`] after its last seal,
//! whose time is stored. Until then, and before its own start, a process refuses every request: nothing is spent, and the
//! holder may sign it again with a later time.

#![expect(
    clippy::disallowed_types,
    reason = "on the path of a login: one of 16 locks for one nonce, see ARCHITECTURE.md"
)]

use sha3::{Digest as _, Sha3_256};
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use trefoil_pipeline::{Handle, SessionId, TenantId};

/// Accepted age of a request by its `issued_at` and our clock, seconds.
pub const FRESHNESS_S: u64 = 60;
/// How far a request may be dated ahead of our clock, seconds.
pub const AHEAD_S: u64 = 5;
/// How long a nonce is remembered at least.
const LIFETIME_S: u64 = 2 * FRESHNESS_S;
/// Age at which every earlier use of a nonce is still remembered.
const WAITED_S_MAX: u64 = LIFETIME_S - AHEAD_S;
/// Locks, so that I/O threads seldom meet.
const SHARDS: usize = 16;

/// See the module.
pub(crate) struct ReplayGuard {
    shards: [Mutex<Generations>; SHARDS],
    per_generation_max: usize,
}

#[derive(Default)]
struct Generations {
    since: u64,
    newer: HashSet<[u8; 32]>,
    older: HashSet<[u8; 32]>,
}

/// Where a nonce is used once.
pub(crate) struct NonceScope([u8; 32]);

impl NonceScope {
    /// In a proof session.
    pub(crate) fn session(id: &SessionId) -> NonceScope {
        NonceScope(id.to_bytes())
    }

    /// For a subject whose requests are in no session, at its tenant. Whichever audience it is for. No session has this identifier: to find
    /// one costs a preimage of SHA3-256.
    pub(crate) fn subject(tenant: &TenantId, handle: &Handle) -> NonceScope {
        let hash = Sha3_256::new_with_prefix(b"trefoil/nonces-of-subject/1");
        NonceScope(hash.chain_update(tenant).chain_update(handle).finalize().into())
    }
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
    /// A guard that remembers at least `capacity` nonces of each [`LIFETIME_S`], 32 bytes each.
    pub(crate) fn new(capacity: usize) -> ReplayGuard {
        ReplayGuard { shards: Default::default(), per_generation_max: capacity.div_ceil(SHARDS) }
    }

    /// Remembers a nonce of a session or a subject. A request that was fresh when it came may have waited since; it is too old once its nonce could
    /// have been used at its earliest, [`AHEAD_S`] before its time, and forgotten.
    pub(crate) fn note(&self, scope: &NonceScope, nonce: &[u8], issued_at: u64, now: u64) -> Use {
        if now.saturating_sub(issued_at) > WAITED_S_MAX {
            return Use::TooOld;
        }
        let entry = entry(scope, nonce);
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

    fn shard(&self, entry: &[u8; 32]) -> MutexGuard<'_, Generations> {
        self.shards[usize::from(entry[0]) % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
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

/// The scope has a fixed length, so scope and nonce cannot run together.
fn entry(NonceScope(scope): &NonceScope, nonce: &[u8]) -> [u8; 32] {
    Sha3_256::new().chain_update(scope).chain_update(nonce).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: NonceScope = NonceScope([1; 32]);

    #[test]
    fn tenants_that_choose_one_handle_do_not_use_up_each_others_nonces() {
        let guard = ReplayGuard::new(1000);
        let subject =
            |tenant, handle| NonceScope::subject(&TenantId::new([tenant; 16]), &Handle::new([handle; 32]));
        for scope in
            [subject(1, 1), subject(1, 2), subject(2, 1), NonceScope::session(&SessionId::new([1; 32]))]
        {
            assert_eq!(guard.note(&scope, b"n", 1000, 1000), Use::First);
        }
        assert_eq!(guard.note(&subject(1, 1), b"n", 1000, 1000), Use::Repeated);
    }

    #[test]
    fn a_nonce_is_used_once_per_session() {
        let guard = ReplayGuard::new(1000);
        assert_eq!(guard.note(&S, b"n", 1000, 1000), Use::First);
        assert_eq!(guard.note(&S, b"n", 1000, 1000), Use::Repeated);
        assert_eq!(guard.note(&NonceScope([2; 32]), b"n", 1000, 1000), Use::First);
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
    fn a_full_guard_refuses_and_empties_with_time() {
        let guard = ReplayGuard::new(SHARDS * 4);
        let fills = (0..10_000_u32).any(|i| guard.note(&S, &i.to_le_bytes(), 1000, 1000) == Use::Full);
        assert!(fills);
        let held: usize = guard.shards.iter().map(|shard| shard.lock().unwrap().newer.len()).sum();
        assert!(held <= SHARDS * 4);
        assert_eq!(guard.note(&S, b"later", 1000 + LIFETIME_S, 1000 + LIFETIME_S), Use::First);
    }

    #[test]
    fn a_clock_that_steps_back_forgets_nothing() {
        let guard = ReplayGuard::new(1000);
        assert_eq!(guard.note(&S, b"n", 10_000, 10_000), Use::First);
        assert_eq!(guard.note(&S, b"n", 5_000, 5_000), Use::Repeated);
    }
}
