//! The steps of a login, from the times that the pipeline measures for each batch and each seal.

use trefoil_pipeline::StageTimes;
use trefoil_service::timeline::Timeline;

/// How many steps a login has.
pub(super) const STEPS: usize = 8;

/// One login, or several of one request in the same batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Login {
    /// When it was handed to the service, on its clock.
    pub(super) submitted_ns: u64,
    /// When its answer was there.
    pub(super) answered_ns: u64,
    /// Its batch and its seal.
    pub(super) timeline: Timeline,
}

/// A step, with its beginning and its end on the service's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) from_ns: u64,
    pub(super) until_ns: u64,
}

impl Login {
    /// The steps in their order. Each begins where the one before ends, the first when the login was handed over, and the last ends with
    /// the answer. The pipeline measures how long each of its steps took: the time between two of them is in `gather`. A batch that was matched
    /// more than once, because its keys are rotated or a template was erased, has the sum of each step.
    pub(super) fn steps(&self) -> [Step; STEPS] {
        let Timeline { batch, seal_begun_ns, seal_ns, .. } = self.timeline;
        let StageTimes { begun_ns, proof_lookup_ns, match_ns, key_holder_ns, digest_ns } = batch;
        let proven = begun_ns.saturating_add(proof_lookup_ns);
        let matched = proven.saturating_add(match_ns);
        let decided = matched.saturating_add(key_holder_ns);
        let ends = [
            ("queue", begun_ns),
            ("prove", proven),
            ("match", matched),
            ("key_holder", decided),
            ("digest", decided.saturating_add(digest_ns)),
            ("gather", seal_begun_ns),
            ("sign", seal_begun_ns.saturating_add(seal_ns)),
            ("store", self.answered_ns),
        ];
        let mut from_ns = self.submitted_ns;
        ends.map(|(name, end)| {
            let until_ns = end.min(self.answered_ns).max(from_ns);
            let step = Step { name, from_ns, until_ns };
            from_ns = until_ns;
            step
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn login() -> Login {
        let batch =
            StageTimes { begun_ns: 110, proof_lookup_ns: 1, match_ns: 20, key_holder_ns: 30, digest_ns: 4 };
        let timeline = Timeline { batch, lanes: 3, seal_begun_ns: 200, seal_ns: 50 };
        Login { submitted_ns: 100, answered_ns: 260, timeline }
    }

    #[test]
    fn the_steps_have_the_times_that_were_measured() {
        let steps = login().steps().map(|Step { name, from_ns, until_ns }| (name, from_ns, until_ns));
        let expected = [
            ("queue", 100, 110),
            ("prove", 110, 111),
            ("match", 111, 131),
            ("key_holder", 131, 161),
            ("digest", 161, 165),
            ("gather", 165, 200),
            ("sign", 200, 250),
            ("store", 250, 260),
        ];
        assert_eq!(steps, expected);
    }

    proptest! {
        /// Whatever the times are, a step neither overlaps another one nor leaves its login.
        #[test]
        fn steps_follow_one_another_within_the_login(
            [submitted_ns, took_ns] in any::<[u32; 2]>(),
            [begun_ns, proof_lookup_ns, match_ns, key_holder_ns, digest_ns, seal_begun_ns, seal_ns] in any::<[u64; 7]>(),
        ) {
            let batch = StageTimes { begun_ns, proof_lookup_ns, match_ns, key_holder_ns, digest_ns };
            let timeline = Timeline { batch, lanes: 1, seal_begun_ns, seal_ns };
            let submitted_ns = submitted_ns.into();
            let answered_ns = submitted_ns + u64::from(took_ns);
            let steps = Login { submitted_ns, answered_ns, timeline }.steps();
            prop_assert_eq!((steps[0].from_ns, steps[STEPS - 1].until_ns), (submitted_ns, answered_ns));
            prop_assert!(steps.iter().all(|step| step.from_ns <= step.until_ns));
            prop_assert!(steps.windows(2).all(|pair| pair[0].until_ns == pair[1].from_ns));
        }
    }
}
