//! Repeated measurements of one quantity.

use serde_json::{Value, json};

use crate::paired::Interval;

/// All runs of one quantity, in the order in which they were measured, with the statistics that are quoted.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    runs: Vec<f64>,
    sorted: Vec<f64>,
}

impl Distribution {
    /// Of all runs, in their order.
    pub fn new(runs: Vec<f64>) -> Self {
        let mut sorted = runs.clone();
        sorted.sort_by(f64::total_cmp);
        Distribution { runs, sorted }
    }

    /// From nanoseconds to microseconds.
    pub fn of_ns(runs: impl IntoIterator<Item = u64>) -> Self {
        Self::new(runs.into_iter().map(|ns| ns as f64 / 1_000.0).collect())
    }

    /// The middle run, or the mean of the two middle runs.
    pub fn median(&self) -> f64 {
        let n = self.sorted.len();
        match n {
            0 => f64::NAN,
            _ => (self.sorted[(n - 1) / 2] + self.sorted[n / 2]) / 2.0,
        }
    }

    /// The mean without the lowest and the highest tenth: as little moved by outliers as a median where values fall into a few
    /// groups, and half-way between the groups where a median jumps from one to the next.
    pub fn middle(&self) -> f64 {
        let cut = self.sorted.len() / 10;
        let kept = &self.sorted[cut..self.sorted.len() - cut];
        kept.iter().sum::<f64>() / kept.len() as f64
    }

    /// [`middle`](Self::middle) with its 95 % interval: Student's t over the winsorised variance (Tukey and McLaughlin 1963), in
    /// which each value that was left out counts as the nearest one that was kept.
    pub fn middle_interval(&self) -> Interval {
        let n = self.sorted.len();
        let cut = n / 10;
        let winsorised: Vec<f64> =
            (0..n).map(|at| self.sorted[at.clamp(cut, n.saturating_sub(cut + 1))]).collect();
        Interval::of_trimmed(self.middle(), &winsorised, cut)
    }

    /// The smallest.
    pub fn min(&self) -> f64 {
        self.sorted.first().copied().unwrap_or(f64::NAN)
    }

    /// The smallest run that at least nine tenths of the runs do not exceed.
    pub fn p90(&self) -> f64 {
        self.percentile(90)
    }

    /// The smallest run that at least this many of a hundred runs do not exceed.
    pub fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.sorted.len() * percent).div_ceil(100);
        rank.checked_sub(1).map_or(f64::NAN, |at| self.sorted[at])
    }

    /// The runs in order.
    pub fn runs(&self) -> &[f64] {
        &self.runs
    }

    /// The runs in order, to three decimals.
    pub fn runs_json(&self) -> Value {
        json!(self.runs.iter().copied().map(rounded).collect::<Vec<_>>())
    }
}

/// To three decimals: finer digits of a measurement are meaningless. JSON has no NaN; it becomes null.
pub fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 to 20, of which 3 to 18 are kept: the winsorised sum of squares is twice 0.5^2 + ... + 7.5^2 and four times 7.5^2,
    /// and t with 15 degrees of freedom is 2.131.
    #[test]
    fn the_interval_of_a_middle_is_that_of_a_trimmed_mean() {
        let wild = |n: i32| if n == 20 { 1e6 } else { f64::from(n) };
        let interval = Distribution::new((1..=20).map(wild).collect()).middle_interval();
        let squares: f64 =
            2.0 * (0..8).map(|n| (f64::from(n) + 0.5).powi(2)).sum::<f64>() + 4.0 * 7.5f64.powi(2);
        let half = 2.131 * (squares / 19.0).sqrt() / (0.8 * 20f64.sqrt());
        assert!((interval.mean - 10.5).abs() < 1e-9, "{interval:?}");
        assert!((interval.high - 10.5 - half).abs() < 1e-3 && (10.5 - interval.low - half).abs() < 1e-3);
        let one = Distribution::new(vec![2.0]).middle_interval();
        assert_eq!((one.mean, one.high), (2.0, f64::INFINITY));
    }

    #[test]
    fn statistics_of_odd_even_and_no_runs() {
        let odd = Distribution::new(vec![3.0, 1.0, 2.0]);
        assert_eq!((odd.median(), odd.min(), odd.p90()), (2.0, 1.0, 3.0));
        assert_eq!(odd.runs_json(), json!([3.0, 1.0, 2.0]));
        let even = Distribution::of_ns([4_000, 1_000]);
        assert_eq!((even.median(), even.min(), even.p90()), (2.5, 1.0, 4.0));
        let ten = Distribution::new((1..=10).map(f64::from).collect());
        assert_eq!(ten.p90(), 9.0);
        assert_eq!(
            Distribution::new((0..10).map(|n| if n == 9 { 1e9 } else { f64::from(n) }).collect()).middle(),
            4.5
        );
        assert!(Distribution::default().median().is_nan() && Distribution::default().p90().is_nan());
    }
}
