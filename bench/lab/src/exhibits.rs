//! Deliberately wrong observers: locks and shared counters in observability code, as a laboratory.
//!
//! **Nothing here is for use.** The product observes with [`trefoil_cache::PerWorker`]; no crate of the product can
//! name these types, because nothing depends on this one. They rebuild a published account: a cache whose
//! statistics, latency histograms and access-pattern detector each sat behind a lock of their own served 183,828
//! authentications per second on 96 workers of a 192-core Graviton4, where the raw map served 1,708,400; with
//! atomics instead of two of the locks and one access in 64 detected it served 1,667,875. Of its code we know, partly second
//! hand, `parking_lot::RwLock`, one `fetch_add` for each operation once the locks are gone, and a
//! `throughput_window.try_write()` that stays after the second fix. `bench/METHODOLOGY.md` says what was taken from its pages and
//! what was not known.
//!
//! Shared data starts on a cache line of its own, so that the travelling lines follow from the types and not from the
//! allocator; the published types did not ensure this.

#[cfg(test)]
pub(crate) mod census;
mod locks;
mod window;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use crossbeam_utils::CachePadded;
use trefoil_cache::{Event, Key, Observer, Operation, Recorder, Sampled, Stats};

use locks::Locked;
use window::Window;

/// Every part of the account's observer, behind its lock and without it. A state of the account uses one of either; no two parts share
/// a line.
#[derive(Default)]
pub struct Parts {
    /// The write of a locked counter: the event's total and nothing else.
    locked_counters: CachePadded<Locked<[u64; Event::COUNT]>>,
    counters: CachePadded<[AtomicU64; Event::COUNT]>,
    locked_histograms: [CachePadded<Locked<Histogram>>; Operation::ALL.len()],
    histograms: [CachePadded<Histogram>; Operation::ALL.len()],
    log: CachePadded<Locked<VecDeque<u64>>>,
    /// Look-ups so far: every 64th reaches the log.
    seen: CachePadded<AtomicU64>,
    window: CachePadded<Locked<Window>>,
}

/// Keys that the log holds.
const LOG: usize = 10_000;
/// One key in this many is logged if keys are sampled. A power of two.
const PERIOD: u64 = 64;

/// Adds to a counter that all workers share; what it was.
#[inline(always)]
fn add(counter: &AtomicU64, n: u64) -> u64 {
    #[cfg(test)]
    census::added();
    counter.fetch_add(n, Relaxed)
}

/// Atomic buckets, one per power of two of nanoseconds. Recording adds to one of them, needs no exclusive access and keeps no count and no
/// sum.
#[derive(Debug, Default)]
struct Histogram([AtomicU64; 32]);

impl Histogram {
    #[inline(always)]
    fn record(&self, ns: u64) {
        let bucket = (ns | 1).ilog2() as usize;
        add(&self.0[bucket.min(self.0.len() - 1)], 1);
    }
}

impl Parts {
    /// `RwLock<InternalStats>`, written on every operation: the first of the three locks. The increment takes a nanosecond; taking the lock
    /// over from another core, or being woken from the queue before it, takes hundreds.
    #[inline(always)]
    pub fn count_locked(&self, event: Event, n: u64) {
        self.locked_counters.write(|stats| stats[event as usize] += n);
    }

    /// Shared atomic counters: the published fix. Workers no longer wait in a queue, but every operation of every worker still
    /// adds to the same cache line, which therefore travels from core to core.
    #[inline(always)]
    pub fn count(&self, event: Event, n: u64) {
        add(&self.counters[event as usize], n);
    }

    /// `RwLock<SimpleHistogram>`, locked for writing on every operation although its buckets are atomic: the second of the three locks.
    #[inline(always)]
    pub fn time_locked(&self, operation: Operation, ns: u64) {
        self.locked_histograms[operation as usize].write(|histogram| histogram.record(ns));
    }

    /// The histograms without the locks: the published fix. Every operation is still timed, with two readings of the clock,
    /// and adds to a bucket that all workers share.
    #[inline(always)]
    pub fn time(&self, operation: Operation, ns: u64) {
        self.histograms[operation as usize].record(ns);
    }

    /// `RwLock<VecDeque>`, written on every look-up: the third of the three locks. Apart from the lock, the queue's header
    /// and the slot written are lines that another core wrote last.
    #[inline(always)]
    pub fn log(&self, key: &Key) {
        let [a, b, c, d, e, f, g, h, ..] = *key;
        self.log.write(|log| {
            if log.len() == LOG {
                log.pop_front();
            }
            log.push_back(u64::from_le_bytes([a, b, c, d, e, f, g, h]));
        });
    }

    /// The log, reached once in 64 look-ups: the published fix. The lock is rare now; the counter that decides is an atomic
    /// that every look-up of every worker increments.
    #[inline(always)]
    pub fn log_gated(&self, key: &Key) {
        if add(&self.seen, 1) & (PERIOD - 1) == 0 {
            self.log(key);
        }
    }

    /// `throughput_window.try_write()` after every timed operation. It never waits, and so was not among the contended locks;
    /// its word is still a line that every worker writes. The published code keeps it after the second fix.
    #[inline(always)]
    pub fn pass(&self, at: Instant) {
        self.window.try_write(|window| window.count(at));
    }

    /// Totals over all workers.
    pub fn stats(&self) -> Stats {
        let locked = self.locked_counters.read(|stats| *stats);
        Stats::from_counts(&std::array::from_fn(|event| locked[event] + self.counters[event].load(Relaxed)))
    }
}

/// The account's observer after so many of its fixes: 0 has three locks, 1 atomic counters, 2 histograms without locks, 3 a gated log.
#[derive(Default)]
pub struct Published<const FIXES: usize>(Arc<Parts>);

/// The session's side of it.
pub struct Recording<const FIXES: usize>(Arc<Parts>);

impl<const FIXES: usize> Observer for Published<FIXES> {
    type Worker = Recording<FIXES>;

    fn worker(&self) -> Self::Worker {
        Recording(Arc::clone(&self.0))
    }

    fn stats(&self) -> Stats {
        self.0.stats()
    }
}

impl<const FIXES: usize> Recording<FIXES> {
    #[inline(always)]
    fn count(&self, event: Event, n: u64) {
        if FIXES < 1 { self.0.count_locked(event, n) } else { self.0.count(event, n) }
    }

    #[inline(always)]
    fn timed(&self, operation: Operation, began: Instant) {
        let ended = Instant::now();
        let ns = ended.saturating_duration_since(began).as_nanos() as u64;
        if FIXES < 2 {
            self.0.time_locked(operation, ns)
        } else {
            self.0.time(operation, ns)
        }
        self.0.pass(ended);
    }
}

/// Every operation is observed, none sampled: a get (found or not), a put, the admission within it, and the whole of a
/// miss. Each is counted once; the whole of a miss was counted when the look-up found nothing.
impl<const FIXES: usize> Recorder for Recording<FIXES> {
    #[inline(always)]
    fn record(&mut self, event: Event) {
        self.count(event, 1);
    }

    #[inline(always)]
    fn record_many(&mut self, event: Event, n: u64) {
        if n > 0 {
            self.count(event, n);
        }
    }

    #[inline(always)]
    fn begin_get(&mut self, key: &Key) -> Sampled {
        if FIXES < 3 {
            self.0.log(key)
        } else {
            self.0.log_gated(key)
        }
        Sampled::Timed(Instant::now())
    }

    #[inline(always)]
    fn end_get(&mut self, began: Instant) {
        self.timed(Operation::Get, began);
    }

    #[inline(always)]
    fn begin_put(&mut self) -> Option<Instant> {
        Some(Instant::now())
    }

    #[inline(always)]
    fn begin_admission(&mut self) -> Option<Instant> {
        self.count(Event::AdmissionWon, 1);
        Some(Instant::now())
    }

    #[inline(always)]
    fn end(&mut self, operation: Operation, began: Instant) {
        self.timed(operation, began);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Parts {
        /// Samples of a histogram, with and without its lock.
        fn samples(&self, operation: Operation) -> [u64; 2] {
            let sum = |histogram: &Histogram| histogram.0.iter().map(|bucket| bucket.load(Relaxed)).sum();
            [self.locked_histograms[operation as usize].read(sum), sum(&self.histograms[operation as usize])]
        }

        fn held(&self) -> usize {
            self.log.read(VecDeque::len)
        }
    }

    /// Four sessions in threads of their own, 1,024 look-ups each, half of them hits.
    fn look_up<const FIXES: usize>() -> Arc<Parts> {
        let observer = Published::<FIXES>::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let mut session = observer.worker();
                scope.spawn(move || {
                    for n in 0..1_024u64 {
                        let began = session.begin_get(&crate::peers::key(n)).began();
                        began.into_iter().for_each(|began| session.end_get(began));
                        session.record(if n % 2 == 0 { Event::Hit } else { Event::Absent });
                    }
                    session.record_many(Event::Expiration, 0);
                    session.record_many(Event::Expiration, 3);
                });
            }
        });
        let stats = observer.stats();
        assert_eq!((stats.hits, stats.misses, stats.expirations), (2_048, 2_048, 12));
        observer.0
    }

    #[test]
    fn locked_parts_record_everything() {
        let parts = look_up::<0>();
        assert_eq!((parts.samples(Operation::Get), parts.held()), ([4_096, 0], 4_096));
        // A window that another worker holds is skipped.
        let watched = parts.window.read(Window::operations);
        assert!(0 < watched && watched <= 4_096, "{watched}");
    }

    #[test]
    fn shared_parts_record_everything_but_the_gated_log_one_key_in_64() {
        let parts = look_up::<3>();
        assert_eq!((parts.samples(Operation::Get), parts.held()), ([0, 4_096], 64));
    }

    #[test]
    fn each_operation_has_a_histogram_of_its_own() {
        let observer = Published::<1>::default();
        let mut session = observer.worker();
        for (times, operation) in Operation::ALL.into_iter().enumerate() {
            (0..=times).for_each(|_| session.end(operation, Instant::now()));
        }
        assert_eq!(Operation::ALL.map(|operation| observer.0.samples(operation)[0]), [1, 2, 3, 4]);
    }

    #[test]
    fn the_log_forgets_the_oldest_keys() {
        let parts = Parts::default();
        (0..=LOG).for_each(|n| parts.log(&[n as u8; 32]));
        assert_eq!(parts.held(), LOG);
    }

    #[test]
    fn a_window_that_is_taken_is_skipped() {
        let parts = Parts::default();
        let now = Instant::now();
        parts.pass(now);
        parts.window.write(|window| {
            parts.pass(now);
            assert_eq!(window.operations(), 1);
        });
        parts.pass(now);
        assert_eq!(parts.window.read(Window::operations), 2);
    }
}
