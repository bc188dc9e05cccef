//! What each API key was used for: logins decided, subjects enrolled, requests refused. For bills and quotas, so it counts no subject.
//!
//! Each thread counts for itself; a task in the background adds what came since to the store, by day. A process that is killed loses what
//! it had not added yet.

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
