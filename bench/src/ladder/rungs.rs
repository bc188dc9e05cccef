//! The rungs: from three locks to no observation at all, in the order in which the published account climbed them.

use trefoil_cache::{Observer, Off, PerWorker};

use crate::exhibits::{
    Exhibit, GatedLog, LockFamily, LockedCounters, LockedHistogram, LockedLog, Locks, Nothing, ParkingLot,
    SharedCounters, SharedHistogram, Std,
};

/// One way of observing a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rung {
    /// Counters, histogram and pattern log, each behind a lock.
    ThreeLocks,
    /// The counters are shared atomics.
    AtomicStatistics,
    /// The histogram has no lock either.
    LockFreeHistograms,
    /// The log sees one look-up in 64: where the published account ends.
    SampledDetector,
    /// Everything in memory that one worker writes: what ships.
    PerWorker,
    /// No observation.
    Off,
    /// Locked counters, nothing else.
    LockedCounters,
    /// A locked histogram, nothing else.
    LockedHistogram,
    /// A locked log, nothing else.
    LockedLog,
    /// Shared atomic counters, nothing else.
    SharedCounters,
    /// A shared atomic histogram, nothing else.
    SharedHistogram,
    /// A log behind a shared gate, nothing else.
    GatedLog,
}

/// The ladder.
pub(crate) const LADDER: [Rung; 6] = [
    Rung::ThreeLocks,
    Rung::AtomicStatistics,
    Rung::LockFreeHistograms,
    Rung::SampledDetector,
    Rung::PerWorker,
    Rung::Off,
];

/// The parts one by one.
pub(crate) const PARTS: [Rung; 6] = [
    Rung::LockedCounters,
    Rung::LockedHistogram,
    Rung::LockedLog,
    Rung::SharedCounters,
    Rung::SharedHistogram,
    Rung::GatedLog,
];

/// Work that can be done over any observer.
pub(crate) trait OverObserver {
    /// What it gives.
    type Output;

    /// Does it over `O`.
    fn over<O: Observer>(self) -> Self::Output;
}

impl Rung {
    /// Does `work` over the observer of this rung, with locks of `family` where it has any.
    pub(crate) fn over<W: OverObserver>(self, family: LockFamily, work: W) -> W::Output {
        match family {
            LockFamily::Std => self.over_locks::<Std, W>(work),
            LockFamily::ParkingLot => self.over_locks::<ParkingLot, W>(work),
        }
    }

    fn over_locks<L: Locks, W: OverObserver>(self, work: W) -> W::Output {
        match self {
            Rung::ThreeLocks => work.over::<Exhibit<LockedCounters<L>, LockedHistogram<L>, LockedLog<L>>>(),
            Rung::AtomicStatistics => {
                work.over::<Exhibit<SharedCounters, LockedHistogram<L>, LockedLog<L>>>()
            }
            Rung::LockFreeHistograms => work.over::<Exhibit<SharedCounters, SharedHistogram, LockedLog<L>>>(),
            Rung::SampledDetector => work.over::<Exhibit<SharedCounters, SharedHistogram, GatedLog<L>>>(),
            Rung::PerWorker => work.over::<PerWorker>(),
            Rung::Off => work.over::<Off>(),
            Rung::LockedCounters => work.over::<Exhibit<LockedCounters<L>, Nothing, Nothing>>(),
            Rung::LockedHistogram => work.over::<Exhibit<Nothing, LockedHistogram<L>, Nothing>>(),
            Rung::LockedLog => work.over::<Exhibit<Nothing, Nothing, LockedLog<L>>>(),
            Rung::SharedCounters => work.over::<Exhibit<SharedCounters, Nothing, Nothing>>(),
            Rung::SharedHistogram => work.over::<Exhibit<Nothing, SharedHistogram, Nothing>>(),
            Rung::GatedLog => work.over::<Exhibit<Nothing, Nothing, GatedLog<L>>>(),
        }
    }

    /// The name in records.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Rung::ThreeLocks => "three_locks",
            Rung::AtomicStatistics => "atomic_statistics",
            Rung::LockFreeHistograms => "lock_free_histograms",
            Rung::SampledDetector => "sampled_detector",
            Rung::PerWorker => "per_worker",
            Rung::Off => "off",
            Rung::LockedCounters => "locked_counters",
            Rung::LockedHistogram => "locked_histogram",
            Rung::LockedLog => "locked_log",
            Rung::SharedCounters => "shared_counters",
            Rung::SharedHistogram => "shared_histogram",
            Rung::GatedLog => "gated_log",
        }
    }

    /// What this rung changes against the one before it.
    pub(crate) fn change(self) -> &'static str {
        match self {
            Rung::ThreeLocks => {
                "RwLock<InternalStats> written on every operation, RwLock<SimpleHistogram> around buckets that are atomic anyway, RwLock<VecDeque> of keys written on every get"
            }
            Rung::AtomicStatistics => "InternalStats becomes shared atomic counters",
            Rung::LockFreeHistograms => "the lock around the histogram goes; its atomic buckets stay shared",
            Rung::SampledDetector => {
                "the key log sees one get in 64, decided by one shared atomic counter: the published fix ends here"
            }
            Rung::PerWorker => {
                "counters, histogram and pattern detector in memory that one worker writes, on lines of its own; one get in 64 is shown to the detector and one in 512 timed, by the worker's own count"
            }
            Rung::Off => "no observation: the map behind the cache's interface, with the check of expiry",
            Rung::LockedCounters => "the locked counters alone",
            Rung::LockedHistogram => "the locked histogram alone, with its two readings of the clock per get",
            Rung::LockedLog => "the locked key log alone",
            Rung::SharedCounters => "the shared atomic counters alone",
            Rung::SharedHistogram => {
                "the shared atomic histogram alone, with its two readings of the clock per get"
            }
            Rung::GatedLog => "the key log behind its shared gate alone",
        }
    }

    /// Why it costs what it costs.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Rung::ThreeLocks => {
                "every get takes three locks that every other worker wants: what costs is the hand-off between cores, and sleeping and waking where one waits long, not the increment inside"
            }
            Rung::AtomicStatistics => {
                "one queue fewer; its line still moves between the cores once or twice per get"
            }
            Rung::LockFreeHistograms => {
                "one queue left; count, sum and bucket are three more writes to shared lines, and every get still reads the clock twice"
            }
            Rung::SampledDetector => {
                "nobody queues for a lock any more, but each get writes about five shared lines, and a core that wants a line waits until another gives it up: the work of two cores is done one after the other"
            }
            Rung::PerWorker => {
                "a line that one core writes stays in that core's cache: counting is a load and a store, and no worker can delay another"
            }
            Rung::Off => "what is left is the map itself, whose shard locks are shared lines too",
            Rung::LockedCounters | Rung::LockedHistogram | Rung::LockedLog => {
                "one lock that every worker takes once per get"
            }
            Rung::SharedCounters | Rung::SharedHistogram | Rung::GatedLog => {
                "no lock, but lines that every worker writes on every get"
            }
        }
    }

    /// Whether it is one of the published states, which per-worker observation is to beat.
    pub(crate) fn is_historical(self) -> bool {
        LADDER[..4].contains(&self)
    }

    /// Whether its observer counts events, so that its totals can be compared with what was done.
    pub(crate) fn counts(self) -> bool {
        LADDER[..5].contains(&self) || matches!(self, Rung::LockedCounters | Rung::SharedCounters)
    }
}

#[cfg(test)]
mod tests {
    use trefoil_cache::{Event, Recorder as _};

    use super::*;

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
        for rung in LADDER.into_iter().chain(PARTS) {
            for family in [LockFamily::Std, LockFamily::ParkingLot] {
                assert_eq!(rung.over(family, CountsOne), rung.counts(), "{rung:?}");
            }
            assert!(!rung.change().is_empty() && !rung.why().is_empty());
        }
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<_> = LADDER.into_iter().chain(PARTS).map(Rung::name).collect();
        assert_eq!(names.len(), LADDER.len() + PARTS.len());
    }
}
