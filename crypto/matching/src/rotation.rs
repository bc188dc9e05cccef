//! New keys for a tenant, template by template, while the old ones still decide.
//!
//! A rotation starts with a second epoch beside the first. Each template is then renewed: the matcher blinds it, the
//! key-holder opens the blinded one under the old keys and encrypts it under the new, as another generation of the subject. The
//! old generation remains valid until the end, for batches that hold it, and both spend one budget of attempts. At the end the old
//! master key and all salts of the old epoch are erased.
//!
//! Every step is idempotent. A repeated renewal has a higher generation and replaces the previous one, and a
//! delayed request has a lower one and is refused: nothing stored is ever reverted.

use crate::KeyHolderError;
use crate::key_holder::{KeyHolder, known};
use crate::{
    AttemptRecord, BlindedCiphertext, EncryptedTemplate, PublicKey, SubjectRecord, Template, TemplateName,
    TenantId,
};

impl KeyHolder {
    /// Starts a rotation of the tenant's keys, or returns the result of the one in progress: the next public key. Enrolments use it from
    /// now on.
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant is unknown or the vault fails.
    pub fn begin_rotation(&self, tenant: TenantId) -> Result<PublicKey, KeyHolderError> {
        let tenants = self.tenants();
        let of = known(&tenants, &tenant)?;
        let next = of.newest()?.number() + 1;
        of.add_epoch(self.vault(), self.fresh_epoch(next))?;
        of.public_keys().pop().ok_or(KeyHolderError::UnknownTenant)
    }

    /// Encrypts a blinded template under the next keys, as generation `to`, which is higher than any other of the subject.
    ///
    /// Whether it is malformed is an answer like any other, so a failed attempt of the template's generation is charged before it is
    /// opened; an honest one gets its failure refunded.
    ///
    /// # Errors
    /// [`KeyHolderError::Malformed`], which is counted, when the blinded template is not an honest matcher's;
    /// [`KeyHolderError::NoAttempts`] when its attempts are used up permanently; [`KeyHolderError`] also when no rotation is in progress, the
    /// subject is not there or `to` is not higher.
    pub fn renew(
        &self,
        name: TemplateName,
        to: u32,
        blinded: &BlindedCiphertext,
    ) -> Result<EncryptedTemplate, KeyHolderError> {
        let TemplateName { tenant, handle, generation: from } = name;
        let tenants = self.tenants();
        let of = known(&tenants, &tenant)?;
        let renewal = of.renewal(self.vault(), &handle, from)?;
        let opened = renewal.old.open_blinded(&renewal.key, renewal.lane, renewal.model.width(), blinded);
        of.conclude(self.vault(), renewal.malformed, opened.is_some())?;
        let share = opened.ok_or(KeyHolderError::Malformed)?;
        renewal.ledger.renewed();
        let (lane, model, epoch) = (renewal.lane, renewal.model, renewal.new.number());
        let (mut salt, mut rng) = ([0; 32], self.generator());
        rng.fill(&mut salt);
        let (renewed_from, attempts) = (Some(from), AttemptRecord::default());
        let record =
            SubjectRecord { handle, generation: to, lane, model, epoch, renewed_from, salt, attempts };
        of.succeed(self.vault(), &renewal.new, from, &record)?;
        let ciphertext = renewal.new.encrypt(&record, &share, &mut rng);
        let template = Template { tenant, handle, generation: to, lane, model, epoch, ciphertext };
        Ok(EncryptedTemplate { template })
    }

    /// Ends a rotation: erases the master key of `epoch` and the salts of all subjects of it. Doing it twice succeeds.
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant is unknown, the epoch is the only one or the newest, or the vault fails.
    pub fn finish_rotation(&self, tenant: TenantId, epoch: u32) -> Result<(), KeyHolderError> {
        known(&self.tenants(), &tenant)?.erase_epoch(self.vault(), epoch)
    }
}
