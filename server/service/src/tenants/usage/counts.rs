//! The counts of one API key, or of one model of a tenant.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use thread_local::ThreadLocal;
use trefoil_storage::store::UsageCounts;

/// The counted events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Used {
    /// A login was decided with a match.
    Matched,
    /// A login was decided with none.
    NotMatched,
    /// A subject was enrolled.
    Enrolled,
    /// A request was refused, or failed; in a batch, one of its logins.
    Refused,
}

/// The counts of one API key since the process began, or of a model since the tenant's policy changed.
#[derive(Default)]
pub struct Uses {
    own: ThreadLocal<[AtomicU64; 4]>,
    /// The counts in the store. The task that stores them is the only writer.
    stored: [AtomicU64; 4],
}

impl Uses {
    /// Counts one.
    pub fn count(&self, used: Used) {
        let cell = &self.own.get_or_default()[used as usize];
        cell.store(cell.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// The counts since the process began.
    pub(crate) fn sums(&self) -> UsageCounts {
        let sum = |at: usize| self.own.iter().map(|own| own[at].load(Relaxed)).sum();
        counts([sum(0), sum(1), sum(2), sum(3)])
    }

    /// The counts that the store does not have yet.
    pub(super) fn unstored(&self) -> UsageCounts {
        let stored = counts([0, 1, 2, 3].map(|at: usize| self.stored[at].load(Relaxed)));
        self.sums().less(&stored)
    }

    pub(super) fn note_stored(&self, more: &UsageCounts) {
        let UsageCounts { matched, not_matched, enrolments, refusals } = *more;
        for (cell, more) in self.stored.iter().zip([matched, not_matched, enrolments, refusals]) {
            cell.store(cell.load(Relaxed).wrapping_add(more), Relaxed);
        }
    }
}

fn counts([matched, not_matched, enrolments, refusals]: [u64; 4]) -> UsageCounts {
    UsageCounts { matched, not_matched, enrolments, refusals }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_apart_and_what_is_stored_is_not_stored_again() {
        let uses = Uses::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    (0..100).for_each(|_| uses.count(Used::Matched));
                    uses.count(Used::Refused);
                });
            }
        });
        let all = UsageCounts { matched: 400, refusals: 4, ..UsageCounts::default() };
        assert_eq!((uses.sums(), uses.unstored()), (all, all));
        uses.note_stored(&all);
        uses.count(Used::Enrolled);
        assert_eq!(uses.unstored(), UsageCounts { enrolments: 1, ..UsageCounts::default() });
        assert_eq!(uses.sums(), UsageCounts { enrolments: 1, ..all });
    }
}
