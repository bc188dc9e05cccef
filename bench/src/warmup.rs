//! When a loop is warm.

use serde_json::{Value, json};

use crate::distribution::{Distribution, rounded};

/// How long a loop runs before its first window.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Warmup {
    /// This many seconds.
    Seconds(f64),
    /// Until its rate is flat.
    UntilFlat(Flatness),
}

/// The rule: the rates of three spans that follow one another lie within a part of their median.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flatness {
    /// Length of a span, seconds.
    pub(crate) span_s: f64,
    /// Most distance between the highest and the lowest of three, over the one between them.
    pub(crate) within: f64,
    /// Spans after which the loop counts as warm anyway, and the record says that it was not flat.
    pub(crate) spans_max: usize,
}

/// Spans that are compared.
const COMPARED: usize = 3;

impl Flatness {
    fn is_flat(&self, rates: &[f64]) -> bool {
        let Some(last) = rates.last_chunk::<COMPARED>() else { return false };
        let sorted = Distribution::new(last.to_vec());
        let most = sorted.percentile(100);
        most - sorted.min() <= self.within * sorted.median()
    }
}

/// The rates of a warm-up so far.
#[derive(Clone, Debug)]
pub(crate) struct WarmingUp {
    rule: Flatness,
    rates: Vec<f64>,
}

impl WarmingUp {
    pub(crate) fn by(rule: Flatness) -> Self {
        WarmingUp { rule, rates: Vec::new() }
    }

    /// Takes the rate of one more span.
    pub(crate) fn note(&mut self, rate: f64) {
        self.rates.push(rate);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_flat() || self.rates.len() >= self.rule.spans_max
    }

    /// Whether it ended by the rule.
    pub(crate) fn is_flat(&self) -> bool {
        self.rule.is_flat(&self.rates)
    }

    pub(crate) fn json(&self) -> Value {
        let Flatness { span_s, within, spans_max } = self.rule;
        json!({
            "span_seconds": span_s, "within": within, "spans_max": spans_max, "flat": self.is_flat(),
            "auth_per_s_runs": self.rates.iter().copied().map(rounded).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Flatness = Flatness { span_s: 5.0, within: 0.05, spans_max: 6 };

    fn after(rates: &[f64]) -> WarmingUp {
        let mut warming = WarmingUp::by(RULE);
        rates.iter().for_each(|rate| warming.note(*rate));
        warming
    }

    #[test]
    fn a_rate_is_flat_once_three_spans_agree() {
        assert!(!after(&[100.0, 100.0]).is_over(), "two spans say nothing");
        assert!(!after(&[90.0, 100.0, 101.0]).is_over());
        assert!(!after(&[100.0, 101.0, 99.0, 94.0]).is_flat(), "it was flat and is not");
        assert!(after(&[90.0, 100.0, 102.0, 98.0]).is_flat());
    }

    #[test]
    fn a_rate_that_never_settles_ends_the_warm_up_and_is_said_not_to_be_flat() {
        let restless = after(&[100.0, 50.0, 100.0, 50.0, 100.0, 50.0]);
        assert!(restless.is_over() && !restless.is_flat());
        assert_eq!(restless.json()["flat"], false);
    }
}
