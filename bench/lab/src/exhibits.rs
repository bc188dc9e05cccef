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
//!
//! An observer consists of four parts ([`Exhibit`]): what counts events, what times operations, what notices keys, each chosen on its own,
//! and what counts the operations of the last seconds.

#[cfg(test)]
pub(crate) mod census;
mod counters;
mod latency;
mod locks;
mod patterns;
mod window;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use trefoil_cache::{Event, Key, Latency, Observer, Operation, Recorder, Sampled, Stats};

pub use counters::{LockedCounters, SharedCounters};
pub use latency::{LockedHistogram, SharedHistogram};
pub use patterns::{GatedLog, LockedLog};
pub use window::TriedWindow;

/// Adds to a counter that all workers share; what it was.
#[inline(always)]
fn add(counter: &AtomicU64, n: u64) -> u64 {
    #[cfg(test)]
    census::added();
    counter.fetch_add(n, Relaxed)
}

/// The cache's side of one part.
pub trait Part: Default + Send + Sync + 'static {
    /// The session's side.
    type Worker: Send + 'static;

    /// The side of a new session.
    fn worker(&self) -> Self::Worker;
}

/// Counts what happens.
pub trait Counts: Part<Worker: Count> {
    /// Totals over all sessions.
    fn stats(&self) -> Stats;
}

/// The session's side of [`Counts`].
pub trait Count {
    /// Counts `event` `n` times.
    fn count(&mut self, event: Event, n: u64);
}

/// Times operations.
pub trait Times: Part<Worker: Time> {
    /// Operations of this kind that were timed so far.
    #[cfg(test)]
    fn samples(&self, operation: Operation) -> u64;
}

/// The session's side of [`Times`].
pub trait Time {
    /// Records how long one took.
    fn record(&mut self, operation: Operation, ns: u64);
}

/// Notices which keys are looked up.
pub trait Notices: Part<Worker: Notice> {
    /// Keys held for inspection.
    #[cfg(test)]
    fn held(&self) -> usize;
}

/// The session's side of [`Notices`].
pub trait Notice {
    /// Called before each look-up.
    fn notice(&mut self, key: &Key);
}

/// An observer of four parts.
#[derive(Default)]
pub struct Exhibit<C, T, N> {
    /// Counts events.
    pub counters: C,
    /// Adds durations to a histogram.
    pub timer: T,
    /// Watches the rate of the last seconds.
    pub window: TriedWindow,
    /// Notes keys.
    pub patterns: N,
}

/// The session's side of an [`Exhibit`].
pub struct Recording<C, T, N> {
    counter: C,
    timer: T,
    window: TriedWindow,
    notice: N,
}

impl<C: Counts, T: Times, N: Notices> Observer for Exhibit<C, T, N> {
    type Worker = Recording<C::Worker, T::Worker, N::Worker>;

    fn worker(&self) -> Self::Worker {
        Recording {
            counter: self.counters.worker(),
            timer: self.timer.worker(),
            window: self.window.worker(),
            notice: self.patterns.worker(),
        }
    }

    fn stats(&self) -> Stats {
        self.counters.stats()
    }

    /// Empty: the histograms of these parts have another shape.
    fn latency(&self) -> Latency {
        Latency::default()
    }
}

impl<C, T: Time, N> Recording<C, T, N> {
    #[inline(always)]
    fn timed(&mut self, operation: Operation, began: Instant) {
        let ended = Instant::now();
        self.timer.record(operation, ended.saturating_duration_since(began).as_nanos() as u64);
        self.window.passed(ended);
    }
}

/// Every operation is observed, none sampled: a get (found or not), a put, the admission within it, and the whole of a
/// miss. Each is counted once; the whole of a miss was counted when the look-up found nothing.
impl<C, T, N> Recorder for Recording<C, T, N>
where
    C: Count + Send + 'static,
    T: Time + Send + 'static,
    N: Notice + Send + 'static,
{
    #[inline(always)]
    fn record(&mut self, event: Event) {
        self.counter.count(event, 1);
    }

    #[inline(always)]
    fn record_many(&mut self, event: Event, n: u64) {
        if n > 0 {
            self.counter.count(event, n);
        }
    }

    #[inline(always)]
    fn begin_get(&mut self, key: &Key) -> Sampled {
        self.notice.notice(key);
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
        self.counter.count(Event::AdmissionWon, 1);
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

    /// Four sessions in threads of their own, 1,024 look-ups each, half of them hits.
    fn look_up<O: Observer>() -> O {
        let observer = O::default();
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
        observer
    }

    fn counts_all(stats: Stats) {
        assert_eq!((stats.hits, stats.misses, stats.expirations), (2_048, 2_048, 12));
    }

    #[test]
    fn locked_parts_record_everything() {
        let observer = look_up::<Exhibit<LockedCounters, LockedHistogram, LockedLog>>();
        counts_all(observer.stats());
        assert_eq!((observer.timer.samples(Operation::Get), observer.patterns.held()), (4_096, 4_096));
        // A window that another worker holds is skipped.
        let watched = observer.window.operations();
        assert!(0 < watched && watched <= 4_096, "{watched}");
        assert_eq!(observer.latency(), Latency::default());
    }

    #[test]
    fn shared_parts_record_everything_but_the_gated_log_one_key_in_64() {
        let observer = look_up::<Exhibit<SharedCounters, SharedHistogram, GatedLog>>();
        counts_all(observer.stats());
        assert_eq!((observer.timer.samples(Operation::Get), observer.patterns.held()), (4_096, 64));
    }

    #[test]
    fn each_operation_has_a_histogram_of_its_own() {
        let observer = Exhibit::<SharedCounters, LockedHistogram, GatedLog>::default();
        let mut session = observer.worker();
        for (times, operation) in Operation::ALL.into_iter().enumerate() {
            (0..=times).for_each(|_| session.end(operation, Instant::now()));
        }
        assert_eq!(Operation::ALL.map(|operation| observer.timer.samples(operation)), [1, 2, 3, 4]);
    }
}
