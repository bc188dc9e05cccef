//! A tenant's policy for matches.

use crate::{AttemptPolicy, Model};
use serde::{Deserialize, Serialize};

/// When a match is accepted and how often a subject may try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionPolicy {
    /// The model of the vectors.
    pub model: Model,
    /// Accept when the inner product of the two embeddings is at least this; -32,768..=32,768.
    pub threshold: i32,
    /// The model of templates that were enrolled before, and its threshold, while people are enrolled anew.
    pub previous: Option<(Model, i32)>,
    /// How often a template may be tried.
    pub attempts: AttemptPolicy,
}

impl DecisionPolicy {
    /// The policy of a tenant with one model.
    pub const fn new(model: Model, threshold: i32, attempts: AttemptPolicy) -> DecisionPolicy {
        DecisionPolicy { model, threshold, previous: None, attempts }
    }

    /// Each model, the one of new templates first, and its threshold.
    pub(crate) fn models(&self) -> impl Iterator<Item = (Model, i32)> {
        [(self.model, self.threshold)].into_iter().chain(self.previous)
    }

    /// The threshold for vectors of this model, if it is one of the tenant's.
    pub fn threshold_of(&self, model: Model) -> Option<i32> {
        self.models().find(|(of, _)| *of == model).map(|(_, threshold)| threshold)
    }

    /// The share of it that each of three key-holders allows.
    pub(crate) fn of_one_of_three(self) -> DecisionPolicy {
        DecisionPolicy { attempts: attempts_of_one_of_three(self.attempts), ..self }
    }
}

/// Two thirds of them, because two of three key-holders see every decided batch. So the batches that two of them decide, with any two each
/// time, are no more than the policy allows.
pub(crate) fn attempts_of_one_of_three(policy: AttemptPolicy) -> AttemptPolicy {
    let part = |most: u32| if most == u32::MAX { most } else { (most / 3 * 2 + most % 3 * 2 / 3).max(1) };
    AttemptPolicy {
        failures_per_day: part(policy.failures_per_day),
        failures_per_generation: part(policy.failures_per_generation),
        attempts_per_day: part(policy.attempts_per_day),
        attempts_per_generation: part(policy.attempts_per_generation),
        ..policy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Claim M19.
    #[test]
    fn three_key_holders_two_at_a_time_allow_no_more_than_one_alone() {
        let model = Model::of("model", 128).unwrap();
        for most in [2, 3, 20, 100, 200, 2_000, 65_535, u32::MAX - 1] {
            let attempts = AttemptPolicy {
                failures_per_day: most,
                attempts_per_day: most,
                failures_per_generation: most,
                attempts_per_generation: most,
                ..AttemptPolicy::default()
            };
            let each = DecisionPolicy::new(model, 0, attempts).of_one_of_three().attempts;
            assert_eq!(each.failures_per_day, each.attempts_per_generation);
            let together = u64::from(each.attempts_per_day) * 3 / 2;
            assert!((u64::from(most) - 2..=u64::from(most)).contains(&together), "{most}: {together}");
            assert_eq!((each.consecutive, each.delay_s), (attempts.consecutive, attempts.delay_s));
        }
        let unlimited = DecisionPolicy::new(model, 0, AttemptPolicy::UNLIMITED);
        assert_eq!(unlimited.of_one_of_three(), unlimited);
    }
}
