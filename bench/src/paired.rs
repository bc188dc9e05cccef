//! Ratios of paired runs, with confidence intervals.
//!
//! Two things are run in turn (A B B A), so that a machine that slowly changes favours neither. Each round gives one
//! ratio. Ratios multiply, so their logarithms are averaged: the interval is Student's t interval of the mean
//! logarithm, mapped back. It covers the true ratio in 95 of 100 experiments if rounds are independent and their
//! logarithms roughly normal.

use serde_json::{Value, json};

/// Ratios, one per round.
#[derive(Clone, Debug)]
pub(crate) struct Ratios(Vec<f64>);

/// A 95 % confidence interval around the geometric mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Ratios {
    /// From A B B A quadruples of rates: B over A, each side the geometric mean of its two runs.
    pub(crate) fn of_quadruples(quadruples: &[[f64; 4]]) -> Self {
        Ratios(quadruples.iter().map(|[a, b, c, d]| (b * c / (a * d)).sqrt()).collect())
    }

    /// The interval. With one round there is no spread to judge by: low and high are 0 and infinite.
    pub(crate) fn interval(&self) -> Interval {
        let logs: Vec<f64> = self.0.iter().map(|ratio| ratio.ln()).collect();
        let Interval { mean, low, high } = Interval::of_mean(&logs);
        Interval { mean: mean.exp(), low: low.exp(), high: high.exp() }
    }
}

impl Interval {
    /// Student's t interval of the mean of `values`, without bounds if there is but one.
    pub(crate) fn of_mean(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        if values.len() < 2 {
            return Interval { mean, low: f64::NEG_INFINITY, high: f64::INFINITY };
        }
        let half = t_975(values.len() - 1) * (variance(values) / n).sqrt();
        Interval { mean, low: mean - half, high: mean + half }
    }

    /// The interval of a mean from which `cut` values at either end were left out, by the winsorised values.
    pub(crate) fn of_trimmed(mean: f64, winsorised: &[f64], cut: usize) -> Self {
        let (n, kept) = (winsorised.len(), winsorised.len() - 2 * cut);
        if kept < 2 {
            return Interval { mean, low: f64::NEG_INFINITY, high: f64::INFINITY };
        }
        let error = (variance(winsorised) / n as f64).sqrt() * n as f64 / kept as f64;
        let half = t_975(kept - 1) * error;
        Interval { mean, low: mean - half, high: mean + half }
    }

    /// Numbers to four decimals, and small ones to four digits: a ratio's lower bound is never shown as nothing. A bound
    /// that does not exist is null.
    pub(crate) fn json(self) -> Value {
        json!({"mean": shown(self.mean), "low": shown(self.low), "high": shown(self.high)})
    }
}

fn shown(x: f64) -> Value {
    if !x.is_finite() {
        return Value::Null;
    }
    let before_first_digit = if x == 0.0 { 0 } else { -x.abs().log10().floor() as i32 - 1 };
    let scale = 10f64.powi(4 + before_first_digit.clamp(0, 300));
    json!((x * scale).round() / scale)
}

/// Of a sample of at least two.
fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)
}

/// The 0.975 quantile of Student's t distribution (table for 1 to 30 degrees of freedom, the Cornish-Fisher expansion in
/// 1/df beyond, which is right to three decimals there).
fn t_975(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    const Z: f64 = 1.959_964;
    match degrees {
        0 => f64::INFINITY,
        1..=30 => TABLE[degrees - 1],
        _ => {
            let n = degrees as f64;
            Z + (Z.powi(3) + Z) / (4.0 * n) + (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / (96.0 * n * n)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 5e-4 * b.abs().max(1.0), "{a} {b}");
    }

    #[test]
    fn quantiles_agree_with_the_tables() {
        for (degrees, t) in [(1, 12.706), (9, 2.262), (30, 2.042), (40, 2.021), (60, 2.000), (120, 1.980)] {
            near(t_975(degrees), t);
        }
    }

    #[test]
    fn the_interval_of_known_ratios() {
        // Logarithms 0.0, 0.1, 0.2: mean 0.1, standard deviation 0.1, t(2) = 4.303.
        let ratios = Ratios([0.0f64, 0.1, 0.2].map(f64::exp).to_vec());
        let interval = ratios.interval();
        let half = 4.303 * 0.1 / 3f64.sqrt();
        near(interval.mean, 0.1f64.exp());
        near(interval.low, (0.1 - half).exp());
        near(interval.high, (0.1 + half).exp());
    }

    #[test]
    fn the_interval_of_a_mean() {
        // 1, 2, 3: mean 2, standard deviation 1.
        let interval = Interval::of_mean(&[1.0, 2.0, 3.0]);
        near(interval.low, 2.0 - 4.303 / 3f64.sqrt());
        near(interval.high, 2.0 + 4.303 / 3f64.sqrt());
        assert_eq!(Interval::of_mean(&[5.0]).high, f64::INFINITY);
    }

    #[test]
    fn equal_ratios_have_no_width_and_one_has_no_bounds() {
        let interval = Ratios(vec![0.5; 4]).interval();
        near(interval.low, 0.5);
        near(interval.high, 0.5);
        let one = Ratios(vec![2.0]).interval();
        assert_eq!((one.low, one.high), (0.0, f64::INFINITY));
        assert!(one.json()["high"].is_null());
    }

    #[test]
    fn four_decimals_are_shown_and_four_digits_of_what_is_small() {
        let shown_as =
            [(1.234_56, 1.2346), (-0.7, -0.7), (0.0, 0.0), (0.012_345_6, 0.012_35), (3.2e-7, 3.2e-7)];
        for (x, wanted) in shown_as {
            assert_eq!(shown(x), json!(wanted));
        }
        assert_eq!(shown(f64::INFINITY), Value::Null);
        // Two rounds that differ by a factor of 20: their interval's lower end is far below four decimals.
        let wide = Ratios(vec![1.0, 20.0]).interval().json();
        assert!(wide["low"].as_f64().is_some_and(|low| low > 0.0), "{wide}");
    }

    #[test]
    fn a_quadruple_cancels_a_steady_drift() {
        // B is 1.2 times A, and the machine slows down by a tenth from run to run.
        let drift = |run: i32| 0.9f64.powi(run);
        let quadruple = [100.0 * drift(0), 120.0 * drift(1), 120.0 * drift(2), 100.0 * drift(3)];
        near(Ratios::of_quadruples(&[quadruple]).interval().mean, 1.2);
    }
}
