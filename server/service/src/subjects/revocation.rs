//! Revocation of a subject: its logins are refused and its sessions end, but its record stays.
//!
//! The store notes it first, so this service refuses from then on, whatever happens next. Then the key-holder forgets the key of the template: from
//! then on nobody can decide with it, a gateway that ignores its own note neither, and a login in flight is refused by the key-holder as one with a
//! deleted template is. Only a replacement makes the subject active again.

use crate::log::seal_log::Answer;
use crate::node::blocking;
use crate::refused::Refused;
use crate::subjects::Subjects;
use crate::tenants::tenant::Tenant;
use std::sync::Arc;
use std::time::Duration;
use trefoil_attest::What;
use trefoil_matching::TemplateName;
use trefoil_storage::store::{Handle, Revocation, StoreError, TenantId};

/// A subject that is revoked.
pub struct Revoked {
    /// Generation of its template, which decides no login any more.
    pub generation: u32,
    /// When it was revoked first, Unix seconds.
    pub revoked_at: u64,
    /// The receipt, if it could be sealed.
    pub receipt: Option<Answer>,
}

impl Subjects {
    /// Revokes a subject with a template. A repetition completes a revocation that stopped, keeps the time of the first, and seals another receipt.
    /// Waits for the receipt no longer than `patience`.
    ///
    /// Sessions that are open now end. One that is opened later is of use only once the subject is active again.
    pub async fn revoke(
        self: &Arc<Self>,
        tenant: &Arc<Tenant>,
        handle: Handle,
        patience: Duration,
    ) -> Result<Revoked, Refused> {
        let (service, id) = (Arc::clone(self), tenant.id);
        // In one task, which goes on if the caller goes away.
        let (revocation, forgotten) = blocking(move || {
            let revocation = service.note_revocation(&id, &handle)?;
            let name = TemplateName { tenant: id, handle, generation: revocation.generation };
            Ok((revocation, service.forget_revoked(name)))
        })
        .await?;
        self.sessions.rows.end_all_of(tenant, handle, self.node.now()).await?;
        forgotten?;
        let Revocation { generation, revoked_at } = revocation;
        let what = What::Revoked { handle, generation };
        let receipt = self.log.receipt(id, revoked_at, what, patience).await;
        Ok(Revoked { generation, revoked_at, receipt })
    }

    /// Notes a revocation in the store, also on a full disk.
    fn note_revocation(&self, tenant: &TenantId, handle: &Handle) -> Result<Revocation, Refused> {
        let revoke = || self.node.store.revoke_subject(tenant, handle, self.node.now());
        let revoked =
            self.node.disk.with_reserve(revoke, StoreError::is_fault)?.ok_or(Refused::SubjectUnknown)?;
        self.templates.remove(tenant, handle);
        Ok(revoked)
    }

    /// Makes the key-holder forget the template's key, now or later.
    fn forget_revoked(&self, name: TemplateName) -> Result<(), Refused> {
        let forgotten = self.forget(name);
        // Again: a login that read the template before the note may have put it back.
        self.templates.remove(&name.tenant, &name.handle);
        forgotten
    }
}
