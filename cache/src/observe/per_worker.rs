//! Striped observation with a single writer per stripe.
//!
//! Each session writes its own [`Block`], which shares no cache line with another. A count is a
//! relaxed load and a relaxed store of the same word: exact because nobody else writes it, and no
//! more expensive than ordinary memory because no other core holds the line for writing. A reader
//! sums the blocks; each total it sees was true at some moment during the read and never decreases.
//!
//! The registry of blocks is the only lock. It is taken when a session opens or closes and when
//! somebody reads the totals, never by a cache operation. A closing session adds its counts to the
//! retired totals and leaves, so memory is bounded by the number of sessions that exist at once.

use super::latency::{BUCKETS, Latency, bucket};
use super::{Observer, Recorder};
use crate::{Event, Key, Stats};
#[expect(clippy::disallowed_types, reason = "guards the registry of blocks, off the operation path")]
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Instant;

/// One look-up in 64 is timed: two clock readings cost more than the look-up they time, and at this
/// rate they add less than 1 ns to the mean. A power of two, so that the test is a mask.
const SAMPLE_PERIOD: u64 = 64;

/// Counts every event and samples look-up latencies, per session. See the module's text.
#[derive(Default)]
pub struct PerWorker {
    registry: Arc<Registry>,
}

#[derive(Default)]
#[expect(clippy::disallowed_types, reason = "off the operation path, see the module's text")]
struct Registry(Mutex<Blocks>);

#[derive(Default)]
struct Blocks {
    live: Vec<Arc<Block>>,
    retired: Totals,
    /// Sessions opened so far; staggers their sampling phases.
    opened: u64,
}

/// One session's counts. 128-byte alignment: adjacent-line prefetch pairs 64-byte lines.
#[repr(align(128))]
struct Block {
    events: [AtomicU64; Event::COUNT],
    latency: [AtomicU64; BUCKETS],
}

#[derive(Clone, Default)]
struct Totals {
    events: [u64; Event::COUNT],
    latency: Latency,
}

/// The recorder of one session.
pub struct Worker {
    block: Arc<Block>,
    registry: Arc<Registry>,
    tick: u64,
}

impl Observer for PerWorker {
    type Worker = Worker;

    fn worker(&self) -> Worker {
        let block = Arc::new(Block {
            events: std::array::from_fn(|_| AtomicU64::new(0)),
            latency: std::array::from_fn(|_| AtomicU64::new(0)),
        });
        let mut blocks = self.registry.lock();
        blocks.live.push(block.clone());
        blocks.opened += 1;
        // An odd stride visits every phase, so workers started together do not sample together.
        let tick = blocks.opened.wrapping_mul(27);
        Worker { block, registry: self.registry.clone(), tick }
    }

    fn stats(&self) -> Stats {
        Stats::from_counts(&self.registry.totals().events)
    }

    fn latency(&self) -> Latency {
        self.registry.totals().latency
    }
}

impl Recorder for Worker {
    #[inline(always)]
    fn record(&mut self, event: Event) {
        self.record_many(event, 1);
    }

    #[inline(always)]
    fn record_many(&mut self, event: Event, n: u64) {
        add(&self.block.events[event as usize], n);
    }

    #[inline(always)]
    fn begin_get(&mut self, _: &Key) -> Option<Instant> {
        self.tick = self.tick.wrapping_add(1);
        if self.tick & (SAMPLE_PERIOD - 1) == 0 { Some(Instant::now()) } else { None }
    }

    #[cold]
    #[inline(never)]
    fn end_get(&mut self, began: Instant) {
        let ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        add(&self.block.latency[bucket(ns)], 1);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut blocks = self.registry.lock();
        blocks.retired.add(&self.block);
        blocks.live.retain(|block| !Arc::ptr_eq(block, &self.block));
    }
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, Blocks> {
        // A panic elsewhere cannot leave the list of blocks half changed in a way that matters.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn totals(&self) -> Totals {
        let blocks = self.lock();
        let mut totals = blocks.retired.clone();
        for block in &blocks.live {
            totals.add(block);
        }
        totals
    }
}

impl Totals {
    fn add(&mut self, block: &Block) {
        for (total, count) in self.events.iter_mut().zip(&block.events) {
            *total += count.load(Relaxed);
        }
        for (i, count) in block.latency.iter().enumerate() {
            self.latency.add(i, count.load(Relaxed));
        }
    }
}

/// Adds to a counter whose only writer is the caller.
#[inline(always)]
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_survive_the_session_that_made_them() {
        let observer = PerWorker::default();
        let mut first = observer.worker();
        let mut second = observer.worker();
        first.record(Event::Hit);
        second.record_many(Event::Expiration, 3);
        drop(first);
        second.record(Event::Hit);
        let stats = observer.stats();
        assert_eq!((stats.hits, stats.expirations), (2, 3));
        drop(second);
        assert_eq!(observer.stats(), stats);
        assert_eq!(observer.registry.lock().live.len(), 0);
    }

    #[test]
    fn one_look_up_in_64_is_sampled_at_staggered_phases() {
        let observer = PerWorker::default();
        let mut phases = Vec::new();
        for _ in 0..4 {
            let mut worker = observer.worker();
            let sampled: Vec<_> = (0..640)
                .filter(|_| worker.begin_get(&[0; 32]).map(|t| worker.end_get(t)).is_some())
                .collect();
            assert_eq!(sampled.len(), 10);
            phases.push(sampled[0]);
        }
        phases.dedup();
        assert_eq!(phases.len(), 4);
        assert_eq!(observer.latency().samples(), 40);
    }
}
