//! Sealed shares open once, whatever the clock does.
//!
//! A share says when its device sealed it. Shares are sorted by that time into spans of [`FRESH_S`]. The names of two spans are remembered, the
//! newest that was seen and the one before, and shares of an earlier span are refused. So a share is refused for good once its name is forgotten:
//! the newest span only rises.
//!
//! Before a share is opened, the vault notes a time after it was sealed. A process refuses every share sealed up to the time that it finds
//! there, because a process before it may have opened it. One sealed before its own start is refused too, in case that the vault is an older copy.

#![expect(
    clippy::disallowed_methods,
    reason = "words that change every few seconds, and counts beside a write to a map that is shared anyway"
)]

use crate::TenantId;
use crate::names::NameHash;
use crate::vault::{Vault, VaultError};
use arc_swap::ArcSwap;
use papaya::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use trefoil_kernels::{Cpu, keccak};
use trefoil_split::SealedShare;

/// Recently opened shares, in two sets. There are no locks.
pub(crate) struct Once {
    started_at: AtomicU64,
    /// As the vault had it at the start.
    opened_until: u64,
    /// As the vault has it now.
    noted_until: AtomicU64,
    shares_max: usize,
    lately: ArcSwap<Lately>,
}

#[derive(Default)]
struct Lately {
    /// The number of the newer span.
    newest: u64,
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
/// How far a device's clock may be ahead, in seconds.
const AHEAD_S: u64 = 5;
/// How long a share can be fresh.
const FRESH_S: u64 = SEALED_LIFE_S + AHEAD_S;
/// The vault notes a time that is later than needed by so much, so that it is written once in so many seconds.
const NOTED_AHEAD_S: u64 = 5;
/// Shares remembered in each set: 64 bytes each. Beyond that shares are refused. A tenant has as much room as is left for all, so none takes more
/// than half.
const SHARES_MAX: usize = 1 << 20;

impl Once {
    /// Starts at `started_at`, in unix seconds, with a vault that says that shares may have been opened that were sealed until `opened_until`.
    pub(crate) fn new(started_at: u64, opened_until: u64) -> Once {
        let (started_at, noted_until) = (started_at.into(), opened_until.into());
        Once { started_at, opened_until, noted_until, shares_max: SHARES_MAX, lately: ArcSwap::default() }
    }

    /// Whether a share that says that it was sealed at `issued_at` is fresh.
    pub(crate) fn is_fresh(&self, issued_at: u64, now: u64) -> bool {
        let mut started_at = self.started_at.load(Ordering::Relaxed);
        if now < started_at {
            // The clock was set back: by this clock the process started no later than now.
            self.started_at.store(now, Ordering::Relaxed);
            started_at = now;
        }
        let ahead = issued_at.saturating_sub(now) <= AHEAD_S;
        let remembered = issued_at >= started_at && issued_at > self.opened_until;
        remembered && ahead && now.saturating_sub(issued_at) <= SEALED_LIFE_S
    }

    /// Has the vault note that shares sealed up to then may be opened.
    pub(crate) fn note(&self, vault: &dyn Vault, issued_at: u64) -> Result<(), VaultError> {
        if issued_at > self.noted_until.load(Ordering::Acquire) {
            let until = issued_at + NOTED_AHEAD_S;
            vault.put_opened_until(until)?;
            self.noted_until.fetch_max(until, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Whether a share is fresh, noted, and was never used before; it is from now on.
    pub(crate) fn first(&self, tenant: &TenantId, share: &SealedShare, issued_at: u64, now: u64) -> bool {
        if !self.is_fresh(issued_at, now) || issued_at > self.noted_until.load(Ordering::Acquire) {
            return false;
        }
        let span = issued_at / FRESH_S;
        let mut lately = self.lately.load();
        while lately.newest < span {
            // If another thread was faster, its sets are used.
            self.lately.compare_and_swap(&*lately, Arc::new(lately.risen_to(span)));
            lately = self.lately.load();
        }
        // A share is always of one span, whose set is the same one until it is dropped.
        let of_its_time = match lately.newest - span {
            0 => &lately.newer,
            1 => &lately.older,
            _ => return false,
        };
        of_its_time.has_room(tenant, self.shares_max) && of_its_time.insert(tenant, name(share))
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

impl Shares {
    fn has_room(&self, tenant: &TenantId, shares_max: usize) -> bool {
        let own = self.of_tenants.pin().get(tenant).map_or(0, |own| own.load(Ordering::Relaxed));
        own < shares_max.saturating_sub(self.names.len())
    }

    /// Whether it was not there; it is from now on.
    fn insert(&self, tenant: &TenantId, name: [u8; 32]) -> bool {
        let is_new = self.names.pin().insert(name);
        if is_new {
            self.of_tenants
                .pin()
                .get_or_insert_with(*tenant, AtomicUsize::default)
                .fetch_add(1, Ordering::Relaxed);
        }
        is_new
    }

    fn remove(&self, tenant: &TenantId, name: &[u8; 32]) {
        if self.names.pin().remove(name)
            && let Some(own) = self.of_tenants.pin().get(tenant)
        {
            own.fetch_sub(1, Ordering::Relaxed);
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
    fn risen_to(&self, span: u64) -> Lately {
        let is_next = span == self.newest + 1;
        Lately {
            newest: span,
            newer: Arc::default(),
            older: if is_next { Arc::clone(&self.newer) } else { Arc::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::Width;
    use crate::vault::MemoryVault;
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};

    const START: u64 = 1_800_000_000;
    const TENANT: TenantId = TenantId::new([1; 16]);

    /// In a process whose vault says that no share was opened, and lets all be noted.
    fn started(at: u64) -> Once {
        Once { noted_until: u64::MAX.into(), ..Once::new(at, 0) }
    }

    fn share(name: u8) -> SealedShare {
        SealedShare::from_bytes(Width::W128, &[name; SealedShare::bytes(Width::W128)]).expect("as many bytes")
    }

    /// Claim M16.
    #[test]
    fn a_share_opens_once_while_it_is_fresh_and_never_after() {
        let once = started(START);
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
            let once = started(START);
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
        let once = started(START);
        assert!(!once.first(&TENANT, &share(1), START - 1, START));
        assert!(!once.first(&TENANT, &share(1), START + AHEAD_S + 1, START));
        assert!(!once.first(&TENANT, &share(1), START, START + SEALED_LIFE_S + 1));
        assert!(once.first(&TENANT, &share(1), START, START + SEALED_LIFE_S), "refusals are not remembered");
    }

    #[test]
    fn of_many_threads_one_opens_a_share() {
        let once = started(START);
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
        let once = Once { shares_max: 100, ..started(START) };
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

    /// Claim M16.
    ///
    /// Over steps of the clock both ways, in one process and over restarts: 40 shares, each offered after every step.
    #[test]
    fn no_share_opens_twice_over_any_schedule_of_steps_and_restarts() {
        const STEPS: [u64; 7] = [1, 20, 61, 300, 3_600, 86_400, 31_536_000];
        let mut opened_in_all = 0;
        for seed in 0..200 {
            let (mut rng, vault) = (StdRng::seed_from_u64(seed), MemoryVault::default());
            let (mut now, mut once) = (START, Once::new(START, 0));
            let mut shares = [(0, 0); 40];
            for round in 0..60 {
                let step = STEPS[rng.random_range(0..STEPS.len())];
                now = match rng.random_range(0..4) {
                    0 => now + step,
                    1 => now.saturating_sub(step),
                    _ => now + rng.random_range(0..9),
                };
                if rng.random_range(0..4) == 0 {
                    once = Once::new(now, vault.opened_until().unwrap());
                }
                for (number, (issued_at, opened)) in (0..).zip(&mut shares) {
                    if *issued_at == 0 && u64::from(number) <= round * 2 {
                        *issued_at = now + AHEAD_S - rng.random_range(0..30);
                    }
                    if once.is_fresh(*issued_at, now) {
                        once.note(&vault, *issued_at).unwrap();
                        *opened += u32::from(once.first(&TENANT, &share(number), *issued_at, now));
                        assert!(*opened <= 1, "seed {seed}, round {round}, share {number}");
                    }
                }
            }
            opened_in_all += shares.iter().map(|(_, opened)| opened).sum::<u32>();
        }
        assert!(opened_in_all > 1_000, "{opened_in_all}");
    }

    #[test]
    fn a_share_that_the_vault_did_not_note_does_not_open() {
        let (once, vault) = (Once::new(START, 0), MemoryVault::default());
        assert!(!once.first(&TENANT, &share(1), START, START));
        once.note(&vault, START).unwrap();
        assert!(once.first(&TENANT, &share(1), START, START));
        once.note(&vault, START + NOTED_AHEAD_S).unwrap();
        assert_eq!(vault.opened_until(), Ok(START + NOTED_AHEAD_S), "one write for some seconds");
    }
}
