//! What times: a histogram of atomic buckets, behind a lock that it never needed, and without it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use crossbeam_utils::CachePadded;

use super::locks::{Lock as _, Locks};
use super::{Part, Time, Times};

/// One bucket per power of two, in nanoseconds.
const BUCKETS: usize = 32;

/// Atomic buckets with count and sum. Recording needs no exclusive access. Count and sum lie in one line and the buckets in
/// others, wherever the compiler would have put them.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct SimpleHistogram {
    count: AtomicU64,
    sum_ns: AtomicU64,
    buckets: CachePadded<[AtomicU64; BUCKETS]>,
}

impl SimpleHistogram {
    #[inline(always)]
    fn record(&self, ns: u64) {
        let bucket = (ns | 1).ilog2() as usize;
        self.count.fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(ns, Relaxed);
        self.buckets[bucket.min(BUCKETS - 1)].fetch_add(1, Relaxed);
    }

    #[cfg(test)]
    fn samples(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.load(Relaxed)).sum()
    }
}

/// `RwLock<SimpleHistogram>`, locked for writing on every look-up although its buckets are atomic: the second of the
/// three locks.
pub(crate) struct LockedHistogram<L: Locks>(Arc<CachePadded<L::Of<SimpleHistogram>>>);

impl<L: Locks> Default for LockedHistogram<L> {
    fn default() -> Self {
        LockedHistogram(Arc::default())
    }
}

impl<L: Locks> Part for LockedHistogram<L> {
    type Worker = Self;

    fn worker(&self) -> Self {
        LockedHistogram(Arc::clone(&self.0))
    }
}

impl<L: Locks> Times for LockedHistogram<L> {
    #[cfg(test)]
    fn samples(&self) -> u64 {
        self.0.read(SimpleHistogram::samples)
    }
}

impl<L: Locks> Time for LockedHistogram<L> {
    #[inline(always)]
    fn begin(&mut self) -> Option<Instant> {
        Some(Instant::now())
    }

    #[inline(always)]
    fn end(&mut self, began: Instant) {
        let ns = began.elapsed().as_nanos() as u64;
        self.0.write(|histogram| histogram.record(ns));
    }
}

/// The histogram without the lock: the published fix. Every look-up is still timed, with two readings of the clock,
/// and three atomics that all workers share are written: count and sum in one line, the bucket in another.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedHistogram(Arc<CachePadded<SimpleHistogram>>);

impl Part for SharedHistogram {
    type Worker = Self;

    fn worker(&self) -> Self {
        self.clone()
    }
}

impl Times for SharedHistogram {
    #[cfg(test)]
    fn samples(&self) -> u64 {
        self.0.samples()
    }
}

impl Time for SharedHistogram {
    #[inline(always)]
    fn begin(&mut self) -> Option<Instant> {
        Some(Instant::now())
    }

    #[inline(always)]
    fn end(&mut self, began: Instant) {
        self.0.record(began.elapsed().as_nanos() as u64);
    }
}
