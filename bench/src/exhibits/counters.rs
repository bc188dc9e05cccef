//! What counts: totals behind a lock, and the same totals as atomics side by side.

#[expect(clippy::disallowed_types, reason = "the lock is the exhibit: what it costs is what is shown")]
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};

use crossbeam_utils::CachePadded;
use trefoil_cache::{Event, Stats};

use super::{Count, Counts, Part};

/// What a locked counter writes: all operations, and the event.
#[derive(Debug, Default)]
struct InternalStats {
    operations: u64,
    events: [u64; Event::COUNT],
}

/// `Arc<RwLock<InternalStats>>`, written on every operation: the first of the three locks. The increment takes a
/// nanosecond; taking the lock over from another core, or being woken from the queue before it, takes hundreds.
#[derive(Clone, Debug, Default)]
#[expect(clippy::disallowed_types, reason = "the lock is the exhibit")]
pub(crate) struct LockedCounters(Arc<CachePadded<RwLock<InternalStats>>>);

impl Part for LockedCounters {
    type Worker = Self;

    fn worker(&self) -> Self {
        self.clone()
    }
}

impl Counts for LockedCounters {
    fn stats(&self) -> Stats {
        Stats::from_counts(&self.0.read().unwrap_or_else(PoisonError::into_inner).events)
    }
}

impl Count for LockedCounters {
    #[inline(always)]
    fn count(&mut self, event: Event, n: u64) {
        let mut stats = self.0.write().unwrap_or_else(PoisonError::into_inner);
        stats.operations += n;
        stats.events[event as usize] += n;
    }
}

/// The same fields, each atomic.
#[derive(Debug, Default)]
struct AtomicStats {
    operations: AtomicU64,
    events: [AtomicU64; Event::COUNT],
}

/// Shared atomic counters: the published fix. Nobody waits in a queue any more, but every operation of every worker
/// still writes the same one or two cache lines, which therefore travel from core to core once per operation.
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
