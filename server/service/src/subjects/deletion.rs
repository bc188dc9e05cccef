//! Deletes a tenant: destroys all its data except the log of its roots, with which others verify.
//!
//! The key-holder comes first: once it has forgotten the tenant's keys and salts, no copy of a template can be decrypted, whatever happens
//! next. After a crash, repeating the request completes the deletion.

use crate::refused::Refused;
use crate::subjects::Subjects;
use crate::tenants::notes::{By, Noted};
use crate::tenants::tenant::Tenant;
use std::sync::PoisonError;
use trefoil_attest::What;
use trefoil_matching::{KeyHolderError, TemplateName};
use trefoil_storage::store::{Handle, TenantId};

/// Templates read at a time.
const CHUNK: usize = 256;

/// The data that was destroyed.
pub struct Deleted {
    /// Templates.
    pub templates: u64,
    /// When, Unix seconds.
    pub at: u64,
    /// The note of the deletion.
    pub noted: Noted,
}

impl Subjects {
    /// Deletes a tenant that is disabled. Blocks.
    pub fn delete_tenant(&self, tenant: &TenantId, by: &By) -> Result<Deleted, Refused> {
        self.node.check_vaults()?;
        let current = self.tenants.tenant(tenant)?;
        if current.disabled_at.is_none() {
            return Err(Refused::TenantEnabled);
        }
        let [key] = &current.keys[..] else { return Err(Refused::TenantRotates) };
        // Changes that were requested before the tenant was disabled are stored by now.
        drop(self.enrolling.write().unwrap_or_else(PoisonError::into_inner));
        let templates = self.node.store.count_epoch(tenant, key.epoch())?;
        self.destroy_keys(&current, key.epoch())?;
        let at = self.node.now();
        let what = (*tenant, at, What::TenantDeleted { templates });
        let noted = self.tenants.delete(what, by)?;
        self.templates.remove_tenant(tenant);
        Ok(Deleted { templates, at, noted })
    }

    /// Makes the key-holder forget the keys of the tenant's templates: the keys of their epoch with every salt, in one transaction. Three
    /// key-holders have no second epoch, and forget template by template.
    fn destroy_keys(&self, tenant: &Tenant, epoch: u32) -> Result<(), Refused> {
        match self.node.key_holder.begin_rotation(tenant.id) {
            Ok(_) => Ok(self.node.key_holder.finish_rotation(tenant.id, epoch)?),
            Err(KeyHolderError::Forbidden(_)) => self.shred_all(tenant),
            Err(cause) => Err(cause.into()),
        }
    }

    fn shred_all(&self, tenant: &Tenant) -> Result<(), Refused> {
        let mut from = Handle::new([0; 32]);
        loop {
            let subjects = self.node.store.subjects(&tenant.id, &from, CHUNK + 1)?;
            for subject in subjects.iter().take(CHUNK) {
                let (handle, generation) = (subject.handle, subject.generation);
                self.node.key_holder.shred(TemplateName { tenant: tenant.id, handle, generation })?;
            }
            match subjects.get(CHUNK) {
                Some(next) => from = next.handle,
                None => return Ok(()),
            }
        }
    }
}
