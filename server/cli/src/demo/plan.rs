//! The plan of logins and impostors, with the result of the plaintext reference.

use super::error::DemoError;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use std::path::Path;
use trefoil_api::{Decision, Vector};
use trefoil_dataset::{Accuracy, Photographs, Protocol, ScoreMatrix, Trials};
use trefoil_matching::Embedding;
use zeroize::Zeroizing;

/// A planned login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    /// The person whose credential and template are used.
    pub(super) person: usize,
    /// The photograph shown.
    pub(super) probe: usize,
    /// Whether it is a photograph of that person.
    pub(super) genuine: bool,
    /// Whether the integer score of the quantised vectors, in the clear, reaches the threshold.
    pub(super) expected: Decision,
}

/// The people, and the logins in random order with their expected decisions.
#[derive(Debug)]
pub(super) struct Plan {
    trials: Trials,
    /// All logins: each probe once as its own person and once as another person.
    pub(super) attempts: Vec<Attempt>,
    /// Smallest score that matches.
    pub(super) threshold: i32,
    /// Error rate of the scores where false matches and false non-matches are equally frequent.
    pub(super) equal_error_rate: f64,
}

impl Plan {
    /// Reads `x.npy` and `y.npy` of `data`, enrols the first photograph of each of the first `people` people (all
    /// if `None`), and plans two logins per other photograph of theirs. `seed` fixes impostors and order.
    pub(super) fn new(
        data: &Path,
        people: Option<usize>,
        threshold: i32,
        seed: u64,
    ) -> Result<Plan, DemoError> {
        let unusable = |cause: &dyn std::fmt::Display| DemoError::Data {
            path: data.to_owned(),
            cause: cause.to_string(),
        };
        let set = Photographs::load(&data.join("x.npy"), &data.join("y.npy")).map_err(|e| unusable(&e))?;
        let mut trials = Protocol::Enrol1.split(&set).map_err(|e| unusable(&e))?;
        let available = trials.templates.len();
        let wanted = people.unwrap_or(available);
        if !(PEOPLE_MIN..=available).contains(&wanted) {
            return Err(DemoError::People { wanted, available });
        }
        trials.templates.truncate(wanted);
        let enrolled: Vec<i64> = trials.templates.iter().map(|template| template.person).collect();
        trials.probes.retain(|probe| enrolled.contains(&probe.person));
        let scores = trials.score(Embedding::quantise, Embedding::dot).map_err(|e| unusable(&e))?;
        let accuracy = Accuracy::new(&trials, &scores)
            .ok_or_else(|| unusable(&"nobody has a second photograph to log in with"))?;
        let attempts = attempts(&trials, &scores, threshold, &mut StdRng::seed_from_u64(seed));
        Ok(Plan { trials, attempts, threshold, equal_error_rate: accuracy.equal_error_rate() })
    }

    /// Number of people.
    pub(super) fn people(&self) -> usize {
        self.trials.templates.len()
    }

    /// The photograph that a person enrols.
    pub(super) fn template(&self, person: usize) -> Vector {
        vector(&self.trials.templates[person].vector)
    }

    /// The photograph that an attempt shows.
    pub(super) fn probe(&self, attempt: &Attempt) -> Vector {
        vector(&self.trials.probes[attempt.probe].vector)
    }
}

/// An impostor needs a victim.
pub(super) const PEOPLE_MIN: usize = 2;

/// The set has vectors of 2 to 512 numbers.
fn vector(row: &[f32]) -> Vector {
    Vector::of(Zeroizing::new(row.to_vec())).expect("a vector of the set")
}

fn attempts(trials: &Trials, scores: &ScoreMatrix, threshold: i32, rng: &mut StdRng) -> Vec<Attempt> {
    let attempt = |person: usize, probe: usize| Attempt {
        person,
        probe,
        genuine: trials.is_genuine(probe, person),
        expected: if scores.row(probe)[person] >= threshold { Decision::Match } else { Decision::NoMatch },
    };
    let mut attempts = Vec::with_capacity(2 * trials.probes.len());
    for (probe, sample) in trials.probes.iter().enumerate() {
        let own = trials.templates.iter().position(|template| template.person == sample.person);
        let Some(own) = own else { continue };
        attempts.push(attempt(own, probe));
        // Another person's photograph shown as this person: uniform over the others' probes.
        let other = std::iter::repeat_with(|| rng.random_range(0..trials.probes.len()))
            .find(|&other| !trials.is_genuine(other, own));
        attempts.extend(other.map(|other| attempt(own, other)));
    }
    attempts.shuffle(rng);
    attempts
}

#[cfg(test)]
mod tests {
    use super::*;
    use trefoil_dataset::Sample;

    /// Three people with directions of their own; one probe of person 0 and two of person 1.
    fn trials() -> Trials {
        let direction =
            |person: i64| -> Vec<f32> { (0..128).map(|i: i64| ((i * (person + 3)) as f32).sin()).collect() };
        let sample = |person| Sample { person, vector: direction(person) };
        Trials { templates: [0, 1, 2].map(sample).to_vec(), probes: [0, 1, 1].map(sample).to_vec() }
    }

    fn plan(seed: u64) -> Vec<Attempt> {
        let trials = trials();
        let scores = trials.score(Embedding::quantise, Embedding::dot).unwrap();
        attempts(&trials, &scores, 16_046, &mut StdRng::seed_from_u64(seed))
    }

    #[test]
    fn every_probe_is_tried_as_itself_and_its_person_is_impersonated_as_often() {
        let attempts = plan(1);
        let (genuine, impostor): (Vec<&Attempt>, Vec<&Attempt>) =
            attempts.iter().partition(|attempt| attempt.genuine);
        let mut own: Vec<_> = genuine.iter().map(|attempt| (attempt.person, attempt.probe)).collect();
        own.sort_unstable();
        assert_eq!(own, [(0, 0), (1, 1), (1, 2)]);
        assert!(genuine.iter().all(|attempt| attempt.expected == Decision::Match));
        let mut victims: Vec<_> = impostor.iter().map(|attempt| attempt.person).collect();
        victims.sort_unstable();
        assert_eq!(victims, [0, 1, 1]);
        assert!(impostor.iter().all(|attempt| attempt.expected == Decision::NoMatch));
    }

    #[test]
    fn the_seed_fixes_impostors_and_order() {
        assert_eq!(plan(5), plan(5));
        assert!((0..20).any(|seed| plan(seed) != plan(5)));
    }
}
