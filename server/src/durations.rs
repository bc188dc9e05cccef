//! Distribution of durations: log-linear counts, so that a quantile is known to about 2 % whatever the scale.

use std::sync::atomic::{AtomicU64, Ordering};

/// Buckets per octave. A bucket is at most 1/32 as wide as the values in it, and its middle is reported.
const STEPS: usize = 32;
const STEPS_LOG2: u32 = STEPS.trailing_zeros();
/// From 2^36 ns (69 s) on, all durations share the last bucket: every deadline of the service is shorter.
const OCTAVES: usize = 36 - STEPS_LOG2 as usize;
const BUCKETS: usize = STEPS * (1 + OCTAVES);

/// Counts of durations. Any thread may read while others record; a reader may see a count without its sum.
pub(crate) struct Durations {
    counts: Box<[AtomicU64]>,
    sum_ns: AtomicU64,
}

impl Default for Durations {
    fn default() -> Durations {
        let counts = (0..BUCKETS).map(|_| AtomicU64::new(0)).collect();
        Durations { counts, sum_ns: AtomicU64::new(0) }
    }
}

impl Durations {
    /// One more duration.
    pub(crate) fn record(&self, ns: u64) {
        self.counts[bucket(ns)].fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// How many were recorded.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Their sum in nanoseconds.
    pub(crate) fn sum_ns(&self) -> u64 {
        self.sum_ns.load(Ordering::Relaxed)
    }

    /// The `q`-quantile in nanoseconds, by nearest rank; `None` before the first.
    pub(crate) fn quantile_ns(&self, q: f64) -> Option<f64> {
        let rank = ((q.clamp(0.0, 1.0) * self.count() as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count.load(Ordering::Relaxed);
            seen >= rank
        });
        found.map(middle)
    }
}

/// The bucket of a duration: exact below 32 ns, then 32 per octave.
fn bucket(ns: u64) -> usize {
    if ns < STEPS as u64 {
        return ns as usize;
    }
    let octave = ns.ilog2() - STEPS_LOG2;
    let step = (ns >> octave) as usize - STEPS;
    (STEPS * (1 + octave as usize) + step).min(BUCKETS - 1)
}

/// The middle of a bucket.
fn middle(bucket: usize) -> f64 {
    if bucket < STEPS {
        return bucket as f64;
    }
    let (octave, step) = (bucket / STEPS - 1, bucket % STEPS);
    let (low, width) = (((STEPS + step) as u64) << octave, 1u64 << octave);
    low as f64 + (width - 1) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_hold_their_middle() {
        let mut previous = 0;
        for ns in 1..200_000 {
            let found = bucket(ns);
            assert!(found == previous || found == previous + 1, "{ns}");
            previous = found;
        }
        for ns in [0, 1, 31, 32, 33, 1_000, 123_456, 1 << 30, (1 << 36) - 1] {
            let middle = middle(bucket(ns));
            assert!((middle - ns as f64).abs() <= ns as f64 / 64.0 + 0.5, "{ns} {middle}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_of_nearest_rank() {
        let durations = Durations::default();
        assert_eq!(durations.quantile_ns(0.5), None);
        for ns in [4, 1, 3, 2] {
            durations.record(ns);
        }
        assert_eq!((durations.count(), durations.sum_ns()), (4, 10));
        assert_eq!(durations.quantile_ns(0.0), Some(1.0));
        assert_eq!(durations.quantile_ns(0.5), Some(2.0));
        assert_eq!(durations.quantile_ns(1.0), Some(4.0));
    }
}
