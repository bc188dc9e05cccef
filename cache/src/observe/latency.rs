//! Sampled durations as a scraper reads them.

use crate::Histogram;
use crate::histogram::nearest_rank;

/// Buckets per octave: a bucket's width is at most 6.25 % of the values in it.
pub(super) const STEPS: usize = 16;
const BUCKETS: usize = Histogram::<STEPS>::BUCKETS;

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
        nearest_rank(self.samples(), self.counts.iter().copied(), q).map(upper_bound)
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

    /// Adds what another cache's sessions have recorded.
    pub(super) fn merge(&mut self, other: &Latency) {
        for (total, count) in self.counts.iter_mut().zip(other.counts.iter()) {
            *total += count;
        }
        self.sum_ns += other.sum_ns;
    }

    /// Adds what one session has recorded.
    pub(super) fn add(&mut self, session: &Histogram<STEPS>) {
        for (total, count) in self.counts.iter_mut().zip(session.counts()) {
            *total += count;
        }
        self.sum_ns += session.sum_ns();
    }
}

/// The largest value of a bucket.
fn upper_bound(bucket: usize) -> u64 {
    *Histogram::<STEPS>::bounds(bucket).end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_sums_are_of_all_sessions() {
        let mut latency = Latency::default();
        assert_eq!(latency.quantile_ns(0.5), None);
        for session in [[1, 3], [1000, 2]] {
            let histogram = Histogram::default();
            session.iter().for_each(|&ns| histogram.record_alone(ns));
            latency.add(&histogram);
        }
        assert_eq!((latency.samples(), latency.sum_ns()), (4, 1006));
        assert_eq!(latency.quantile_ns(0.0), Some(1));
        assert_eq!(latency.quantile_ns(0.5), Some(2));
        assert_eq!(latency.quantile_ns(1.0), Some(1023));
        assert_eq!(latency.buckets().find(|(upper, _)| *upper == 1023), Some((1023, 1)));
    }
}
