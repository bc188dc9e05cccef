//! What each API key was used for: logins decided, subjects enrolled, requests refused. For bills and quotas, so it counts no subject.
//!
//! Each thread counts for itself; a task in the background adds what came since to the store, by day. A process that is killed loses what
//! it had not added yet.

#![expect(
    clippy::disallowed_types,
    reason = "between the task that stores and the one that stops, off the path of a login"
)]

use crate::directory::Directory;
use crate::refused::Refused;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use thread_local::ThreadLocal;
use trefoil_storage::store::{StoreError, Usage, UsageCounts};
use trefoil_types::{ApiKeyId, TenantId};

/// Days for which usage is kept, today among them.
pub const DAYS: u64 = 31;
/// API keys in one page of a tenant's usage.
const PAGE: usize = 64;
const DAY_S: u64 = 86_400;

/// What is counted.
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

/// The counts of one API key since the process began.
#[derive(Default)]
pub struct KeyUses {
    own: ThreadLocal<[AtomicU64; 4]>,
    /// What the store has of them. The task that stores is the only writer.
    stored: [AtomicU64; 4],
}

impl KeyUses {
    /// Counts one.
    pub fn count(&self, used: Used) {
        let cell = &self.own.get_or_default()[used as usize];
        cell.store(cell.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Since the process began.
    pub(crate) fn sums(&self) -> UsageCounts {
        let sum = |at: usize| self.own.iter().map(|own| own[at].load(Relaxed)).sum();
        counts([sum(0), sum(1), sum(2), sum(3)])
    }

    /// What the store does not have yet.
    fn unstored(&self) -> UsageCounts {
        let stored = counts([0, 1, 2, 3].map(|at: usize| self.stored[at].load(Relaxed)));
        self.sums().less(&stored)
    }

    fn note_stored(&self, more: &UsageCounts) {
        let UsageCounts { matched, not_matched, enrolments, refusals } = *more;
        for (cell, more) in self.stored.iter().zip([matched, not_matched, enrolments, refusals]) {
            cell.store(cell.load(Relaxed).wrapping_add(more), Relaxed);
        }
    }
}

fn counts([matched, not_matched, enrolments, refusals]: [u64; 4]) -> UsageCounts {
    UsageCounts { matched, not_matched, enrolments, refusals }
}

impl Directory {
    /// Adds what was counted since the last time to the store, as of the day of `now`, and forgets days before the last [`DAYS`]. For a
    /// task in the background, and once at the end.
    ///
    /// # Errors
    /// What was counted is kept for the next time.
    pub fn store_usage(&self, now: u64) -> Result<(), StoreError> {
        let _storing = self.storing_usage.lock().unwrap_or_else(PoisonError::into_inner);
        let day = now / DAY_S;
        let mut rows = Vec::new();
        let mut uses = Vec::new();
        for (tenant, api_key, counted) in self.uses() {
            let more = counted.unstored();
            if more != UsageCounts::default() {
                rows.push(Usage { tenant, api_key, day, counts: more });
                uses.push((counted, more));
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        self.store.add_usage(rows, day.saturating_sub(DAYS - 1))?;
        uses.iter().for_each(|(counted, more)| counted.note_stored(more));
        Ok(())
    }

    /// A page of a tenant's stored usage, of API keys from one on: each key by day, oldest first. And where the next page begins.
    ///
    /// # Errors
    /// The tenant is unknown, or the store faults.
    pub fn usage(
        &self,
        tenant: &TenantId,
        from: ApiKeyId,
        now: u64,
    ) -> Result<(Vec<Usage>, Option<ApiKeyId>), Refused> {
        self.tenant(tenant)?;
        let since = (now / DAY_S).saturating_sub(DAYS - 1);
        let mut rows = self.store.usage(tenant, from, since, PAGE + 1)?;
        let mut keys: Vec<ApiKeyId> = rows.iter().map(|row| row.api_key).collect();
        keys.dedup();
        let next = keys.get(PAGE).copied();
        rows.retain(|row| next.is_none_or(|next| row.api_key < next));
        Ok((rows, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_apart_and_what_is_stored_is_not_stored_again() {
        let uses = KeyUses::default();
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
