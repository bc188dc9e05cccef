//! What notices keys: a log behind a lock, the same behind a shared gate, and a log per worker.

use std::collections::VecDeque;
#[expect(clippy::disallowed_types, reason = "the lock is the exhibit: what it costs is what is shown")]
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};

use trefoil_cache::Key;

use super::{Notice, Notices, Part};

/// Keys that a log holds.
const LOG: usize = 10_000;
/// One key in so many is noticed where keys are sampled. A power of two.
const PERIOD: u64 = 64;

#[inline(always)]
fn first_word(key: &Key) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *key;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// `RwLock<VecDeque>`, written on every look-up: the third of the three locks. Apart from the lock, the queue's header
/// and the slot written are lines that another core wrote last.
#[derive(Clone, Debug, Default)]
#[expect(clippy::disallowed_types, reason = "the lock is the exhibit")]
pub(crate) struct LockedLog(Arc<RwLock<VecDeque<u64>>>);

impl Part for LockedLog {
    type Worker = Self;

    fn worker(&self) -> Self {
        self.clone()
    }
}

impl Notices for LockedLog {
    #[cfg(test)]
    fn held(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Notice for LockedLog {
    #[inline(always)]
    fn notice(&mut self, key: &Key) {
        let mut log = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if log.len() == LOG {
            log.pop_front();
        }
        log.push_back(first_word(key));
    }
}

/// The log, reached once in 64 look-ups: the published fix. The lock is rare now; the counter that decides is an atomic
/// that every look-up of every worker increments.
#[derive(Clone, Debug, Default)]
pub(crate) struct GatedLog {
    seen: Arc<AtomicU64>,
    log: LockedLog,
}

impl Part for GatedLog {
    type Worker = Self;

    fn worker(&self) -> Self {
        self.clone()
    }
}

impl Notices for GatedLog {
    #[cfg(test)]
    fn held(&self) -> usize {
        self.log.held()
    }
}

impl Notice for GatedLog {
    #[inline(always)]
    fn notice(&mut self, key: &Key) {
        if self.seen.fetch_add(1, Relaxed) & (PERIOD - 1) == 0 {
            self.log.notice(key);
        }
    }
}

/// One key in 64 of each worker, in a ring that only this worker writes. Not an exhibit but the remedy: what the other logs show is had without a lock and without a shared line.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkerLog {
    /// Kept by the observer and by the sessions; grows when a session opens, never on a look-up.
    rings: Arc<Rings>,
}

#[derive(Debug, Default)]
#[expect(clippy::disallowed_types, reason = "taken when a session opens and when somebody reads")]
struct Rings(RwLock<Vec<Arc<Ring>>>);

/// Keys a worker holds; a power of two.
const RING: usize = 64;

/// On lines of its own: see the alignment of the counters in the cache.
#[derive(Debug)]
#[repr(align(128))]
struct Ring {
    written: AtomicUsize,
    slots: [AtomicU64; RING],
}

/// The session's side of a [`WorkerLog`].
pub(crate) struct WorkerRing {
    ring: Arc<Ring>,
    tick: u64,
}

impl Part for WorkerLog {
    type Worker = WorkerRing;

    fn worker(&self) -> WorkerRing {
        let slots = std::array::from_fn(|_| AtomicU64::new(0));
        let ring = Arc::new(Ring { written: AtomicUsize::new(0), slots });
        self.rings.0.write().unwrap_or_else(PoisonError::into_inner).push(ring.clone());
        WorkerRing { ring, tick: 0 }
    }
}

impl Notices for WorkerLog {
    #[cfg(test)]
    fn held(&self) -> usize {
        let rings = self.rings.0.read().unwrap_or_else(PoisonError::into_inner);
        rings.iter().map(|ring| ring.written.load(Relaxed).min(RING)).sum()
    }
}

impl Notice for WorkerRing {
    #[inline(always)]
    fn notice(&mut self, key: &Key) {
        self.tick = self.tick.wrapping_add(1);
        if self.tick & (PERIOD - 1) == 0 {
            // One writer: a load and a store are an increment.
            let at = self.ring.written.load(Relaxed);
            self.ring.slots[at % RING].store(first_word(key), Relaxed);
            self.ring.written.store(at + 1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_forget_the_oldest_keys() {
        let mut locked = LockedLog::default();
        (0..=LOG).for_each(|n| locked.notice(&[n as u8; 32]));
        assert_eq!(locked.held(), LOG);
        let log = WorkerLog::default();
        let mut worker = log.worker();
        (0..64 * (RING + 1)).for_each(|_| worker.notice(&[1; 32]));
        assert_eq!(log.held(), RING);
        assert!(worker.ring.slots.iter().all(|slot| slot.load(Relaxed) == u64::from_le_bytes([1; 8])));
    }

    #[test]
    fn a_gated_log_notices_the_first_of_64() {
        let mut gated = GatedLog::default();
        (0..129).for_each(|_| gated.notice(&[1; 32]));
        assert_eq!(gated.held(), 3);
    }
}
