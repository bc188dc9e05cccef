//! The uses of each API key: logins decided, subjects enrolled, requests refused. For bills and quotas, so it counts no subject.
//!
//! Each thread has its own counters. A task in the background adds new counts to the store, by day. A process that is killed loses counts
//! that were not added yet.

mod counts;

use crate::directory::Directory;
use crate::refused::Refused;
pub use counts::{KeyUses, Used};
use std::sync::PoisonError;
use trefoil_storage::store::{StoreError, Usage, UsageCounts};
use trefoil_types::{ApiKeyId, TenantId};

/// Days for which usage is kept, today among them.
pub const DAYS: u64 = 31;
/// API keys in one page of a tenant's usage.
const PAGE: usize = 64;
const DAY_S: u64 = 86_400;

impl Directory {
    /// Adds new counts to the store for the day of `now`, and deletes days before the last [`DAYS`]. For a
    /// task in the background, and once at the end.
    ///
    /// # Errors
    /// The counts are kept for the next time.
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
