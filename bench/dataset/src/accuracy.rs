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
        Self::of(scores, |probe, template| trials.is_genuine(probe, template))
    }

    /// Sorts scores, of which those of a probe and a template of the same person are genuine; `None` unless there are both kinds.
    pub fn of(scores: &ScoreMatrix, is_genuine: impl Fn(usize, usize) -> bool) -> Option<Self> {
        let (mut genuine, mut impostor) = (Vec::new(), Vec::new());
        for probe in 0..scores.probes() {
            for (template, &score) in scores.row(probe).iter().enumerate() {
                if is_genuine(probe, template) { &mut genuine } else { &mut impostor }.push(score);
            }
        }
        genuine.sort_unstable();
        impostor.sort_unstable();
        (!genuine.is_empty() && !impostor.is_empty()).then_some(Self { genuine, impostor })
    }

    /// Number of genuine and of impostor comparisons.
    #[must_use]
    pub fn comparisons(&self) -> (usize, usize) {
        (self.genuine.len(), self.impostor.len())
    }

    /// The lowest and the highest score.
    #[must_use]
    pub fn range(&self) -> (i32, i32) {
        let [(low, high), (other_low, other_high)] =
            [&self.genuine, &self.impostor].map(|scores| (scores[0], scores[scores.len() - 1]));
        (low.min(other_low), high.max(other_high))
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
        self.at_accepted((fmr.clamp(0.0, 1.0) * self.impostor.len() as f64).floor() as usize)
    }

    /// The lowest threshold that accepts at most `allowed` impostors.
    #[must_use]
    pub fn at_accepted(&self, allowed: usize) -> Point {
        // All but the `allowed` highest impostors must be refused.
        let highest_refused = self.impostor.len().checked_sub(allowed + 1).map(|i| self.impostor[i]);
        self.at(highest_refused.map_or(i32::MIN, |score| score.saturating_add(1)))
    }

    /// The equal error rate: where the line through the experiment's (FMR, FNMR) points meets
    /// FMR = FNMR.
    #[must_use]
    pub fn equal_error_rate(&self) -> f64 {
        let rates = |threshold| {
            let Point { fmr, tar, .. } = self.at(threshold);
            (fmr, 1.0 - tar)
        };
        // At the lowest score everybody is accepted, above the highest nobody, and the difference of
        // the rates falls on the way: bisect to two neighbouring thresholds around its zero.
        let lowest = self.genuine[0].min(self.impostor[0]);
        let (mut above, mut below) = (i64::from(lowest), i64::from(i32::MAX));
        while below - above > 1 {
            let middle = above.midpoint(below);
            let (fmr, fnmr) = rates(middle as i32);
            if fmr > fnmr {
                above = middle;
            } else {
                below = middle;
            }
        }
        let ((fmr, fnmr), (next_fmr, next_fnmr)) = (rates(above as i32), rates(below as i32));
        let (excess, deficit) = (fmr - fnmr, next_fnmr - next_fmr);
        fmr + (next_fmr - fmr) * excess / (excess + deficit)
    }
}

/// Share of `sorted` that is at least `threshold`.
fn accepted(sorted: &[i32], threshold: i32) -> f64 {
    let refused = sorted.partition_point(|&score| score < threshold);
    (sorted.len() - refused) as f64 / sorted.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sample;

    /// One probe of person 1 per score list against a template of person 1 and one of person 2.
    fn accuracy(genuine: &[i32], impostor: &[i32]) -> Accuracy {
        let sample = |person| Sample { person, vector: vec![0.0; 2] };
        let probes = genuine.iter().map(|_| sample(1)).collect();
        let trials = Trials { templates: vec![sample(1), sample(2)], probes };
        let scores = genuine.iter().zip(impostor).flat_map(|(&g, &i)| [g, i]).collect();
        Accuracy::new(&trials, &ScoreMatrix::new(genuine.len(), 2, scores).unwrap()).unwrap()
    }

    #[test]
    fn one_overlap_of_four_is_a_quarter() {
        // Accepting from 8 on: one impostor in, one genuine out.
        let accuracy = accuracy(&[5, 10, 11, 12], &[0, 1, 2, 8]);
        assert_eq!(accuracy.at(8), Point { threshold: 8, fmr: 0.25, tar: 0.75 });
        assert_eq!(accuracy.equal_error_rate(), 0.25);
    }

    #[test]
    fn a_matrix_of_another_experiment_is_refused() {
        let sample = |person| Sample { person, vector: vec![0.0; 2] };
        let trials = Trials { templates: vec![sample(1), sample(2)], probes: vec![sample(1)] };
        assert!(Accuracy::new(&trials, &ScoreMatrix::new(2, 1, vec![0, 0]).unwrap()).is_none());
        assert!(ScoreMatrix::new(2, 2, vec![0]).is_err());
    }
}
