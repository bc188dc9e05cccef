//! Tenants as the operator sees them.

use super::Directory;
use crate::problem::Problem;
use crate::tenant::{POLICY_ID, POLICY_VERSION, Tenant};
use trefoil_api::{Hex, ShownTenant, TenantPage, TenantSummary};
use trefoil_storage::store::TenantId;

/// Tenants in one page of the list.
const PAGE: usize = 256;

impl Directory {
    /// How many tenants there are.
    pub(crate) fn count(&self) -> usize {
        self.snapshot.load().tenants.len()
    }

    /// A page of the tenants, from an identifier on, ordered by identifier.
    pub(crate) fn tenants(&self, from: TenantId) -> TenantPage {
        let snapshot = self.snapshot.load();
        let mut all: Vec<_> = snapshot.tenants.values().filter(|tenant| tenant.id >= from).collect();
        all.sort_unstable_by_key(|tenant| tenant.id);
        let next = all.get(PAGE).map(|tenant| Hex(tenant.id));
        TenantPage { tenants: all.into_iter().take(PAGE).map(|tenant| summary(tenant)).collect(), next }
    }

    /// A tenant and its policy.
    pub(crate) fn show_tenant(&self, tenant: &TenantId) -> Result<ShownTenant, Problem> {
        let tenant = self.tenant(tenant)?;
        Ok(ShownTenant {
            summary: summary(&tenant),
            policy_id: POLICY_ID,
            policy_version: POLICY_VERSION,
            policy: tenant.policy.clone(),
            root_generation: tenant.roots.last().map(|root| root.generation),
        })
    }

    /// Disables a tenant or enables it; disabled again it keeps the first time.
    pub(crate) fn set_disabled(
        &self,
        tenant: &TenantId,
        disabled: bool,
        now: u64,
    ) -> Result<TenantSummary, Problem> {
        let _changing = self.change();
        let current = self.tenant(tenant)?;
        let disabled_at = disabled.then(|| current.disabled_at.unwrap_or(now));
        if disabled_at != current.disabled_at {
            self.store.set_tenant_disabled(tenant, disabled_at)?;
            self.publish(Tenant { disabled_at, ..Tenant::clone(&current) });
        }
        Ok(summary(&*self.tenant(tenant)?))
    }
}

fn summary(tenant: &Tenant) -> TenantSummary {
    TenantSummary {
        tenant_id: Hex(tenant.id),
        name: tenant.name.clone(),
        created_at: tenant.created_at,
        disabled_at: tenant.disabled_at,
    }
}
