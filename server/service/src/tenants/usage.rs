//! The uses of each API key: logins decided, subjects enrolled, requests refused. For bills and quotas, so it counts no subject.
//!
//! Each thread has its own counters. A task in the background adds new counts to the store, by day. A process that is killed loses counts
//! that were not added yet.

mod counts;

use crate::refused::Refused;
use crate::tenants::directory::Directory;
pub use counts::{Used, Uses};
use rand::RngExt as _;
use std::sync::{Arc, PoisonError};
use trefoil_storage::store::{StoreError, Usage, UsageCounts, UsageWrite};
use trefoil_types::{ApiKeyId, TenantId};

/// Days for which usage is kept, today among them.
pub const DAYS: u64 = 31;
/// API keys in one page of a tenant's usage.
const PAGE: usize = 64;
const DAY_S: u64 = 86_400;

/// The write of usage that is under way. One that failed may have been stored all the same, so it is repeated as it was, and the store adds it once.
pub(crate) struct Storing {
    write: UsageWrite,
    rows: Vec<(Usage, Arc<Uses>)>,
}

impl Storing {
    /// For a process that begins.
    pub(crate) fn new() -> Storing {
        Storing { write: UsageWrite { process: rand::rng().random(), number: 0 }, rows: Vec::new() }
    }

    /// The write that failed, or one of all new counts; `None` if there are none.
    fn next(
        &mut self,
        day: u64,
        uses: impl FnOnce() -> Vec<(TenantId, ApiKeyId, Arc<Uses>)>,
    ) -> Option<(UsageWrite, Vec<Usage>)> {
        if self.rows.is_empty() {
            let unstored = |(tenant, api_key, counted): (_, _, Arc<Uses>)| {
                let counts = counted.unstored();
                let is_new = counts != UsageCounts::default();
                is_new.then_some((Usage { tenant, api_key, day, counts }, counted))
            };
            self.rows = uses().into_iter().filter_map(unstored).collect();
            self.write.number += 1;
        }
        let rows: Vec<Usage> = self.rows.iter().map(|(row, _)| *row).collect();
        (!rows.is_empty()).then_some((self.write, rows))
    }

    /// Notes that the write is in the store.
    fn stored(&mut self) {
        self.rows.drain(..).for_each(|(row, counted)| counted.note_stored(&row.counts));
    }
}

impl Directory {
    /// Adds new counts to the store for the day of `now`, and deletes days before the last [`DAYS`]. For a
    /// task in the background, and once at the end.
    ///
    /// # Errors
    /// The counts are kept for the next time.
    pub fn store_usage(&self, now: u64) -> Result<(), StoreError> {
        let mut storing = self.storing_usage.lock().unwrap_or_else(PoisonError::into_inner);
        let day = now / DAY_S;
        let Some((write, rows)) = storing.next(day, || self.uses()) else { return Ok(()) };
        self.store.add_usage(write, rows, day.saturating_sub(DAYS - 1))?;
        storing.stored();
        Ok(())
    }

    /// A page of a tenant's stored usage, starting at an API key: each key by day, oldest first. And the start of the next page.
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

    /// Claim V124.
    #[test]
    fn a_write_whose_answer_was_lost_is_repeated_as_it_was() {
        let (tenant, api_key, uses) = (TenantId::new([1; 16]), ApiKeyId::new([2; 8]), Arc::default());
        let all = || vec![(tenant, api_key, Arc::clone(&uses))];
        let mut storing = Storing::new();
        assert_eq!(storing.next(5, all), None);
        uses.count(Used::Matched);
        let first = storing.next(6, all).unwrap();
        let counts = UsageCounts { matched: 1, ..UsageCounts::default() };
        assert_eq!(first.1, [Usage { tenant, api_key, day: 6, counts }]);
        uses.count(Used::Refused);
        assert_eq!(storing.next(7, all).unwrap(), first);
        storing.stored();
        let (write, rows) = storing.next(7, all).unwrap();
        let counts = UsageCounts { refusals: 1, ..UsageCounts::default() };
        assert_eq!(rows, [Usage { tenant, api_key, day: 7, counts }]);
        assert_eq!((write.process, write.number > first.0.number), (first.0.process, true));
        storing.stored();
        assert_eq!(storing.next(7, all), None);
    }
}
