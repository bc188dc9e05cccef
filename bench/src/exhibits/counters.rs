//! What counts: totals behind a lock, and the same totals as atomics side by side.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crossbeam_utils::CachePadded;
use trefoil_cache::{Event, Stats};

use super::locks::{Lock as _, Locks};
use super::{Count, Counts, Part};

/// What a locked counter writes: all operations, and the event. In this order, so that total and hits lie in the lock's
/// own line; left to itself, the compiler puts the total last, on the next line, and each look-up moves one line more.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct InternalStats {
    operations: u64,
    events: [u64; Event::COUNT],
}

/// `Arc<RwLock<InternalStats>>`, written on every operation: the first of the three locks. The increment takes a
/// nanosecond; taking the lock over from another core, or being woken from the queue before it, takes hundreds.
pub(crate) struct LockedCounters<L: Locks>(Arc<CachePadded<L::Of<InternalStats>>>);

impl<L: Locks> Default for LockedCounters<L> {
    fn default() -> Self {
        LockedCounters(Arc::default())
    }
}

impl<L: Locks> Part for LockedCounters<L> {
    type Worker = Self;

    fn worker(&self) -> Self {
        LockedCounters(Arc::clone(&self.0))
    }
}

impl<L: Locks> Counts for LockedCounters<L> {
    fn stats(&self) -> Stats {
        self.0.read(|stats| Stats::from_counts(&stats.events))
    }
}

impl<L: Locks> Count for LockedCounters<L> {
    #[inline(always)]
    fn count(&mut self, event: Event, n: u64) {
        self.0.write(|stats| {
            stats.operations += n;
            stats.events[event as usize] += n;
        });
    }
}

/// The same fields, each atomic, in the same order.
#[derive(Debug, Default)]
#[repr(C)]
struct AtomicStats {
    operations: AtomicU64,
    events: [AtomicU64; Event::COUNT],
}

/// Shared atomic counters: the published fix. Nobody waits in a queue any more, but every operation of every worker
/// still writes the same cache line, which therefore travels from core to core once or twice per operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedCounters(Arc<CachePadded<AtomicStats>>);

impl Part for SharedCounters {
    type Worker = Self;

    fn worker(&self) -> Self {
        self.clone()
    }
}

impl Counts for SharedCounters {
    fn stats(&self) -> Stats {
        Stats::from_counts(&std::array::from_fn(|event| self.0.events[event].load(Relaxed)))
    }
}

impl Count for SharedCounters {
    #[inline(always)]
    fn count(&mut self, event: Event, n: u64) {
        self.0.operations.fetch_add(n, Relaxed);
        self.0.events[event as usize].fetch_add(n, Relaxed);
    }
}
