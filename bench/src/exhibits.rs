//! Observers that are wrong on purpose: locks and shared counters in observability code, as a laboratory.
//!
//! **Nothing here is for use.** The product observes with [`trefoil_cache::PerWorker`]; no crate of the product can
//! name these types, because nothing depends on this one. They reconstruct a published account: a cache whose
//! statistics, latency histogram and access-pattern detector each sat behind a lock of their own served 183,828
//! authentications per second on 96 workers of a 192-core Graviton4, where the raw map served 1,708,400; with
//! atomics instead of two of the locks and one access in 64 detected it served 1,667,875. The account gives types and
//! figures, not code; what each part writes is written here as its text says.
//!
//! What workers share begins on a line of its own and its fields have a fixed order, so that which lines travel follows from
//! the types and not from the allocator's mood or the compiler's; the published types had no such luck.
//!
//! An observer consists of three parts, each chosen on its own ([`Exhibit`]): what counts events, what times look-ups,
//! what notices keys.

mod counters;
mod latency;
mod locks;
mod patterns;

use std::time::Instant;

use trefoil_cache::{Event, Key, Latency, Observer, Recorder, Sampled, Stats};

pub(crate) use counters::{LockedCounters, SharedCounters};
pub(crate) use latency::{LockedHistogram, SharedHistogram};
pub use locks::LockFamily;
pub(crate) use locks::{Locks, ParkingLot, Std};
pub(crate) use patterns::{GatedLog, LockedLog};

/// The cache's side of one part.
pub(crate) trait Part: Default + Send + Sync + 'static {
    /// The session's side.
    type Worker: Send + 'static;

    /// The side of a new session.
    fn worker(&self) -> Self::Worker;
}

/// Counts what happens.
pub(crate) trait Counts: Part<Worker: Count> {
    /// Totals over all sessions.
    fn stats(&self) -> Stats;
}

/// The session's side of [`Counts`].
pub(crate) trait Count {
    /// Counts `event` `n` times.
    fn count(&mut self, event: Event, n: u64);
}

/// Times look-ups.
pub(crate) trait Times: Part<Worker: Time> {
    /// Look-ups timed so far.
    #[cfg(test)]
    fn samples(&self) -> u64;
}

/// The session's side of [`Times`].
pub(crate) trait Time {
    /// The time, if the look-up that begins is to be timed.
    fn begin(&mut self) -> Option<Instant>;

    /// Notes the time since `began`.
    fn end(&mut self, began: Instant);
}

/// Notices which keys are looked up.
pub(crate) trait Notices: Part<Worker: Notice> {
    /// Keys held for inspection.
    #[cfg(test)]
    fn held(&self) -> usize;
}

/// The session's side of [`Notices`].
pub(crate) trait Notice {
    /// Called before each look-up.
    fn notice(&mut self, key: &Key);
}

/// An observer of three parts.
#[derive(Default)]
pub(crate) struct Exhibit<C, T, N> {
    pub(crate) counters: C,
    pub(crate) timer: T,
    pub(crate) patterns: N,
}

/// The session's side of an [`Exhibit`].
pub(crate) struct Recording<C, T, N> {
    counter: C,
    timer: T,
    notice: N,
}

impl<C: Counts, T: Times, N: Notices> Observer for Exhibit<C, T, N> {
    type Worker = Recording<C::Worker, T::Worker, N::Worker>;

    fn worker(&self) -> Self::Worker {
        Recording {
            counter: self.counters.worker(),
            timer: self.timer.worker(),
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

impl<C: Count + Send + 'static, T: Time + Send + 'static, N: Notice + Send + 'static> Recorder
    for Recording<C, T, N>
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
        self.timer.begin().map_or(Sampled::No, Sampled::Timed)
    }

    #[inline(always)]
    fn end_get(&mut self, began: Instant) {
        self.timer.end(began);
    }
}

/// The part that is not there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Nothing;

impl Part for Nothing {
    type Worker = Nothing;

    fn worker(&self) -> Nothing {
        Nothing
    }
}

impl Counts for Nothing {
    fn stats(&self) -> Stats {
        Stats::default()
    }
}

impl Count for Nothing {
    #[inline(always)]
    fn count(&mut self, _: Event, _: u64) {}
}

impl Times for Nothing {
    #[cfg(test)]
    fn samples(&self) -> u64 {
        0
    }
}

impl Time for Nothing {
    #[inline(always)]
    fn begin(&mut self) -> Option<Instant> {
        None
    }

    #[inline(always)]
    fn end(&mut self, _: Instant) {}
}

impl Notices for Nothing {
    #[cfg(test)]
    fn held(&self) -> usize {
        0
    }
}

impl Notice for Nothing {
    #[inline(always)]
    fn notice(&mut self, _: &Key) {}
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
        locked_parts_record_everything_under::<Std>();
        locked_parts_record_everything_under::<ParkingLot>();
    }

    fn locked_parts_record_everything_under<L: Locks>() {
        let observer = look_up::<Exhibit<LockedCounters<L>, LockedHistogram<L>, LockedLog<L>>>();
        counts_all(observer.stats());
        assert_eq!((observer.timer.samples(), observer.patterns.held()), (4_096, 4_096));
        assert_eq!(observer.latency(), Latency::default());
    }

    #[test]
    fn shared_parts_record_everything_but_the_gated_log_one_key_in_64() {
        let observer = look_up::<Exhibit<SharedCounters, SharedHistogram, GatedLog<Std>>>();
        counts_all(observer.stats());
        assert_eq!((observer.timer.samples(), observer.patterns.held()), (4_096, 64));
    }

    #[test]
    fn each_part_can_be_had_alone() {
        let observer = look_up::<Exhibit<LockedCounters<Std>, Nothing, Nothing>>();
        counts_all(observer.stats());
        assert_eq!((observer.timer.samples(), observer.patterns.held()), (0, 0));
        let observer = look_up::<Exhibit<Nothing, SharedHistogram, Nothing>>();
        assert_eq!((observer.stats(), observer.timer.samples()), (Stats::default(), 4_096));
        let observer = look_up::<Exhibit<Nothing, Nothing, LockedLog<Std>>>();
        assert_eq!((observer.stats(), observer.patterns.held()), (Stats::default(), 4_096));
    }
}
