//! Used nonces, remembered for as long as a request with one could be replayed.
//!
//! The guard remembers the first half, 16 bytes, of a digest of session and nonce. Equal nonces have equal halves, so no nonce is
//! accepted twice, whatever the digest. If two different nonces had the same half, the later request would be refused, and its holder could
//! sign again with another nonce. With 14 million halves remembered, this happens by chance with a probability of 2^-104 for each request. An
//! attacker that wants to block a login whose session and nonce it knows must find the half of that digest: 2^128 digests divided by
//! its number of entries here.
//!
//! A request is fresh from [`AHEAD_S`] before its time, for clocks that are fast, until [`FRESHNESS_S`] after it.
//!
//! **No clock decides what is forgotten.** Requests are sorted by their own `issued_at` into spans of [`LIFETIME_S`]. The guard keeps the nonces
//! of two spans, the newest that it has seen and the one before, and refuses every request of an earlier one. A nonce is forgotten when its
//! span is dropped, and from then on its request is refused, because the newest span only rises. This holds however the clock steps. A span is
//! long enough that with a right clock no request that is still fresh is of a dropped one.
//!
//! The guard is in memory. What a process refuses of the time before it is in [`crate::login::past`].

#![expect(
    clippy::disallowed_types,
    reason = "on the path of a login: one of 256 locks for one nonce, see ARCHITECTURE.md"
)]

use crate::{AHEAD_S, FRESHNESS_S};
use sha3::{Digest as _, Sha3_256};
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use trefoil_pipeline::{Handle, SessionId, TenantId};

/// How long a nonce is remembered at least.
const LIFETIME_S: u64 = 2 * FRESHNESS_S;
/// Age at which every earlier use of a nonce is still remembered.
pub(crate) const WAITED_S_MAX: u64 = LIFETIME_S - AHEAD_S;
/// Number of locks: many, so that workers seldom contend, and so that a growing table moves few entries while its lock is held.
const SHARDS: usize = 256;

/// The remembered half of a digest.
pub(crate) type Half = [u8; 16];

/// See the module.
pub(crate) struct ReplayGuard {
    shards: [Mutex<Spans>; SHARDS],
    per_span_max: usize,
}

/// The nonces of two spans.
#[derive(Default)]
struct Spans {
    /// The number of the newer one.
    newest: u64,
    newer: HashSet<Half>,
    older: HashSet<Half>,
}

/// The scope in which a nonce can be used once.
pub(crate) struct NonceScope([u8; 32]);

impl NonceScope {
    /// In a proof session.
    pub(crate) fn session(id: &SessionId) -> NonceScope {
        NonceScope(id.to_bytes())
    }

    /// For a subject whose requests are in no session, at its tenant, whatever the audience. No session has this identifier: finding
    /// one needs a preimage of SHA3-256.
    pub(crate) fn subject(tenant: &TenantId, handle: &Handle) -> NonceScope {
        let hash = Sha3_256::new_with_prefix(b"trefoil/nonces-of-subject/1");
        NonceScope(hash.chain_update(tenant).chain_update(handle).finalize().into())
    }
}

/// The guard's answer for a nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Never seen; now remembered.
    First,
    /// Seen before.
    Repeated,
    /// Not remembered, because the guard is full: the request must be refused.
    Full,
    /// It waited for too long: the request must be refused.
    TooOld,
    /// Of a span whose nonces are forgotten: the request must be refused by a process alone.
    Dropped,
}

impl ReplayGuard {
    /// A guard that remembers at least `capacity` nonces of each span. It takes memory as it fills, and releases it.
    pub(crate) fn new(capacity: usize) -> ReplayGuard {
        // Digests spread over the shards at random: one shard in a thousand million exceeds its mean by six standard deviations.
        let part = capacity.div_ceil(SHARDS);
        let shards = std::array::from_fn(|_| Mutex::default());
        ReplayGuard { shards, per_span_max: part + 6 * part.isqrt() }
    }

    /// Remembers a nonce of a session or a subject.
    pub(crate) fn note(&self, scope: &NonceScope, nonce: &[u8], issued_at: u64, now: u64) -> Use {
        if now.saturating_sub(issued_at) > WAITED_S_MAX {
            return Use::TooOld;
        }
        let entry = entry(scope, nonce);
        let mut shard = self.shard(&entry);
        let span = issued_at / LIFETIME_S;
        shard.rise_to(span);
        if shard.newer.contains(&entry) || shard.older.contains(&entry) {
            return Use::Repeated;
        }
        let of_its_time = match shard.newest - span {
            0 => &mut shard.newer,
            1 => &mut shard.older,
            _ => return Use::Dropped,
        };
        if of_its_time.len() >= self.per_span_max {
            return Use::Full;
        }
        of_its_time.insert(entry);
        Use::First
    }

    /// Nonces of the newest two minutes.
    pub(crate) fn held(&self) -> usize {
        let held = |shard: &Mutex<Spans>| shard.lock().unwrap_or_else(PoisonError::into_inner).newer.len();
        self.shards.iter().map(held).sum()
    }

    fn shard(&self, entry: &Half) -> MutexGuard<'_, Spans> {
        self.shards[usize::from(entry[0])].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spans {
    fn rise_to(&mut self, span: u64) {
        if span > self.newest {
            let before = std::mem::take(&mut self.newer);
            self.older = if span == self.newest + 1 { before } else { HashSet::new() };
            self.newest = span;
        }
    }
}

/// What is remembered of a nonce. The scope has a fixed length, so scope and nonce cannot run together.
pub(crate) fn entry(NonceScope(scope): &NonceScope, nonce: &[u8]) -> Half {
    let digest: [u8; 32] = Sha3_256::new().chain_update(scope).chain_update(nonce).finalize().into();
    *digest.first_chunk().expect("a digest has two halves")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};

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

    /// Claim V26.
    #[test]
    fn a_request_that_waited_until_its_nonce_may_be_forgotten_is_too_old() {
        for start in 1000..1000 + 2 * LIFETIME_S {
            let guard = ReplayGuard::new(1000);
            guard.note(&S, b"first", 1000, 1000);
            // Dated ahead as far as allowed, used at once, and replayed.
            let issued_at = start + AHEAD_S;
            assert_eq!(guard.note(&S, b"n", issued_at, start), Use::First);
            for later in start..start + 4 * LIFETIME_S {
                assert_ne!(guard.note(&S, b"n", issued_at, later), Use::First, "{start} {later}");
            }
        }
    }

    /// Claim V26.
    #[test]
    fn a_full_guard_refuses_accepts_nothing_twice_and_empties_with_time() {
        const CAPACITY: u32 = 10_000;
        let guard = ReplayGuard::new(CAPACITY as usize);
        let note = |i: u32, now| guard.note(&S, &i.to_le_bytes(), 1000, now);
        assert!((0..CAPACITY).all(|i| note(i, 1000) == Use::First), "as many as it was made for");
        let full = (CAPACITY..10 * CAPACITY).filter(|i| note(*i, 1000) == Use::Full).count();
        assert!(full > 0);
        assert_eq!(guard.held(), SHARDS * guard.per_span_max, "every shard is full, and no shard has more");
        // Also while it is full, and once these are of the older span.
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
        let places = HashSet::<Half>::with_capacity(guard.per_span_max).capacity().div_ceil(7) * 8;
        let bytes = 2 * SHARDS * places * (size_of::<Half>() + 1);
        assert!(bytes <= 300_000_000, "{bytes}");
    }

    /// Claim V26.
    ///
    /// Whatever the clock does: 40 requests, and again after each of many steps.
    #[test]
    fn no_nonce_is_accepted_twice_over_any_schedule_of_steps() {
        const STEPS: [u64; 8] = [1, 20, 61, 119, 300, 3_600, 86_400, 31_536_000];
        for seed in 0..10 {
            let (mut rng, guard) = (StdRng::seed_from_u64(seed), ReplayGuard::new(100_000));
            let (mut now, mut accepted) = (1_800_000_000_u64, std::collections::BTreeMap::new());
            for round in 0..60_u64 {
                let step = STEPS[rng.random_range(0..STEPS.len())];
                now = match rng.random_range(0..3) {
                    0 => now + step,
                    1 => now.saturating_sub(step),
                    _ => now + rng.random_range(0..30),
                };
                for number in round * 10..round * 10 + 10 {
                    // Up to 5 s ahead, or as old as a request may be that waited.
                    let issued_at = (now + AHEAD_S).saturating_sub(rng.random_range(0..=2 * FRESHNESS_S));
                    accepted.entry(number).or_insert((issued_at, 0));
                }
                for (number, (issued_at, times)) in &mut accepted {
                    let found = guard.note(&S, &number.to_le_bytes(), *issued_at, now);
                    *times += u32::from(found == Use::First);
                    assert!(*times <= 1, "seed {seed}, round {round}, request {number}");
                }
            }
            assert!(accepted.values().any(|(_, times)| *times == 1), "seed {seed}");
        }
    }

    #[test]
    fn with_a_right_clock_no_fresh_request_is_of_a_dropped_span() {
        for start in 120_000..120_000 + 2 * LIFETIME_S {
            let guard = ReplayGuard::new(10_000);
            // Another request in the same shard is dated ahead as far as allowed.
            let ahead =
                (0..u64::MAX).find(|n| entry(&S, &n.to_le_bytes())[0] == entry(&S, b"old")[0]).unwrap();
            assert_eq!(guard.note(&S, &ahead.to_le_bytes(), start + AHEAD_S, start), Use::First);
            assert_eq!(guard.note(&S, b"old", start - WAITED_S_MAX, start), Use::First, "{start}");
        }
    }
}
