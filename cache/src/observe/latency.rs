//! Log-linear histogram of nanoseconds: 16 buckets per octave, so a bucket's width is at most
//! 1/16 (6.25 %) of the values in it.

use crate::counter::bump;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Buckets per octave, and the first value that shares its bucket with no other octave's.
const STEPS: usize = 16;
const STEPS_LOG2: u32 = STEPS.trailing_zeros();
/// Values from 2^36 ns (69 s) on share the last bucket: no look-up takes that long.
const OCTAVES: usize = 36 - STEPS_LOG2 as usize;
/// Number of buckets.
const BUCKETS: usize = STEPS * (1 + OCTAVES);

/// Counts of sampled latencies, in nanoseconds.
///
/// A sample includes one reading of the clock, about 20 ns where the clock is the processor's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latency {
    counts: Box<[u64; BUCKETS]>,
    sum_ns: u64,
}

impl Default for Latency {
    fn default() -> Self {
        Self { counts: Box::new([0; BUCKETS]), sum_ns: 0 }
    }
}

impl Latency {
    /// Number of samples.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// An upper bound, tight to 6.25 %, of the `q`-quantile in nanoseconds; `None` without samples.
    /// `q` is clamped to 0..=1.
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let samples = self.samples();
        let rank = ((q.clamp(0.0, 1.0) * samples as f64).ceil() as u64).max(1);
        self.buckets()
            .scan(0, |seen, (upper, count)| {
                *seen += count;
                Some((upper, *seen))
            })
            .find(|&(_, seen)| seen >= rank)
            .map(|(upper, _)| upper)
    }

    /// The buckets in rising order: largest value that falls in it (nanoseconds), count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter().enumerate().map(|(i, &count)| (upper_bound(i), count))
    }

    /// Sum of the samples in nanoseconds, exact unless one took longer than the histogram reaches.
    #[must_use]
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    fn add(&mut self, bucket: usize, count: u64) {
        self.counts[bucket] += count;
    }
}

/// A histogram that one thread writes and others read, without either waiting: each count is true at some moment.
pub(super) struct Shared {
    counts: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

impl Shared {
    pub(super) fn new() -> Self {
        Self { counts: std::array::from_fn(|_| AtomicU64::new(0)), sum_ns: AtomicU64::new(0) }
    }

    /// Counts a sample. To be called by the owner alone.
    pub(super) fn record(&self, ns: u64) {
        bump(&self.counts[bucket(ns)], 1);
        bump(&self.sum_ns, ns);
    }

    pub(super) fn add_to(&self, total: &mut Latency) {
        for (bucket, count) in self.counts.iter().enumerate() {
            total.add(bucket, count.load(Relaxed));
        }
        total.sum_ns += self.sum_ns.load(Relaxed);
    }
}

/// The bucket of a value.
#[inline]
fn bucket(ns: u64) -> usize {
    if ns < STEPS as u64 {
        return ns as usize;
    }
    let octave = ns.ilog2() - STEPS_LOG2;
    let step = (ns >> octave) as usize - STEPS;
    (STEPS * (1 + octave as usize) + step).min(BUCKETS - 1)
}

/// The largest value of a bucket.
fn upper_bound(bucket: usize) -> u64 {
    if bucket < STEPS {
        return bucket as u64;
    }
    let (octave, step) = (bucket / STEPS - 1, bucket % STEPS);
    (((STEPS + step + 1) as u64) << octave) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_range_in_order() {
        let mut previous = 0;
        for ns in 1..if cfg!(miri) { 300 } else { 100_000 } {
            let b = bucket(ns);
            assert!(b == previous || b == previous + 1, "{ns}");
            previous = b;
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(bucket((1 << 36) - 1), BUCKETS - 1);
    }

    #[test]
    fn upper_bounds_contain_their_values_within_a_sixteenth() {
        for ns in (0..if cfg!(miri) { 100 } else { 4096 }).chain([12_345, 1 << 20, (1 << 30) + 7]) {
            let upper = upper_bound(bucket(ns));
            assert!(ns <= upper && upper - ns <= ns / 16 + 1, "{ns} {upper}");
            assert_eq!(bucket(upper), bucket(ns));
            assert_eq!(bucket(upper + 1), bucket(ns) + 1);
        }
    }

    #[test]
    fn quantiles_walk_the_counts() {
        let mut latency = Latency::default();
        assert_eq!(latency.quantile_ns(0.5), None);
        for ns in [1, 2, 3, 10] {
            latency.add(bucket(ns), 1);
        }
        assert_eq!(latency.samples(), 4);
        assert_eq!(latency.quantile_ns(0.0), Some(1));
        assert_eq!(latency.quantile_ns(0.5), Some(2));
        assert_eq!(latency.quantile_ns(1.0), Some(10));
    }
}
