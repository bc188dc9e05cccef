//! Tenants as the operator sees them.

use super::{Directory, Snapshot};
use crate::refused::Refused;
use crate::tenants::notes::{By, Noted};
use crate::tenants::tenant::Tenant;
use std::sync::Arc;
use trefoil_attest::What;
use trefoil_storage::store::TenantId;

/// Tenants in one page of the list.
const PAGE: usize = 256;

impl Directory {
    /// How many tenants there are.
    pub fn count(&self) -> usize {
        self.snapshot.load().tenants.len()
    }

    /// A page of the tenants ordered by identifier, starting at an identifier, and the start of the next page.
    pub fn tenants(&self, from: TenantId) -> (Vec<Arc<Tenant>>, Option<TenantId>) {
        let snapshot = self.snapshot.load();
        let mut all: Vec<_> = snapshot.tenants.values().filter(|tenant| tenant.id >= from).cloned().collect();
        all.sort_unstable_by_key(|tenant| tenant.id);
        let next = all.get(PAGE).map(|tenant| tenant.id);
        all.truncate(PAGE);
        (all, next)
    }

    /// Deletes a tenant, here and in the store.
    pub(crate) fn delete(
        &self,
        (tenant, at, what): (TenantId, u64, What),
        by: &By,
    ) -> Result<Noted, Refused> {
        let _changing = self.change()?;
        let current = self.tenant(&tenant)?;
        let noted = self
            .notes
            .with((tenant, at, what), Some(by), |note| self.store.delete_tenant(&tenant, at, note))?;
        let mut snapshot = Snapshot::clone(&self.snapshot.load());
        snapshot.tenants.remove(&tenant);
        snapshot.api_keys.retain(|_, key| key.tenant() != tenant);
        snapshot.deleted.insert(tenant, current.issuer_keys.clone());
        self.registry.remove(&tenant);
        self.snapshot.store(Arc::new(snapshot));
        Ok(noted)
    }

    /// Disables or enables a tenant. Disabling it again keeps the first time.
    pub fn set_disabled(
        &self,
        tenant: &TenantId,
        disabled: bool,
        by: &By,
        now: u64,
    ) -> Result<(Arc<Tenant>, Option<Noted>), Refused> {
        let _changing = self.change()?;
        let current = self.tenant(tenant)?;
        let disabled_at = disabled.then(|| current.disabled_at.unwrap_or(now));
        if disabled_at == current.disabled_at {
            return Ok((current, None));
        }
        let what = if disabled { What::TenantDisabled } else { What::TenantEnabled };
        let noted = self.notes.with((*tenant, now, what), Some(by), |note| {
            self.store.set_tenant_disabled(tenant, disabled_at, note)
        })?;
        self.publish(Tenant { disabled_at, ..Tenant::clone(&current) });
        Ok((self.tenant(tenant)?, Some(noted)))
    }
}
