//! What everything costs that a batch passes, as measured, and what it costs where more cores are busy.

use serde_json::{Value, json};

use crate::distribution::rounded;

/// A cost at some sizes; between them it is on a straight line, outside of them it is the nearest one's.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curve(Vec<(f64, f64)>);

impl Curve {
    /// Of sizes with their costs.
    pub(super) fn new(mut points: Vec<(f64, f64)>) -> Self {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Curve(points)
    }

    pub(super) fn at(&self, size: f64) -> f64 {
        let above = self.0.partition_point(|point| point.0 < size);
        match (above.checked_sub(1).and_then(|below| self.0.get(below)), self.0.get(above)) {
            (Some(&(a, low)), Some(&(b, high))) => low + (high - low) * (size - a) / (b - a),
            (Some(&(_, cost)), None) | (None, Some(&(_, cost))) => cost,
            (None, None) => f64::NAN,
        }
    }

    fn json(&self, size: &str) -> Value {
        self.0.iter().map(|&(of, us)| json!({ size: of, "us": rounded(us) })).collect()
    }
}

/// What memory gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Memory {
    /// One core alone, GB/s.
    pub(super) one_gb_per_s: f64,
    /// All cores together.
    pub(super) all_gb_per_s: f64,
}

impl Memory {
    /// Microseconds until so many bytes have come to each of `cores` that read at a time.
    fn us(self, bytes: f64, cores: usize) -> f64 {
        bytes / 1e3 / self.one_gb_per_s.min(self.all_gb_per_s / cores as f64)
    }
}

/// Processor time, microseconds, on a machine.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    /// A batch on one worker, by the number of unsealed batches: one core busy, and all of the measured machine.
    pub(super) batch: [Curve; 2],
    /// A seal, by the batches that it covers, without its release: one core busy.
    pub(super) seal: Curve,
    /// How much longer it takes when all cores are busy.
    pub(super) seal_slower: f64,
    /// A release, by batches.
    pub(super) release: Curve,
    pub(super) dispatch_us: f64,
    /// Bytes of templates that a batch reads.
    pub(super) batch_bytes: f64,
    /// Cores of the measured machine.
    pub(super) measured_cores: usize,
    pub(super) measured_memory: Memory,
    /// Of the machine that is simulated.
    pub(super) memory: Memory,
}

impl Costs {
    /// From one busy core, 0, to all measured ones, 1.
    fn share(&self, busy: usize) -> f64 {
        match self.measured_cores {
            0 | 1 => 0.0,
            all => ((busy - 1) as f64 / (all - 1) as f64).min(1.0),
        }
    }

    /// A batch, with so many unsealed and so many cores busy. Beyond the measured cores it grows by what memory then takes longer.
    pub(super) fn batch_us(&self, unsealed: usize, busy: usize) -> f64 {
        let [one, all] = self.batch.each_ref().map(|curve| curve.at(unsealed as f64));
        let here = self.measured_memory.us(self.batch_bytes, busy.min(self.measured_cores));
        let more = (self.memory.us(self.batch_bytes, busy) - here).max(0.0);
        one + (all - one) * self.share(busy) + more
    }

    fn slower(&self, busy: usize) -> f64 {
        1.0 + (self.seal_slower - 1.0) * self.share(busy)
    }

    pub(super) fn seal_us(&self, batches: usize, busy: usize) -> f64 {
        self.seal.at(batches as f64) * self.slower(busy)
    }

    pub(super) fn release_us(&self, batches: usize, busy: usize) -> f64 {
        self.release.at(batches as f64) * self.slower(busy)
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "batch_one_core_busy": self.batch[0].json("unsealed"), "batch_all_cores_busy": self.batch[1].json("unsealed"),
            "seal": self.seal.json("batches"), "seal_slower_all_cores_busy": rounded(self.seal_slower),
            "release": self.release.json("batches"), "dispatch_us": rounded(self.dispatch_us),
            "batch_bytes": self.batch_bytes,
            "memory_one_core_gb_per_s": rounded(self.measured_memory.one_gb_per_s),
            "memory_all_cores_gb_per_s": rounded(self.measured_memory.all_gb_per_s),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_between_two_sizes_are_on_a_line_and_outside_the_nearest() {
        let curve = Curve::new(vec![(8.0, 30.0), (4.0, 10.0)]);
        assert_eq!([2.0, 4.0, 5.0, 8.0, 99.0].map(|at| curve.at(at)), [10.0, 10.0, 15.0, 30.0, 30.0]);
        assert!(Curve::new(Vec::new()).at(1.0).is_nan());
    }

    #[test]
    fn a_batch_waits_for_memory_where_more_cores_want_it_than_it_can_serve() {
        let memory = Memory { one_gb_per_s: 10.0, all_gb_per_s: 20.0 };
        let one = |us: f64| Curve::new(vec![(0.0, us)]);
        let costs = Costs {
            batch: [one(200.0), one(220.0)],
            seal: one(1_000.0),
            seal_slower: 1.1,
            release: one(10.0),
            dispatch_us: 1.0,
            batch_bytes: 1e6,
            measured_cores: 2,
            measured_memory: memory,
            memory: Memory { all_gb_per_s: 40.0, ..memory },
        };
        // 100 us for the bytes up to four cores, 200 us with eight.
        assert_eq!([1, 2, 4, 8].map(|busy| costs.batch_us(0, busy).round()), [200.0, 220.0, 220.0, 320.0]);
        assert_eq!([1, 2, 8].map(|busy| costs.seal_us(1, busy).round()), [1_000.0, 1_100.0, 1_100.0]);
        let alone = Costs { measured_cores: 1, ..costs };
        assert_eq!(alone.seal_us(1, 1), 1_000.0);
    }
}
