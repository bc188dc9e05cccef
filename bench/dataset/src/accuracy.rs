//! What a threshold on scores means: error rates of a verification experiment.
//!
//! Terms follow ISO/IEC 19795-1. A comparison is accepted iff its score is at least the threshold.
//! False match rate (FMR): accepted share of impostor comparisons; false non-match rate (FNMR):
//! refused share of genuine ones; true accept rate (TAR) = 1 - FNMR.

use crate::{ScoreMatrix, Trials};

/// The sorted scores of an experiment, genuine and impostor apart.
#[derive(Clone, Debug)]
pub struct Accuracy {
    genuine: Vec<i32>,
    impostor: Vec<i32>,
}

/// A threshold and its error rates, each in 0..=1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Accept iff score >= threshold.
    pub threshold: i32,
    /// False match rate.
    pub fmr: f64,
    /// True accept rate.
    pub tar: f64,
}

impl Accuracy {
    /// Sorts the scores of an experiment; `None` unless it has genuine and impostor comparisons and
    /// `scores` is of its shape.
    #[must_use]
    pub fn new(trials: &Trials, scores: &ScoreMatrix) -> Option<Self> {
        if (scores.probes(), scores.templates()) != (trials.probes.len(), trials.templates.len()) {
            return None;
        }
        let (mut genuine, mut impostor) = (Vec::new(), Vec::new());
        for probe in 0..scores.probes() {
            for (template, &score) in scores.row(probe).iter().enumerate() {
                if trials.is_genuine(probe, template) { &mut genuine } else { &mut impostor }.push(score);
            }
        }
        genuine.sort_unstable();
        impostor.sort_unstable();
        (!genuine.is_empty() && !impostor.is_empty()).then_some(Self { genuine, impostor })
    }

    /// The error rates of a threshold.
    #[must_use]
    pub fn at(&self, threshold: i32) -> Point {
        Point { threshold, fmr: accepted(&self.impostor, threshold), tar: accepted(&self.genuine, threshold) }
    }

    /// The lowest threshold whose false match rate is at most `fmr`.
    ///
    /// An experiment says nothing about rates far below one over its number of impostors.
    #[must_use]
    pub fn at_fmr(&self, fmr: f64) -> Point {
        let allowed = (fmr.clamp(0.0, 1.0) * self.impostor.len() as f64).floor() as usize;
        // All but the `allowed` highest impostors must be refused.
        let highest_refused = self.impostor.len().checked_sub(allowed + 1).map(|i| self.impostor[i]);
        self.at(highest_refused.map_or(i32::MIN, |score| score.saturating_add(1)))
    }

    /// The equal error rate: the mean of both rates at the threshold where they are closest.
    #[must_use]
    pub fn equal_error_rate(&self) -> f64 {
        let rates = self.genuine.iter().chain(&self.impostor).map(|&score| {
            let Point { fmr, tar, .. } = self.at(score);
            (fmr, 1.0 - tar)
        });
        let closest = rates.min_by(|a, b| (a.0 - a.1).abs().total_cmp(&(b.0 - b.1).abs()));
        closest.map_or(0.0, |(fmr, fnmr)| (fmr + fnmr) / 2.0)
    }
}

/// Share of `sorted` that is at least `threshold`.
fn accepted(sorted: &[i32], threshold: i32) -> f64 {
    let refused = sorted.partition_point(|&score| score < threshold);
    (sorted.len() - refused) as f64 / sorted.len() as f64
}
