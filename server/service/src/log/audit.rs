//! The audit trail: the changes that operators made and the actions that were refused to them, sealed in the log of decisions.
//!
//! A note is written in the transaction of its change, so neither exists without the other. It has the content of a receipt, and is then
//! sealed like one. A crash between the two leaves a note without a receipt, which the next start seals. If there was no room for a seal, the
//! next sweep makes it. A note that is sealed twice gives two leaves with the same digest.
//!
//! Some changes reach the key-holder before the store. A crash between the two leaves a change without a note: a count that was
//! reset, or a policy at the key-holder that is no version yet ([`crate::tenants::directory::Directory::set_policy`]).

use crate::log::Log;
use crate::log::seal_log::Answer;
use crate::refused::Refused;
use crate::tenants::notes::{By, Created, Noted, Outcome};
use std::sync::Arc;
use std::time::Duration;
use trefoil_attest::{Change, Kind, SERVICE, What};
use trefoil_storage::store::{AuditEntry, Once, StoreError};
use trefoil_types::TenantId;

/// Entries in one page of the trail.
const PAGE: usize = 256;
/// Notes that one sweep seals.
const SWEEP_MAX: usize = 1024;

impl Log {
    /// Writes a note for a change that has no transaction of its own in the store. Blocks.
    pub fn note(&self, tenant: TenantId, what: What, by: &By) -> Result<Noted, Refused> {
        self.notes.with((tenant, self.node.now(), what), Some(by), |note| self.node.store.note(note))
    }

    /// Creates an object, unless an earlier request of the operator with the same key did. Blocks.
    pub fn create_once<T>(
        &self,
        by: &By,
        create: impl FnOnce() -> Result<T, Refused>,
    ) -> Result<Outcome<T>, Refused> {
        let Some(once) = &by.once else { return create().map(Outcome::New) };
        // Idempotency keys of operators are separate from each other's and from tenants'.
        let key = format!("{}/{}", hex::encode(once.operator), once.key);
        let _running = self.creating.claim(SERVICE, &key)?;
        let earlier = || -> Result<Option<Outcome<T>>, Refused> {
            Ok(self.created(once)?.map(|(created, noted)| Outcome::Replayed(created, noted)))
        };
        if let Some(replayed) = earlier()? {
            return Ok(replayed);
        }
        match create() {
            Ok(created) => Ok(Outcome::New(created)),
            // Another node may have created it with this key meanwhile.
            Err(cause) if self.node.store.fleet().is_some() => earlier()?.ok_or(cause),
            Err(cause) => Err(cause),
        }
    }

    /// The object that an earlier request with the same key created, and its note; `None` if there was no such request.
    fn created(&self, once: &Once) -> Result<Option<(Created, Noted)>, Refused> {
        let Some((digest, entry)) = self.node.store.created(&once.operator, &once.key)? else {
            return Ok(None);
        };
        if digest != once.request_digest {
            return Err(Refused::IdempotencyKeyReused);
        }
        let AuditEntry { number, statement, .. } = entry;
        let change = Change::decode(&statement).map_err(Refused::fault)?;
        let created = match change.what {
            What::TenantCreated { .. } => Created::Tenant(change.tenant),
            What::ApiKeyCreated { key, .. } => Created::ApiKey(key),
            What::OperatorCreated { operator, .. } => Created::OperatorToken(operator, 1),
            What::OperatorTokenCreated { operator, token } => Created::OperatorToken(operator, token),
            other => return Err(Refused::fault(format_args!("{} is no creation", other.name()))),
        };
        Ok(Some((created, Noted { number, statement })))
    }

    /// Notes that an operator's role does not allow an action, and seals that.
    pub async fn note_refusal(self: &Arc<Self>, tenant: TenantId, action: Kind, by: By, patience: Duration) {
        // Refusals must not fill the disk.
        if self.check_room().is_err() {
            tracing::warn!(
                action = action.name(),
                "an operator was refused, and there is no room for a note"
            );
            return;
        }
        let service = Arc::clone(self);
        let note = move || service.note(tenant, What::Refused { action }, &by);
        match tokio::task::spawn_blocking(note).await {
            Ok(Ok(noted)) => drop(self.sealed(noted, patience).await),
            Ok(Err(cause)) => tracing::error!(%cause, action = action.name(), "a refusal has no note"),
            Err(cause) => tracing::error!(%cause, action = action.name(), "a refusal has no note"),
        }
    }

    /// Seals a note, and adds the receipt to its entry; `None` if that is not possible now, which the log reports.
    pub async fn sealed(self: &Arc<Self>, noted: Noted, patience: Duration) -> Option<Answer> {
        let answer = self.answered(self.record(noted.statement), patience).await?;
        let (service, number) = (Arc::clone(self), noted.number);
        let receipt = answer.compact()?;
        let kept = tokio::task::spawn_blocking(move || service.node.store.seal_note(number, receipt)).await;
        if !matches!(kept, Ok(Ok(()))) {
            tracing::warn!(entry = number, "an entry of the audit trail has no receipt yet");
        }
        Some(answer)
    }

    /// Seals a note, and blocks until then.
    pub(crate) fn seal_now(&self, noted: Noted) {
        let Noted { number, statement } = noted;
        let sealed = self.record(statement).ok().and_then(|answer| answer.blocking_recv().ok()?.ok());
        let receipt = sealed.and_then(|answer| answer.compact());
        if !matches!(receipt.map(|receipt| self.node.store.seal_note(number, receipt)), Some(Ok(()))) {
            tracing::warn!(entry = number, "an entry of the audit trail has no receipt yet");
        }
    }

    /// Seals notes that this process or one before it wrote and did not seal.
    pub async fn seal_notes(self: &Arc<Self>, patience: Duration) -> Result<(), StoreError> {
        let service = Arc::clone(self);
        let unsealed =
            tokio::task::spawn_blocking(move || service.node.store.unsealed_notes(SWEEP_MAX)).await;
        let unsealed = unsealed.map_err(|cause| StoreError::Fault(cause.to_string()))??;
        let notes: Vec<_> = unsealed
            .into_iter()
            .map(|AuditEntry { number, statement, .. }| Noted { number, statement })
            .map(|noted| tokio::spawn(Arc::clone(self).seal_one(noted, patience)))
            .collect();
        for note in notes {
            drop(note.await);
        }
        Ok(())
    }

    async fn seal_one(self: Arc<Self>, noted: Noted, patience: Duration) {
        drop(self.sealed(noted, patience).await);
    }

    /// A page of the trail of one tenant or of all, starting at an entry, and the start of the next page.
    pub fn audit(
        &self,
        from: u64,
        tenant: Option<&TenantId>,
    ) -> Result<(Vec<AuditEntry>, Option<u64>), Refused> {
        let mut entries = self.node.store.audit(from, tenant, PAGE + 1)?;
        let next = entries.get(PAGE).map(|entry| entry.number);
        entries.truncate(PAGE);
        Ok((entries, next))
    }
}
