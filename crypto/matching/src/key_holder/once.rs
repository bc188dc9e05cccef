//! Sealed shares open once.
//!
//! A share says when its device sealed it, so it must be remembered only while it is fresh. Shares sealed before this key-holder
//! started are refused, because the previous process may have opened them.

use crate::names::NameHash;
use arc_swap::ArcSwap;
use papaya::HashSet;
use std::sync::Arc;
use trefoil_kernels::{Cpu, keccak};
use trefoil_split::SealedShare;

/// Recently opened shares, in two sets: the one being filled, and the one filled before it. There are no locks.
pub(crate) struct Once {
    started_at: u64,
    lately: ArcSwap<Lately>,
}

struct Lately {
    since: u64,
    newer: Arc<HashSet<[u8; 32], NameHash>>,
    older: Arc<HashSet<[u8; 32], NameHash>>,
}

/// Seconds from the moment that a device sealed a share within which the key-holder opens it, and by which a device's clock may be ahead.
pub const SEALED_LIFE_S: u64 = 120;
/// How far a device's clock may be ahead, in seconds. A share that was opened so early opens once more if the key-holder is restarted
/// within these seconds; its batch is an attempt then, as any other.
const AHEAD_S: u64 = 5;
/// How long a share can be fresh.
const FRESH_S: u64 = SEALED_LIFE_S + AHEAD_S;
/// Shares remembered in each set: 64 bytes each. Beyond that shares are refused.
const SHARES_MAX: usize = 1 << 20;

impl Once {
    /// Remembers from `started_at` on, in unix seconds; shares sealed before then do not open.
    pub(crate) fn new(started_at: u64) -> Once {
        Once { started_at, lately: ArcSwap::from_pointee(Lately::new(started_at)) }
    }

    /// Whether a share that says that it was sealed at `issued_at` is fresh.
    pub(crate) fn is_fresh(&self, issued_at: u64, now: u64) -> bool {
        let ahead = issued_at.saturating_sub(now) <= AHEAD_S;
        issued_at >= self.started_at && ahead && now.saturating_sub(issued_at) <= SEALED_LIFE_S
    }

    /// Whether a share is fresh and was never used before; it is from now on.
    pub(crate) fn first(&self, share: &SealedShare, issued_at: u64, now: u64) -> bool {
        if !self.is_fresh(issued_at, now) {
            return false;
        }
        let mut lately = self.lately.load();
        if now >= lately.since.saturating_add(FRESH_S) {
            let turned = Arc::new(lately.turned(now));
            // If another thread was faster, its sets are used.
            self.lately.compare_and_swap(&*lately, turned);
            lately = self.lately.load();
        }
        let name = name(share);
        let first = lately.newer.len() < SHARES_MAX
            && !lately.older.pin().contains(&name)
            && lately.newer.pin().insert(name);
        // If the sets were turned in between, another thread may have looked into this one before it was in there.
        let now_filled = self.lately.load();
        let turned = !Arc::ptr_eq(&now_filled.newer, &lately.newer);
        first && (!turned || now_filled.newer.pin().insert(name))
    }
}

impl Once {
    /// Undoes a first use that had no effect.
    pub(crate) fn forget(&self, share: &SealedShare) {
        let lately = self.lately.load();
        for set in [&lately.newer, &lately.older] {
            set.pin().remove(&name(share));
        }
    }
}

fn name(share: &SealedShare) -> [u8; 32] {
    let mut name = [[0; 32]];
    keccak::sha3_256(Cpu::detected(), &[share.as_bytes()], &mut name);
    let [name] = name;
    name
}

impl Lately {
    fn new(since: u64) -> Lately {
        Lately { since, newer: Arc::default(), older: Arc::default() }
    }

    /// The filled set becomes the older one. The shares of the old one are no longer fresh, nor are those of the filled one after a long pause.
    fn turned(&self, now: u64) -> Lately {
        let long_ago = now >= self.since.saturating_add(2 * FRESH_S);
        let older = if long_ago { Arc::default() } else { Arc::clone(&self.newer) };
        Lately { since: now, newer: Arc::default(), older }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_800_000_000;

    fn share(name: u8) -> SealedShare {
        SealedShare::from_bytes(&[name; SealedShare::BYTES]).expect("as many bytes")
    }

    #[test]
    fn a_share_opens_once_while_it_is_fresh_and_never_after() {
        let once = Once::new(START);
        let issued = START + 50;
        assert!(once.first(&share(1), issued, issued));
        // Again at every second at which it is fresh, through all turns of the sets, with other shares in between.
        for later in 0..=SEALED_LIFE_S {
            assert!(!once.first(&share(1), issued, issued + later));
            assert!(once.first(&share(2 + later as u8), issued + later, issued + later));
        }
        assert!(!once.first(&share(1), issued, issued + SEALED_LIFE_S + 1));
    }

    #[test]
    fn a_share_is_remembered_through_a_turn_from_the_earliest_to_the_latest_moment() {
        for first in 0..4 * FRESH_S {
            let once = Once::new(START);
            let (opened, issued) = (START + first, START + first + AHEAD_S);
            assert!(once.first(&share(1), issued, opened), "a device's clock may be ahead");
            for step in [1, SEALED_LIFE_S, SEALED_LIFE_S + AHEAD_S] {
                once.first(&share(9), opened + step, opened + step);
                assert!(!once.first(&share(1), issued, opened + step));
            }
        }
    }

    #[test]
    fn what_was_sealed_before_the_start_or_is_not_fresh_does_not_open() {
        let once = Once::new(START);
        assert!(!once.first(&share(1), START - 1, START));
        assert!(!once.first(&share(1), START + AHEAD_S + 1, START));
        assert!(!once.first(&share(1), START, START + SEALED_LIFE_S + 1));
        assert!(once.first(&share(1), START, START + SEALED_LIFE_S), "refusals are not remembered");
    }

    #[test]
    fn of_many_threads_one_opens_a_share() {
        let once = Once::new(START);
        for round in 0..50 {
            let at = START + 10 * round;
            let opened: usize = std::thread::scope(|scope| {
                let threads: Vec<_> =
                    (0..4).map(|_| scope.spawn(|| once.first(&share(round as u8), at, at))).collect();
                threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
            });
            assert_eq!(opened, 1, "{round}");
        }
    }
}
