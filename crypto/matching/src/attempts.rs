//! Attempt budgets: how many failures a template has seen and may see.

use crate::AttemptPolicy;

const SECONDS_PER_DAY: u64 = 86_400;

/// Failures of one template so far. Kept by the vault across restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptRecord {
    /// Failures in a row.
    pub consecutive: u32,
    /// Unix second before which every attempt is refused.
    pub retry_at: u64,
    /// The day (unix seconds / 86,400) that `day_failures` counts.
    pub day: u64,
    /// Failures on `day`.
    pub day_failures: u32,
    /// Failures in the life of this template generation.
    pub generation_failures: u32,
}

impl AttemptRecord {
    /// Counts a failure in advance, if another attempt is allowed at `now`. Attempts that run at the same time therefore
    /// cannot exceed the budget together; a match takes its failure back with [`AttemptRecord::refund`].
    pub(crate) fn charge(&mut self, policy: &AttemptPolicy, now: u64) -> bool {
        // A clock that runs backwards does not start a new day.
        let day = now / SECONDS_PER_DAY;
        if day > self.day {
            (self.day, self.day_failures) = (day, 0);
        }
        let allowed = now >= self.retry_at
            && self.day_failures < policy.per_day
            && self.generation_failures < policy.per_generation;
        if allowed {
            self.consecutive = self.consecutive.saturating_add(1);
            self.day_failures += 1;
            self.generation_failures += 1;
            if self.consecutive >= policy.consecutive {
                self.retry_at = now.saturating_add(policy.delay_s);
            }
        }
        allowed
    }

    /// Takes back the failure that was counted at `now`: the attempt matched. Ends the row of failures.
    pub(crate) fn refund(&mut self, now: u64) {
        if self.day == now / SECONDS_PER_DAY {
            self.day_failures = self.day_failures.saturating_sub(1);
        }
        self.generation_failures = self.generation_failures.saturating_sub(1);
        (self.consecutive, self.retry_at) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: AttemptPolicy =
        AttemptPolicy { consecutive: 3, delay_s: 30, per_day: 5, per_generation: 8 };
    const NOON: u64 = 1_000 * SECONDS_PER_DAY + 43_200;

    #[test]
    fn failures_in_a_row_delay_the_next_attempt() {
        let mut record = AttemptRecord::default();
        assert!((0..3).all(|_| record.charge(&POLICY, NOON)));
        assert!(!record.charge(&POLICY, NOON + 29));
        // The delay is over, but the row is not: one more failure delays again.
        assert!(record.charge(&POLICY, NOON + 30));
        assert!(!record.charge(&POLICY, NOON + 59));
        assert!(record.charge(&POLICY, NOON + 60));
    }

    #[test]
    fn refused_attempts_are_not_counted() {
        let mut record = AttemptRecord::default();
        assert!((0..3).all(|_| record.charge(&POLICY, NOON)));
        let before = record;
        assert!((0..29).all(|s| !record.charge(&POLICY, NOON + s)));
        assert_eq!(record, before);
    }

    #[test]
    fn a_match_ends_the_row_and_takes_only_its_own_failure_back() {
        let mut record = AttemptRecord::default();
        assert!((0..3).all(|_| record.charge(&POLICY, NOON)));
        record.refund(NOON);
        assert_eq!(
            record,
            AttemptRecord { day: 1000, day_failures: 2, generation_failures: 2, ..Default::default() }
        );
        assert!((0..3).all(|_| record.charge(&POLICY, NOON)));
    }

    #[test]
    fn a_day_has_its_budget_and_a_generation_its_own() {
        let mut record = AttemptRecord::default();
        let far_apart = |k: u64| NOON + 100 * k;
        assert!((0..5).all(|k| record.charge(&POLICY, far_apart(k))));
        assert!(!record.charge(&POLICY, far_apart(5)));
        let tomorrow = NOON + SECONDS_PER_DAY;
        assert!((0..3).all(|k| record.charge(&POLICY, tomorrow + 100 * k)));
        // Eight in all: this generation is spent for good.
        assert!(!record.charge(&POLICY, tomorrow + 5 * SECONDS_PER_DAY));
    }

    #[test]
    fn a_clock_that_is_set_back_opens_no_day_again_and_a_late_match_takes_nothing_from_another_day() {
        let mut record = AttemptRecord::default();
        let policy = AttemptPolicy { consecutive: u32::MAX, ..POLICY };
        assert!((0..5).all(|_| record.charge(&policy, NOON)));
        assert!(!record.charge(&policy, NOON - SECONDS_PER_DAY));
        let tomorrow = NOON + SECONDS_PER_DAY;
        assert!(record.charge(&policy, tomorrow));
        record.refund(NOON);
        assert_eq!((record.day_failures, record.generation_failures), (1, 5));
    }

    #[test]
    fn a_zero_budget_allows_nothing_and_the_end_of_time_does_not_wrap() {
        let mut record = AttemptRecord::default();
        assert!(!record.charge(&AttemptPolicy { per_day: 0, ..POLICY }, NOON));
        assert!(record.charge(&AttemptPolicy { consecutive: 0, ..POLICY }, u64::MAX - 1));
        assert_eq!(record.retry_at, u64::MAX);
    }
}
