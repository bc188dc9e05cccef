//! Repeated measurements of one quantity.

use serde_json::{Map, Value, json};

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

    /// Puts median, minimum and all runs into `fields`, under `name`, `name_min` and `name_runs`.
    pub fn put_into(&self, fields: &mut Map<String, Value>, name: &str) {
        fields.insert(name.into(), json!(rounded(self.median())));
        fields.insert(format!("{name}_min"), json!(rounded(self.min())));
        fields.insert(format!("{name}_runs"), self.runs_json());
    }
}

/// Runs of several quantities, by name and in the order of a report.
#[derive(Clone, Debug, Default)]
pub struct Times(pub Vec<(String, Distribution)>);

impl Times {
    /// The median of the quantity of this name.
    pub fn median(&self, name: &str) -> f64 {
        self.0.iter().find(|(known, _)| known == name).map_or(f64::NAN, |(_, runs)| runs.median())
    }

    /// A figure of each quantity.
    pub fn each(&self, figure: impl Fn(&Distribution) -> Value) -> Value {
        self.0.iter().map(|(name, runs)| (name.clone(), figure(runs))).collect::<Map<_, _>>().into()
    }

    /// Medians under this name, and minima, 90th percentiles and all runs.
    pub fn json(&self, medians: &str) -> Value {
        json!({
            medians: self.each(|runs| json!(rounded(runs.median()))), "min_us": self.each(|runs| json!(rounded(runs.min()))),
            "p90_us": self.each(|runs| json!(rounded(runs.p90()))), "runs_us": self.each(Distribution::runs_json),
        })
    }

    /// A line for each.
    pub fn text(&self) -> String {
        let line = |(name, runs): &(String, Distribution)| {
            format!("  {name:<18} {:>10.1}  ({:.1}, {:.1})\n", runs.median(), runs.min(), runs.p90())
        };
        self.0.iter().map(line).collect()
    }
}

/// To three decimals: finer digits of a measurement are meaningless. JSON has no NaN; it becomes null.
pub fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_odd_even_and_no_runs() {
        let odd = Distribution::new(vec![3.0, 1.0, 2.0]);
        assert_eq!((odd.median(), odd.min(), odd.p90()), (2.0, 1.0, 3.0));
        assert_eq!(odd.runs_json(), json!([3.0, 1.0, 2.0]));
        let even = Distribution::of_ns([4_000, 1_000]);
        assert_eq!((even.median(), even.min(), even.p90()), (2.5, 1.0, 4.0));
        let ten = Distribution::new((1..=10).map(f64::from).collect());
        assert_eq!(ten.p90(), 9.0);
        assert!(Distribution::default().median().is_nan() && Distribution::default().p90().is_nan());
    }
}
