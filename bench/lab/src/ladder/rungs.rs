//! The rungs: from three locks to no observation at all, in the order in which the published account climbed them.

use trefoil_cache::{Observer, Off, PerWorker};

use crate::exhibits::Published;

/// One way of observing a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// Counters, histograms and pattern log, each behind a lock, and a window whose lock is tried.
    ThreeLocks,
    /// The counters are shared atomics.
    AtomicStatistics,
    /// The histograms have no lock either.
    LockFreeHistograms,
    /// The log sees one look-up in 64: the published end.
    SampledDetector,
    /// Everything in memory that one worker writes: the shipped observer.
    PerWorker,
    /// No observation.
    Off,
}

/// The ladder.
pub const LADDER: [Rung; 6] = [
    Rung::ThreeLocks,
    Rung::AtomicStatistics,
    Rung::LockFreeHistograms,
    Rung::SampledDetector,
    Rung::PerWorker,
    Rung::Off,
];

/// Work that can be done over any observer.
pub trait OverObserver {
    /// The result type.
    type Output;

    /// Does it over `O`.
    fn over<O: Observer>(self) -> Self::Output;
}

impl Rung {
    /// Does `work` over the observer of this rung.
    pub fn over<W: OverObserver>(self, work: W) -> W::Output {
        match self {
            Rung::ThreeLocks => work.over::<Published<0>>(),
            Rung::AtomicStatistics => work.over::<Published<1>>(),
            Rung::LockFreeHistograms => work.over::<Published<2>>(),
            Rung::SampledDetector => work.over::<Published<3>>(),
            Rung::PerWorker => work.over::<PerWorker>(),
            Rung::Off => work.over::<Off>(),
        }
    }

    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Rung::ThreeLocks => "three_locks",
            Rung::AtomicStatistics => "atomic_statistics",
            Rung::LockFreeHistograms => "lock_free_histograms",
            Rung::SampledDetector => "sampled_detector",
            Rung::PerWorker => "per_worker",
            Rung::Off => "off",
        }
    }

    /// What this rung changes against the one before it.
    pub fn change(self) -> &'static str {
        match self {
            Rung::ThreeLocks => {
                "RwLock<InternalStats> written on every operation, RwLock<SimpleHistogram> around buckets that are atomic anyway, RwLock<VecDeque> of keys written on every get; throughput_window.try_write() on every operation"
            }
            Rung::AtomicStatistics => {
                "InternalStats becomes shared atomic counters, one fetch_add for each operation"
            }
            Rung::LockFreeHistograms => {
                "the locks around the histograms go, one fetch_add for each operation; throughput_window.try_write() stays"
            }
            Rung::SampledDetector => {
                "the key log sees one get in 64, decided by one shared atomic counter: the published fix ends here"
            }
            Rung::PerWorker => {
                "counters, histograms and pattern detector in memory that one worker writes, on lines of its own; one get in 64 is shown to the detector and one in 512 timed, by the worker's own count"
            }
            Rung::Off => "no observation: the map behind the cache's interface, with the check of expiry",
        }
    }

    /// Whether it is one of the published states, which per-worker observation is to beat.
    pub fn is_historical(self) -> bool {
        LADDER[..4].contains(&self)
    }

    /// Whether its observer counts events, so that its totals can be compared with what was done.
    pub fn counts(self) -> bool {
        LADDER[..5].contains(&self)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use trefoil_cache::{Cache as _, Event, Operation, Recorder as _, Session as _};

    use super::*;
    use crate::exhibits::census::{self, Census};
    use crate::peers::{Payload, key};

    struct CountsOne;

    impl OverObserver for CountsOne {
        type Output = bool;

        fn over<O: Observer>(self) -> bool {
            let observer = O::default();
            observer.worker().record(Event::Hit);
            observer.stats().hits == 1
        }
    }

    #[test]
    fn rungs_count_exactly_when_they_say_so() {
        for rung in LADDER {
            assert_eq!(rung.over(CountsOne), rung.counts(), "{rung:?}");
            assert!(!rung.change().is_empty());
        }
    }

    /// Locks waited for, locks tried and additions to shared counters: of a get, a look-up that finds nothing, the rest of
    /// that miss, the admission of what is put, and the rest of the put.
    type Shape = [(u32, u32, u32); 5];

    struct Taken;

    impl OverObserver for Taken {
        type Output = Shape;

        fn over<O: Observer>(self) -> Shape {
            let mut recorder = O::default().worker();
            // The first look-up of all opens the gate of a gated log.
            recorder.begin_get(&[0; 32]);
            let look_up = |recorder: &mut O::Worker, event| {
                let began = recorder.begin_get(&[1; 32]).began();
                began.into_iter().for_each(|began| recorder.end_get(began));
                recorder.record(event);
            };
            let census = [
                census::of(|| look_up(&mut recorder, Event::Hit)),
                census::of(|| look_up(&mut recorder, Event::Absent)),
                census::of(|| recorder.end(Operation::Miss, Instant::now())),
                census::of(|| {
                    let began = recorder.begin_admission();
                    began.into_iter().for_each(|began| recorder.end(Operation::Admission, began));
                }),
                census::of(|| {
                    let began = recorder.begin_put();
                    recorder.record(Event::Insertion);
                    began.into_iter().for_each(|began| recorder.end(Operation::Put, began));
                }),
            ];
            census.map(|Census { locks, tries, adds }| (locks, tries, adds))
        }
    }

    /// The shapes that the published account prints: a lock or one addition for the event, the same for the time, a window
    /// that is tried, and the key log at look-ups.
    const SHAPES: [(Rung, Shape); 4] = [
        (Rung::ThreeLocks, [(3, 1, 1), (3, 1, 1), (1, 1, 1), (2, 1, 1), (2, 1, 1)]),
        (Rung::AtomicStatistics, [(2, 1, 2), (2, 1, 2), (1, 1, 1), (1, 1, 2), (1, 1, 2)]),
        (Rung::LockFreeHistograms, [(1, 1, 2), (1, 1, 2), (0, 1, 1), (0, 1, 2), (0, 1, 2)]),
        (Rung::SampledDetector, [(0, 1, 3), (0, 1, 3), (0, 1, 1), (0, 1, 2), (0, 1, 2)]),
    ];

    /// Claim O8: The published states take, for each operation, the locks, tried locks and additions that METHODOLOGY lists.
    #[test]
    fn rungs_take_the_locks_and_add_to_the_counters_that_the_account_prints() {
        for (rung, shape) in SHAPES {
            assert_eq!(rung.over(Taken), shape, "{rung:?}");
        }
    }

    struct OnTheMap;

    impl OverObserver for OnTheMap {
        type Output = Option<Shape>;

        fn over<O: Observer>(self) -> Option<Shape> {
            let mut session = crate::wiring::dashmap::<Payload, O>(16)?.session();
            // The first look-up of all opens the gate of a gated log.
            session.get(&key(0), 1);
            let mut put = || _ = session.insert(key(1), Payload::of(&key(1)), 2, 1);
            let puts = [census::of(&mut put), census::of(&mut put)];
            let get = census::of(|| _ = session.get(&key(1), 1));
            let absent = census::of(|| _ = session.get(&key(2), 1));
            let census = [puts[0], puts[1], get, absent, census::of(|| session.filled(Instant::now()))];
            Some(census.map(|Census { locks, tries, adds }| (locks, tries, adds)))
        }
    }

    /// Claim O8.
    #[test]
    fn the_map_reports_gets_misses_puts_and_their_admission() {
        for (rung, [get, absent, miss, admission, put]) in SHAPES {
            let sum = |(a, b, c): (u32, u32, u32), (d, e, f)| (a + d, b + e, c + f);
            let put = sum(admission, put);
            let shape = rung.over(OnTheMap);
            assert!(shape.is_none_or(|shape| shape == [put, put, get, absent, miss]), "{rung:?} {shape:?}");
        }
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<_> = LADDER.into_iter().map(Rung::name).collect();
        assert_eq!(names.len(), LADDER.len());
    }
}
