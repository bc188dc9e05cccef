//! Counters: one total for each kind of event, behind a lock, and as an atomic.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crossbeam_utils::CachePadded;
use trefoil_cache::{Event, Stats};

use super::locks::Locked;
use super::{Count, Counts, Part, add};

/// The write of a locked counter: the event's total and nothing else.
type InternalStats = [u64; Event::COUNT];

/// `Arc<RwLock<InternalStats>>`, written on every operation: the first of the three locks. The increment takes a
/// nanosecond; taking the lock over from another core, or being woken from the queue before it, takes hundreds.
#[derive(Default)]
pub struct LockedCounters(Arc<CachePadded<Locked<InternalStats>>>);

impl Part for LockedCounters {
    type Worker = Self;

    fn worker(&self) -> Self {
        LockedCounters(Arc::clone(&self.0))
    }
}

impl Counts for LockedCounters {
    fn stats(&self) -> Stats {
        self.0.read(Stats::from_counts)
    }
}

impl Count for LockedCounters {
    #[inline(always)]
    fn count(&mut self, event: Event, n: u64) {
        self.0.write(|stats| stats[event as usize] += n);
    }
}

/// Shared atomic counters: the published fix. Workers no longer wait in a queue, but every operation of every worker still
/// adds to the same cache line, which therefore travels from core to core.
#[derive(Clone, Debug, Default)]
pub struct SharedCounters(Arc<CachePadded<[AtomicU64; Event::COUNT]>>);

impl Part for SharedCounters {
    type Worker = Self;

    fn worker(&self) -> Self {
        self.clone()
    }
}

impl Counts for SharedCounters {
    fn stats(&self) -> Stats {
        use std::sync::atomic::Ordering::Relaxed;
        Stats::from_counts(&std::array::from_fn(|event| self.0[event].load(Relaxed)))
    }
}

impl Count for SharedCounters {
    #[inline(always)]
    fn count(&mut self, event: Event, n: u64) {
        add(&self.0[event as usize], n);
    }
}
