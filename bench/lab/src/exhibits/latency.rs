//! Timers: a histogram of atomic buckets for each operation, behind locks that it never needed, and without locks.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crossbeam_utils::CachePadded;
use trefoil_cache::Operation;

use super::locks::Locked;
use super::{Part, Time, Times, add};

/// One bucket per power of two, in nanoseconds.
const BUCKETS: usize = 32;
const OPERATIONS: usize = Operation::ALL.len();

/// Atomic buckets. Recording adds to one of them, needs no exclusive access and keeps no count and no sum.
#[derive(Debug, Default)]
pub(super) struct SimpleHistogram {
    buckets: [AtomicU64; BUCKETS],
}

impl SimpleHistogram {
    #[inline(always)]
    fn record(&self, ns: u64) {
        let bucket = (ns | 1).ilog2() as usize;
        add(&self.buckets[bucket.min(BUCKETS - 1)], 1);
    }

    #[cfg(test)]
    fn samples(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.load(std::sync::atomic::Ordering::Relaxed)).sum()
    }
}

/// A lock around the histogram of each operation.
type EachLocked = [CachePadded<Locked<SimpleHistogram>>; OPERATIONS];

/// `RwLock<SimpleHistogram>`, locked for writing on every operation although its buckets are atomic: the second of the
/// three locks.
#[derive(Default)]
pub struct LockedHistogram(Arc<EachLocked>);

impl Part for LockedHistogram {
    type Worker = Self;

    fn worker(&self) -> Self {
        LockedHistogram(Arc::clone(&self.0))
    }
}

impl Times for LockedHistogram {
    #[cfg(test)]
    fn samples(&self, operation: Operation) -> u64 {
        self.0[operation as usize].read(SimpleHistogram::samples)
    }
}

impl Time for LockedHistogram {
    #[inline(always)]
    fn record(&mut self, operation: Operation, ns: u64) {
        self.0[operation as usize].write(|histogram| histogram.record(ns));
    }
}

/// The histograms without the locks: the published fix. Every operation is still timed, with two readings of the clock,
/// and adds to a bucket that all workers share.
#[derive(Clone, Debug, Default)]
pub struct SharedHistogram(Arc<[CachePadded<SimpleHistogram>; OPERATIONS]>);

impl Part for SharedHistogram {
    type Worker = Self;

    fn worker(&self) -> Self {
        self.clone()
    }
}

impl Times for SharedHistogram {
    #[cfg(test)]
    fn samples(&self, operation: Operation) -> u64 {
        self.0[operation as usize].samples()
    }
}

impl Time for SharedHistogram {
    #[inline(always)]
    fn record(&mut self, operation: Operation, ns: u64) {
        self.0[operation as usize].record(ns);
    }
}
