//! Sealed shares open once.
//!
//! A share says when its device sealed it, so it must be remembered only while it is fresh. Shares sealed before this key-holder
//! started are refused, because the previous process may have opened them.

use crate::TenantId;
use crate::names::NameHash;
use arc_swap::ArcSwap;
use papaya::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use trefoil_kernels::{Cpu, keccak};
use trefoil_split::SealedShare;

/// Recently opened shares, in two sets: the one being filled, and the one filled before it. There are no locks.
pub(crate) struct Once {
    started_at: u64,
    shares_max: usize,
    lately: ArcSwap<Lately>,
}

struct Lately {
    since: u64,
    newer: Arc<Shares>,
    older: Arc<Shares>,
}

/// Shares, and how many of them are each tenant's.
#[derive(Default)]
struct Shares {
    names: HashSet<[u8; 32], NameHash>,
    of_tenants: HashMap<TenantId, AtomicUsize>,
}

/// Seconds from the moment that a device sealed a share within which the key-holder opens it, and by which a device's clock may be ahead.
pub const SEALED_LIFE_S: u64 = 120;
/// How far a device's clock may be ahead, in seconds. A share that was opened so early opens once more if the key-holder is restarted
/// within these seconds; its batch is an attempt then, as any other.
const AHEAD_S: u64 = 5;
/// How long a share can be fresh.
const FRESH_S: u64 = SEALED_LIFE_S + AHEAD_S;
/// Shares remembered in each set: 64 bytes each. Beyond that shares are refused. A tenant has as much room as is left for all, so none takes more
/// than half.
const SHARES_MAX: usize = 1 << 20;

impl Once {
    /// Remembers from `started_at` on, in unix seconds; shares sealed before then do not open.
    pub(crate) fn new(started_at: u64) -> Once {
        let lately = ArcSwap::from_pointee(Lately::new(started_at));
        Once { started_at, shares_max: SHARES_MAX, lately }
    }

    /// Whether a share that says that it was sealed at `issued_at` is fresh.
    pub(crate) fn is_fresh(&self, issued_at: u64, now: u64) -> bool {
        let ahead = issued_at.saturating_sub(now) <= AHEAD_S;
        issued_at >= self.started_at && ahead && now.saturating_sub(issued_at) <= SEALED_LIFE_S
    }

    /// Whether a share is fresh and was never used before; it is from now on.
    pub(crate) fn first(&self, tenant: &TenantId, share: &SealedShare, issued_at: u64, now: u64) -> bool {
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
        let first = lately.newer.has_room(tenant, self.shares_max)
            && !lately.older.names.pin().contains(&name)
            && lately.newer.insert(tenant, name);
        // If the sets were turned in between, another thread may have looked into this one before it was in there.
        let now_filled = self.lately.load();
        let turned = !Arc::ptr_eq(&now_filled.newer, &lately.newer);
        first && (!turned || now_filled.newer.insert(tenant, name))
    }
}

impl Once {
    /// Undoes a first use that had no effect.
    pub(crate) fn forget(&self, tenant: &TenantId, share: &SealedShare) {
        let lately = self.lately.load();
        for shares in [&lately.newer, &lately.older] {
            shares.remove(tenant, &name(share));
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "beside a write to a map that is shared anyway, for a shared probe"
)]
impl Shares {
    fn has_room(&self, tenant: &TenantId, shares_max: usize) -> bool {
        let own = self.of_tenants.pin().get(tenant).map_or(0, |own| own.load(Relaxed));
        own < shares_max.saturating_sub(self.names.len())
    }

    /// Whether it was not there; it is from now on.
    fn insert(&self, tenant: &TenantId, name: [u8; 32]) -> bool {
        let is_new = self.names.pin().insert(name);
        if is_new {
            self.of_tenants.pin().get_or_insert_with(*tenant, AtomicUsize::default).fetch_add(1, Relaxed);
        }
        is_new
    }

    fn remove(&self, tenant: &TenantId, name: &[u8; 32]) {
        if self.names.pin().remove(name)
            && let Some(own) = self.of_tenants.pin().get(tenant)
        {
            own.fetch_sub(1, Relaxed);
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
    const TENANT: TenantId = TenantId::new([1; 16]);

    fn share(name: u8) -> SealedShare {
        SealedShare::from_bytes(&[name; SealedShare::BYTES]).expect("as many bytes")
    }

    #[test]
    fn a_share_opens_once_while_it_is_fresh_and_never_after() {
        let once = Once::new(START);
        let issued = START + 50;
        assert!(once.first(&TENANT, &share(1), issued, issued));
        // Again at every second at which it is fresh, through all turns of the sets, with other shares in between.
        for later in 0..=SEALED_LIFE_S {
            assert!(!once.first(&TENANT, &share(1), issued, issued + later));
            assert!(once.first(&TENANT, &share(2 + later as u8), issued + later, issued + later));
        }
        assert!(!once.first(&TENANT, &share(1), issued, issued + SEALED_LIFE_S + 1));
    }

    #[test]
    fn a_share_is_remembered_through_a_turn_from_the_earliest_to_the_latest_moment() {
        for first in 0..4 * FRESH_S {
            let once = Once::new(START);
            let (opened, issued) = (START + first, START + first + AHEAD_S);
            assert!(once.first(&TENANT, &share(1), issued, opened), "a device's clock may be ahead");
            for step in [1, SEALED_LIFE_S, SEALED_LIFE_S + AHEAD_S] {
                once.first(&TENANT, &share(9), opened + step, opened + step);
                assert!(!once.first(&TENANT, &share(1), issued, opened + step));
            }
        }
    }

    #[test]
    fn what_was_sealed_before_the_start_or_is_not_fresh_does_not_open() {
        let once = Once::new(START);
        assert!(!once.first(&TENANT, &share(1), START - 1, START));
        assert!(!once.first(&TENANT, &share(1), START + AHEAD_S + 1, START));
        assert!(!once.first(&TENANT, &share(1), START, START + SEALED_LIFE_S + 1));
        assert!(once.first(&TENANT, &share(1), START, START + SEALED_LIFE_S), "refusals are not remembered");
    }

    #[test]
    fn of_many_threads_one_opens_a_share() {
        let once = Once::new(START);
        for round in 0..50 {
            let at = START + 10 * round;
            let opened: usize = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4)
                    .map(|_| scope.spawn(|| once.first(&TENANT, &share(round as u8), at, at)))
                    .collect();
                threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
            });
            assert_eq!(opened, 1, "{round}");
        }
    }

    #[test]
    fn a_tenant_that_seals_any_number_of_shares_leaves_room_for_others() {
        let once = Once { shares_max: 100, ..Once::new(START) };
        let fill = |tenant: u8, from: u8| {
            let first =
                |name: &u8| once.first(&TenantId::new([tenant; 16]), &share(*name), START + 1, START + 1);
            (from..).take_while(first).count()
        };
        // Each takes as much as it leaves.
        assert_eq!([fill(1, 0), fill(2, 100), fill(3, 150), fill(1, 200)], [50, 25, 13, 0]);
        // What had no effect gives its room back.
        once.forget(&TENANT, &share(0));
        assert_eq!([fill(4, 180), fill(1, 200)], [7, 0]);
        // Once they are no longer fresh there is room again.
        let later = START + 1 + 2 * FRESH_S;
        assert!(once.first(&TENANT, &share(0), later, later));
    }
}
