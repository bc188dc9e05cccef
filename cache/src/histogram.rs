//! Log-linear histogram of durations: each octave is cut into buckets of one width, so that a value is known to the same
//! relative error whatever its scale.

use crate::counter::bump;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Durations from 2^36 ns (69 s) on share the last bucket: no operation takes that long, and no deadline of a service
/// that uses this is longer.
const LOG2_MAX: u32 = 36;

/// Counts of durations in nanoseconds, with `STEPS` buckets per octave, a power of two: a bucket is at most `1/STEPS` as
/// wide as the values in it.
///
/// Any thread may read while others record; each figure is true at some moment, and a count may be seen without its sum.
pub struct Histogram<const STEPS: usize> {
    counts: Box<[AtomicU64]>,
    sum_ns: AtomicU64,
}

impl<const STEPS: usize> Default for Histogram<STEPS> {
    fn default() -> Self {
        let counts = (0..Self::BUCKETS).map(|_| AtomicU64::new(0)).collect();
        Self { counts, sum_ns: AtomicU64::new(0) }
    }
}

impl<const STEPS: usize> Histogram<STEPS> {
    /// Number of buckets.
    pub const BUCKETS: usize = STEPS * (1 + (LOG2_MAX - STEPS.trailing_zeros()) as usize);

    /// Counts a duration, by any thread.
    #[expect(clippy::disallowed_methods, reason = "for events that cost far more than a cache-line transfer")]
    pub fn record(&self, ns: u64) {
        self.counts[Self::bucket(ns)].fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(ns, Relaxed);
    }

    /// Counts a duration. To be called by one thread alone.
    pub(crate) fn record_alone(&self, ns: u64) {
        bump(&self.counts[Self::bucket(ns)], 1);
        bump(&self.sum_ns, ns);
    }

    /// Adds what another counted. To be called by one thread alone.
    pub fn add(&self, other: &Self) {
        for (total, count) in self.counts.iter().zip(other.counts()) {
            bump(total, count);
        }
        bump(&self.sum_ns, other.sum_ns());
    }

    /// Number of durations.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.counts().sum()
    }

    /// Their sum in nanoseconds.
    #[must_use]
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns.load(Relaxed)
    }

    /// Number of durations below `ns`, to the width of its bucket: exact where a bucket begins with it.
    #[must_use]
    pub fn below(&self, ns: u64) -> u64 {
        self.counts().take(Self::bucket(ns)).sum()
    }

    /// The bucket with the `q`-quantile, by nearest rank; `None` before the first duration. `q` is clamped to 0..=1.
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> Option<RangeInclusive<u64>> {
        let rank = ((q.clamp(0.0, 1.0) * self.samples() as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let holds_it = |count| {
            seen += count;
            seen >= rank
        };
        self.counts().position(holds_it).map(Self::bounds)
    }

    /// The counts of the buckets in rising order.
    fn counts(&self) -> impl Iterator<Item = u64> {
        self.counts.iter().map(|count| count.load(Relaxed))
    }

    /// The bucket of a duration: exact below `STEPS`, then `STEPS` per octave.
    fn bucket(ns: u64) -> usize {
        if ns < STEPS as u64 {
            return ns as usize;
        }
        let octave = ns.ilog2() - STEPS.trailing_zeros();
        let step = (ns >> octave) as usize - STEPS;
        (STEPS * (1 + octave as usize) + step).min(Self::BUCKETS - 1)
    }

    /// The least and the largest value of a bucket. Both are too small for values beyond the range, which the last bucket collects.
    fn bounds(bucket: usize) -> RangeInclusive<u64> {
        if bucket < STEPS {
            return bucket as u64..=bucket as u64;
        }
        let (octave, step) = (bucket / STEPS - 1, bucket % STEPS);
        let least = ((STEPS + step) as u64) << octave;
        least..=least + ((1 << octave) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets_tile_the_range_in_order<const STEPS: usize>() {
        let bucket = Histogram::<STEPS>::bucket;
        let mut previous = 0;
        for ns in 1..if cfg!(miri) { 300 } else { 200_000 } {
            let b = bucket(ns);
            assert!(b == previous || b == previous + 1, "{ns}");
            previous = b;
        }
        for bucket_before in [u64::MAX, 1 << 36, (1 << 36) - 1].map(bucket) {
            assert_eq!(bucket_before, Histogram::<STEPS>::BUCKETS - 1);
        }
    }

    fn bounds_contain_their_values_and_meet<const STEPS: usize>() {
        let (bucket, bounds) = (Histogram::<STEPS>::bucket, Histogram::<STEPS>::bounds);
        for ns in
            (0..if cfg!(miri) { 100 } else { 4096 }).chain([12_345, 1 << 20, (1 << 30) + 7, (1 << 36) - 1])
        {
            let (least, largest) = bounds(bucket(ns)).into_inner();
            assert!(least <= ns && ns <= largest && largest - least <= ns / STEPS as u64, "{ns}");
            assert_eq!((bucket(least), bucket(largest)), (bucket(ns), bucket(ns)));
            if ns < 1 << 35 {
                assert_eq!(bounds(bucket(ns) + 1).start(), &(largest + 1));
            }
        }
    }

    #[test]
    fn buckets_of_both_widths_tile_the_range() {
        buckets_tile_the_range_in_order::<16>();
        buckets_tile_the_range_in_order::<32>();
        bounds_contain_their_values_and_meet::<16>();
        bounds_contain_their_values_and_meet::<32>();
    }

    #[test]
    fn quantiles_are_of_nearest_rank() {
        let (histogram, other) = (Histogram::<32>::default(), Histogram::default());
        assert_eq!(histogram.quantile_ns(0.5), None);
        for ns in [4, 1] {
            histogram.record(ns);
        }
        histogram.record_alone(2);
        other.record(3);
        histogram.add(&other);
        assert_eq!((histogram.samples(), histogram.sum_ns()), (4, 10));
        for (q, ns) in [(0.0, 1), (0.25, 1), (0.26, 2), (0.5, 2), (1.0, 4), (7.0, 4)] {
            assert_eq!(histogram.quantile_ns(q), Some(ns..=ns), "{q}");
        }
    }
}
