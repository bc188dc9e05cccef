//! A tenant's policy for matches.

use crate::AttemptPolicy;
use serde::{Deserialize, Serialize};

/// When a match is accepted and how often a subject may try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionPolicy {
    /// Accept when the inner product of the two embeddings is at least this; -32,768..=32,768.
    pub threshold: i32,
    /// How often a template may be tried.
    pub attempts: AttemptPolicy,
}

impl DecisionPolicy {
    /// The share of it that each of three key-holders allows: two thirds, because two of them see every decided batch. So the batches that two of
    /// them decide, with any two each time, are no more than the policy allows.
    pub(crate) fn of_one_of_three(self) -> DecisionPolicy {
        let part = |most: u32| if most == u32::MAX { most } else { (most / 3 * 2 + most % 3 * 2 / 3).max(1) };
        let attempts = AttemptPolicy {
            failures_per_day: part(self.attempts.failures_per_day),
            failures_per_generation: part(self.attempts.failures_per_generation),
            attempts_per_day: part(self.attempts.attempts_per_day),
            attempts_per_generation: part(self.attempts.attempts_per_generation),
            ..self.attempts
        };
        DecisionPolicy { attempts, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Claim M19.
    #[test]
    fn three_key_holders_two_at_a_time_allow_no_more_than_one_alone() {
        for most in [2, 3, 20, 100, 200, 2_000, 65_535, u32::MAX - 1] {
            let attempts = AttemptPolicy {
                failures_per_day: most,
                attempts_per_day: most,
                failures_per_generation: most,
                attempts_per_generation: most,
                ..AttemptPolicy::default()
            };
            let each = DecisionPolicy { threshold: 0, attempts }.of_one_of_three().attempts;
            assert_eq!(each.failures_per_day, each.attempts_per_generation);
            let together = u64::from(each.attempts_per_day) * 3 / 2;
            assert!((u64::from(most) - 2..=u64::from(most)).contains(&together), "{most}: {together}");
            assert_eq!((each.consecutive, each.delay_s), (attempts.consecutive, attempts.delay_s));
        }
        let unlimited = DecisionPolicy { threshold: 0, attempts: AttemptPolicy::UNLIMITED };
        assert_eq!(unlimited.of_one_of_three(), unlimited);
    }
}
