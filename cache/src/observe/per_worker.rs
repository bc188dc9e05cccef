//! Striped observation with a single writer per stripe.
//!
//! Each session writes its own counters, which share no cache line with another's. A count is a
//! relaxed load and a relaxed store of the same word: exact because nobody else writes it, and no
//! more expensive than ordinary memory because no other core holds the line for writing. A reader
//! sums the stripes; each total it sees was true at some moment during the read and never decreases.
//!
//! The registry of stripes is the only lock. It is taken when a session opens or closes and when
//! the totals are read, never by a cache operation. A closing session adds its counts to the
//! retired totals and leaves, so memory is bounded by the number of sessions that exist at once.

use super::pattern::{Detector, Pattern, PatternCounts, Published};
use super::throughput::Throughput;
use super::{Hint, Latency, Observer, Operation, Recorder, Sampled};
use crate::counter::bump;
use crate::{Event, Key, Stats};
#[expect(clippy::disallowed_types, reason = "guards the registry of stripes, off the operation path")]
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Instant;

/// One in eight of the look-ups that are shown is timed. Reading the clock waits for everything in flight, so it costs
/// a look-up that misses the nearest caches far more than the 25 ns of the reading: timing one look-up in 64 raised the
/// mean by 3 to 6 ns, one in 512 by less than 1 ns.
const TIMED: u64 = 8;

/// Counts every event; samples durations and keys; per session. See the module's text.
///
/// With a [`Sampling`] of one in 64 the key of one look-up in 64 is shown to the pattern detector, one look-up in eight times as
/// many is timed, and so is one insert in 64.
///
/// ```
/// use trefoil_cache::{Engine, EngineConfig, PerWorker, Sampling, Value};
///
/// fn watched<V: Value>() -> Option<Engine<V>> {
///     let observer = PerWorker::new(Sampling::one_in(8)?);
///     Some(Engine::observed(EngineConfig { capacity: 1000 }, observer))
/// }
/// ```
///
/// A clone has the same totals: what the sessions of one cache count is in those of the other.
#[derive(Clone)]
pub struct PerWorker {
    registry: Arc<Registry>,
    sampling: Sampling,
    throughput: Arc<Throughput>,
}

/// One in how many is in a sample: a power of two up to 64. One in 64 costs least; more see patterns sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling(u64);

impl Sampling {
    /// Every one.
    pub const ALL: Sampling = Sampling(1);
    /// One in 64.
    pub const LEAST: Sampling = Sampling(64);

    /// One in `n`, if that is a power of two up to 64.
    #[must_use]
    pub fn one_in(n: u64) -> Option<Sampling> {
        (n.is_power_of_two() && n <= Sampling::LEAST.0).then_some(Sampling(n))
    }

    /// Whether number `n` is in the sample.
    #[inline(always)]
    pub(crate) fn holds(self, n: u64) -> bool {
        n & (self.0 - 1) == 0
    }
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling::LEAST
    }
}

#[expect(clippy::disallowed_types, reason = "off the operation path, see the module's text")]
struct Registry(Mutex<Stripes>);

#[derive(Default)]
struct Stripes {
    live: Vec<Arc<Stripe>>,
    retired: Totals,
    /// Sessions opened so far; staggers their sampling phases.
    opened: u64,
}

/// The fields that one session writes. 128-byte alignment: adjacent-line prefetch pairs 64-byte lines.
#[repr(align(128))]
struct Stripe {
    counts: [AtomicU64; Event::COUNT],
    durations: [Latency; Operation::ALL.len()],
    published: Published,
}

#[derive(Default)]
struct Totals {
    counts: [u64; Event::COUNT],
    durations: [Latency; Operation::ALL.len()],
    patterns: PatternCounts,
}

/// The recorder of one session.
pub struct Worker {
    stripe: Arc<Stripe>,
    sampling: Sampling,
    /// Look-ups that were shown.
    shown: u64,
    puts: u64,
    detector: Box<Detector>,
    registry: Arc<Registry>,
}

impl Default for PerWorker {
    fn default() -> Self {
        Self::new(Sampling::default())
    }
}

impl PerWorker {
    /// An observer whose sessions sample at this rate.
    #[must_use]
    pub fn new(sampling: Sampling) -> Self {
        #[expect(clippy::disallowed_types, reason = "off the operation path, see the module's text")]
        let registry = Registry(Mutex::new(Stripes::default()));
        Self { registry: Arc::new(registry), sampling, throughput: Arc::default() }
    }

    /// Look-ups and inserts per second over the last ten seconds in which the rate was read; none at first, or while
    /// another thread is reading it.
    pub fn operations_per_second(&self, now: Instant) -> Option<f64> {
        let Stats { hits, misses, insertions, replacements, rejections, .. } = self.stats();
        self.throughput.per_second(now, hits + misses + insertions + replacements + rejections)
    }

    /// What the last sampled window of each open session looked like; sessions without a full window are left out.
    pub fn patterns(&self) -> Vec<Pattern> {
        self.registry.lock().live.iter().filter_map(|stripe| stripe.published.read()).collect()
    }

    /// How often each pattern was found, over all sessions, open and closed.
    pub fn pattern_counts(&self) -> PatternCounts {
        self.registry.total(|totals| &totals.patterns, |total, stripe| stripe.published.add_to(total))
    }
}

impl Observer for PerWorker {
    type Worker = Worker;

    fn worker(&self) -> Worker {
        let stripe = Arc::new(Stripe {
            counts: Default::default(),
            durations: Default::default(),
            published: Published::default(),
        });
        let mut stripes = self.registry.lock();
        stripes.live.push(stripe.clone());
        stripes.opened += 1;
        // An odd stride visits every phase, so workers started together do not sample together.
        let tick = stripes.opened.wrapping_mul(27);
        drop(stripes);
        Worker {
            shown: tick,
            sampling: self.sampling,
            stripe,
            puts: tick,
            detector: Box::new(Detector::new()),
            registry: self.registry.clone(),
        }
    }

    fn stats(&self) -> Stats {
        Stats::from_counts(
            &self.registry.total(|totals| &totals.counts, |total, stripe| stripe.add_counts_to(total)),
        )
    }

    fn durations(&self, operation: Operation) -> Latency {
        let of = operation as usize;
        let (total, stripes) = (Latency::default(), self.registry.lock());
        total.add(&stripes.retired.durations[of]);
        stripes.live.iter().for_each(|stripe| total.add(&stripe.durations[of]));
        total
    }
}

impl Stripe {
    fn add_counts_to(&self, totals: &mut [u64; Event::COUNT]) {
        for (total, count) in totals.iter_mut().zip(&self.counts) {
            *total += count.load(Relaxed);
        }
    }
}

impl Recorder for Worker {
    fn sampling(&self) -> Sampling {
        self.sampling
    }

    fn phase(&self) -> u64 {
        self.shown
    }

    #[inline(always)]
    fn record(&mut self, event: Event) {
        self.record_many(event, 1);
    }

    #[inline(always)]
    fn record_many(&mut self, event: Event, n: u64) {
        bump(&self.stripe.counts[event as usize], n);
    }

    #[inline]
    fn begin_get(&mut self, _: &Key) -> Sampled {
        self.shown = self.shown.wrapping_add(1);
        if self.shown.is_multiple_of(TIMED) { Sampled::Timed(Instant::now()) } else { Sampled::Shown }
    }

    #[inline]
    fn end_get(&mut self, began: Instant) {
        self.end(Operation::Get, began);
    }

    #[inline]
    fn begin_put(&mut self) -> Option<Instant> {
        self.puts = self.puts.wrapping_add(1);
        self.begin_admission()
    }

    #[inline]
    fn begin_admission(&mut self) -> Option<Instant> {
        if self.sampling.holds(self.puts) { Some(Instant::now()) } else { None }
    }

    #[cold]
    #[inline(never)]
    fn end(&mut self, operation: Operation, began: Instant) {
        let ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.stripe.durations[operation as usize].record_alone(ns);
    }

    #[cold]
    fn saw(&mut self, key: &Key, hit: bool) {
        self.detector.saw(key, hit, &self.stripe.published);
    }

    #[inline]
    fn hint(&self) -> Hint {
        self.detector.hint()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut stripes = self.registry.lock();
        stripes.retired.add(&self.stripe);
        stripes.live.retain(|stripe| !Arc::ptr_eq(stripe, &self.stripe));
    }
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, Stripes> {
        // A panic elsewhere cannot leave the list of stripes inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A part of the totals: that of the retired sessions, plus what `add` adds for each live one.
    fn total<T: Clone>(&self, part: impl Fn(&Totals) -> &T, add: impl Fn(&mut T, &Stripe)) -> T {
        let stripes = self.lock();
        let mut total = part(&stripes.retired).clone();
        stripes.live.iter().for_each(|stripe| add(&mut total, stripe));
        total
    }
}

impl Totals {
    fn add(&mut self, stripe: &Stripe) {
        stripe.add_counts_to(&mut self.counts);
        for (total, durations) in self.durations.iter().zip(&stripe.durations) {
            total.add(durations);
        }
        stripe.published.add_to(&mut self.patterns);
    }
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
        first.end(Operation::Miss, Instant::now());
        second.record_many(Event::Expiration, 3);
        for n in 0..256u64 {
            first.saw(&[n as u8; 32], true);
        }
        assert_eq!(observer.patterns().len(), 1);
        drop(first);
        second.record(Event::Hit);
        let stats = observer.stats();
        assert_eq!((stats.hits, stats.expirations), (2, 3));
        drop(second);
        assert_eq!(observer.stats(), stats);
        assert_eq!(observer.durations(Operation::Miss).samples(), 1);
        assert_eq!((observer.pattern_counts().windows, observer.patterns().len()), (1, 0));
        assert_eq!(observer.registry.lock().live.len(), 0);
    }

    fn samples(every: u64) {
        let observer = PerWorker::new(Sampling::one_in(every).unwrap());
        let mut phases = Vec::new();
        for _ in 0..4 {
            let mut worker = observer.worker();
            phases.push(worker.phase() % every);
            let timed: Vec<_> = (0..80).filter_map(|_| worker.begin_get(&[0; 32]).began()).collect();
            assert_eq!(timed.len(), 10);
            timed.into_iter().for_each(|began| worker.end_get(began));
            let puts = (0..10 * every).filter(|_| worker.begin_put().is_some()).count();
            assert_eq!(puts, 10);
        }
        phases.dedup();
        assert_eq!(phases.len(), 4);
        assert_eq!(observer.durations(Operation::Get).samples(), 40);
    }

    #[test]
    fn one_of_eight_shown_look_ups_and_one_of_so_many_inserts_is_timed_at_staggered_phases() {
        samples(64);
        samples(8);
    }

    #[test]
    fn a_sampling_is_a_power_of_two_up_to_64() {
        let taken: Vec<u64> = (0..200).filter(|&n| Sampling::one_in(n).is_some()).collect();
        assert_eq!(taken, [1, 2, 4, 8, 16, 32, 64]);
        let one_in_4 = Sampling::one_in(4).unwrap();
        assert_eq!((0..16).filter(|&n| one_in_4.holds(n)).count(), 4);
    }

    #[test]
    fn throughput_is_the_difference_of_totals() {
        let observer = PerWorker::default();
        let mut worker = observer.worker();
        let start = Instant::now();
        assert_eq!(observer.operations_per_second(start), None);
        for _ in 0..500 {
            worker.record(Event::Hit);
            worker.record(Event::Absent);
        }
        let later = start + std::time::Duration::from_secs(2);
        assert_eq!(observer.operations_per_second(later), Some(500.0));
    }
}
