//! Scores from jobs, by reading the key-holder's vault. Nothing that serves requests can do this: it takes a
//! dependency on `trefoil-bfv`, which the workspace allows to no other program.

use std::collections::HashMap;

use trefoil_bfv::{Decryptor, MaskedBatch, MasterKey, Salt, Scheme, Shape, SubjectKey};
use trefoil_matching::{Handle, LANES, MatchJob, MemoryVault, SubjectRecord, TenantId, Vault as _};

use crate::Failure;

/// The template keys of a tenant, derived as the key-holder derives them.
pub(super) struct Keys(HashMap<(Handle, u32), SubjectKey>);

impl Keys {
    /// Derives the keys of all subjects that `vault` holds for `tenant`.
    ///
    /// # Errors
    /// When the vault does not know the tenant.
    pub(super) fn of(vault: &MemoryVault, tenant: &TenantId) -> Result<Self, Failure> {
        let tenants = vault.tenants().map_err(Failure::in_step("vault"))?;
        let record = tenants.iter().find(|record| record.tenant == *tenant);
        let record = record.ok_or_else(|| Failure::fault("the vault does not know the tenant"))?;
        let epoch = record.epochs.last().ok_or_else(|| Failure::fault("the tenant has no keys"))?;
        let master = MasterKey::from_bytes(epoch.master);
        let subjects = vault.subjects(tenant).map_err(Failure::in_step("vault"))?;
        let key = |subject: SubjectRecord| {
            let salt = Salt::from_bytes(subject.salt);
            let name = (subject.handle, subject.generation);
            (name, master.subject_key(&subject.handle, subject.generation, &salt))
        };
        Ok(Keys(subjects.into_iter().map(key).collect()))
    }
}

/// One thread's decryption.
pub(super) struct Opener<'a> {
    keys: &'a Keys,
    decryptor: Decryptor,
}

impl<'a> Opener<'a> {
    /// Under these keys.
    pub(super) fn new(keys: &'a Keys) -> Self {
        Opener { keys, decryptor: Decryptor::new(Scheme::shared()) }
    }

    /// The scores of all lanes; those of empty lanes are meaningless. The job is read back from the bytes that would
    /// go to a remote key-holder.
    ///
    /// # Errors
    /// When the job's encoding, subjects or noise are not those of an honest matcher.
    pub(super) fn scores(&mut self, job: &MatchJob) -> Result<[i32; LANES], Failure> {
        let (scheme, shape) = (Scheme::shared(), Shape::of(job.model.width(), job.occupied().bits()));
        let bytes = job.to_bytes();
        let masked = bytes
            .len()
            .checked_sub(scheme.masked_bytes(shape))
            .and_then(|header| bytes.get(header..))
            .ok_or_else(|| Failure::fault("the job is shorter than its ciphertexts"))?;
        let masked =
            MaskedBatch::from_bytes(scheme, shape, masked).map_err(Failure::in_step("masked batch"))?;
        let lanes = job.subjects.iter().enumerate();
        let keys = lanes
            .filter_map(|(lane, subject)| Some((lane, subject.as_ref()?)))
            .map(|(lane, subject)| Some((lane, self.keys.0.get(subject)?)))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| Failure::fault("the job names a subject that was not enrolled"))?;
        let opened = self.decryptor.decrypt(keys, &masked);
        if !opened.within_band() {
            return Err(Failure::fault("the noise of a job is outside the band of an honest matcher"));
        }
        Ok(*opened.scores())
    }
}
