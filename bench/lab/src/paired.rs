//! Ratios of paired runs, with confidence intervals.
//!
//! Two subjects alternate (A B B A), so that a machine that slowly changes favours neither. Each round gives one
//! ratio. Ratios multiply, so their logarithms are averaged: the interval is Student's t interval of the mean
//! logarithm, mapped back. It covers the true ratio in 95 of 100 experiments if rounds are independent and their
//! logarithms roughly normal.

use serde_json::{Value, json};

use crate::distribution::Distribution;

/// Level of the intervals.
const LEVEL: f64 = 0.95;

/// Rounds of four runs each: A, B, B, A.
#[derive(Clone, Debug)]
pub struct Rounds<R>(pub Vec<[R; 4]>);

impl<R> Default for Rounds<R> {
    fn default() -> Self {
        Rounds(Vec::new())
    }
}

/// A side of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first and the last run.
    A,
    /// The two between.
    B,
}

impl<R> Rounds<R> {
    /// One round.
    pub fn once(run: impl FnMut(Side) -> R) -> [R; 4] {
        [Side::A, Side::B, Side::B, Side::A].map(run)
    }

    /// The runs of a side, in order.
    pub fn runs(&self, side: Side) -> impl Iterator<Item = &R> {
        self.0.iter().flat_map(move |[a, b, c, d]| if side == Side::A { [a, d] } else { [b, c] })
    }

    /// A figure of the runs of a side.
    pub fn figures(&self, side: Side, figure: impl Fn(&R) -> f64) -> Distribution {
        Distribution::new(self.runs(side).map(figure).collect())
    }

    /// B over A: each round gives the geometric mean of its two ratios. With one round there is no spread to judge by: low
    /// and high are 0 and infinite.
    pub fn ratio(&self, rate: impl Fn(&R) -> f64) -> Interval {
        let logs = self.0.iter().map(|round| {
            let [a, b, c, d] = round.each_ref().map(&rate);
            (b * c / (a * d)).ln() / 2.0
        });
        let Interval { mean, low, high } = Interval::of_mean(&logs.collect::<Vec<_>>());
        Interval { mean: mean.exp(), low: low.exp(), high: high.exp() }
    }
}

/// The places of `count` subjects in this round: forwards and backwards in turn, so that a machine that changes favours none.
pub fn order(round: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |at| if round.is_multiple_of(2) { at } else { count - 1 - at })
}

/// A 95 % confidence interval around the geometric mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// In the middle.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Student's t interval of the mean of `values`, without bounds if there is but one.
    pub fn of_mean(values: &[f64]) -> Self {
        let (n, mean) = (values.len() as f64, mean(values));
        if values.len() < 2 {
            return Interval { mean, low: f64::NEG_INFINITY, high: f64::INFINITY };
        }
        Self::around(mean, student_t(n - 1.0) * (variance(values) / n).sqrt())
    }

    fn around(mean: f64, half: f64) -> Self {
        Interval { mean, low: mean - half, high: mean + half }
    }

    /// Numbers to four decimals, and small ones to four digits: a ratio's lower bound is never shown as nothing. A bound
    /// that does not exist is null.
    pub fn json(self) -> Value {
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

/// Their arithmetic mean.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Of a sample of at least two.
fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// How far Student's t lies from zero with probability `1 - LEVEL`. With `t = sqrt(n) tan(angle)` the density is a power of a
/// cosine, which is summed by Simpson's rule.
fn student_t(degrees: f64) -> f64 {
    const PANELS: usize = 2048;
    // Beyond this it differs from the normal distribution by less than a thousandth.
    let degrees = degrees.min(3_000.0);
    let width = std::f64::consts::FRAC_PI_2 / PANELS as f64;
    let density = |angle: f64| angle.cos().max(0.0).powf(degrees - 1.0);
    let panels = (0..PANELS).map(|at| {
        let from = at as f64 * width;
        (density(from) + 4.0 * density(from + width / 2.0) + density(from + width)) * width / 6.0
    });
    let panels: Vec<f64> = panels.collect();
    let mut left = LEVEL * panels.iter().sum::<f64>();
    for (at, mass) in panels.iter().enumerate() {
        if left <= *mass {
            return degrees.sqrt() * ((at as f64 + left / mass) * width).tan();
        }
        left -= mass;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 5e-4 * b.abs().max(1.0), "{a} {b}");
    }

    #[test]
    fn quantiles_agree_with_the_tables() {
        let known = [(1.0, 12.706), (2.0, 4.303), (9.0, 2.262), (30.0, 2.042), (120.0, 1.980), (1e6, 1.961)];
        for (degrees, t) in known {
            near(student_t(degrees), t);
        }
    }

    /// Rounds whose second side is so many times the first.
    fn times(ratios: &[f64]) -> Rounds<f64> {
        Rounds(ratios.iter().map(|ratio| [1.0, *ratio, *ratio, 1.0]).collect())
    }

    #[test]
    fn the_interval_of_known_ratios() {
        // Logarithms 0.0, 0.1, 0.2: mean 0.1, standard deviation 0.1, t(2) = 4.303.
        let interval = times(&[0.0f64, 0.1, 0.2].map(f64::exp)).ratio(|rate| *rate);
        let half = 4.303 * 0.1 / 3f64.sqrt();
        near(interval.mean, 0.1f64.exp());
        near(interval.low, (0.1 - half).exp());
        near(interval.high, (0.1 + half).exp());
    }

    #[test]
    fn sides_keep_their_runs_and_orders_alternate() {
        let mut at = 0.0;
        let mut run = |side| {
            at += 1.0;
            (side, at)
        };
        let rounds = Rounds(vec![Rounds::once(&mut run), Rounds::once(&mut run)]);
        assert!(rounds.runs(Side::A).all(|(side, _)| *side == Side::A));
        assert_eq!(rounds.figures(Side::B, |(_, at)| *at).runs(), [2.0, 3.0, 6.0, 7.0]);
        assert_eq!(
            (0..2).map(|round| order(round, 3).collect()).collect::<Vec<Vec<_>>>(),
            [[0, 1, 2], [2, 1, 0]]
        );
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
        let interval = times(&[0.5; 4]).ratio(|rate| *rate);
        near(interval.low, 0.5);
        near(interval.high, 0.5);
        let one = times(&[2.0]).ratio(|rate| *rate);
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
        let wide = times(&[1.0, 20.0]).ratio(|rate| *rate).json();
        assert!(wide["low"].as_f64().is_some_and(|low| low > 0.0), "{wide}");
    }

    #[test]
    fn a_quadruple_cancels_a_steady_drift() {
        // B is 1.2 times A, and the machine slows down by a tenth from run to run.
        let drift = |run: i32| 0.9f64.powi(run);
        let quadruple = [100.0 * drift(0), 120.0 * drift(1), 120.0 * drift(2), 100.0 * drift(3)];
        near(Rounds(vec![quadruple]).ratio(|rate| *rate).mean, 1.2);
    }
}
