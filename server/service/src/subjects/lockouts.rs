//! Subjects that have no attempt left for now: counts them, and ends the delay of one.

use crate::refused::Refused;
use crate::subjects::Subjects;
use crate::tenants::notes::{By, Noted};
use trefoil_attest::What;
use trefoil_matching::{KeyHolderError, TemplateName};
use trefoil_types::{Handle, TenantId};

impl Subjects {
    /// How many subjects of a tenant have no attempt now; `None` if the key-holder, or two of three, cannot say. Blocks.
    pub fn locked_out(&self, tenant: &TenantId) -> Option<u64> {
        self.node.key_holder.locked_out(*tenant).ok()
    }

    /// Ends the delay of a subject and forgets its failures of the day. Blocks.
    ///
    /// A key-holder in another process does this only for its own operator: a gateway that could do it would have unlimited failures a day.
    pub fn reset_attempts(&self, tenant: &TenantId, handle: &Handle, by: &By) -> Result<Noted, Refused> {
        self.node.check_vaults()?;
        self.tenants.tenant(tenant)?;
        let template = self.node.store.template(tenant, handle)?.ok_or(Refused::SubjectUnknown)?;
        let generation = template.subject.generation;
        let name = TemplateName { tenant: *tenant, handle: *handle, generation };
        match self.node.key_holder.reset_attempts(name) {
            Ok(()) => self.log.note(*tenant, What::AttemptsReset, by),
            Err(KeyHolderError::UnknownSubjects(_)) => Err(Refused::SubjectUnknown),
            // Its operator's command needs the generation, which only this side knows.
            Err(KeyHolderError::Forbidden(why)) => Err(Refused::KeyHolderForbids(format!(
                "{why}; its operator resets them with `trefoil key-holder reset-attempts TENANT HANDLE --generation {generation}`, at each of three key-holders"
            ))),
            Err(cause) => Err(cause.into()),
        }
    }
}
