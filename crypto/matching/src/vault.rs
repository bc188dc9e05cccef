//! Where the key-holder keeps what must outlive the process.

use crate::{AttemptRecord, DecisionPolicy, Handle, Lane, TenantId};

/// Durable memory of a key-holder: tenant masters, subject salts, attempt records.
///
/// Whoever reads a vault can decrypt; whoever erases a salt has shredded its template. An implementation returns
/// from a write only when the data is durable, and from [`Vault::delete_subject`] only when the salt is gone.
pub trait Vault: Send + Sync {
    /// Every tenant. Called once, when the key-holder starts.
    ///
    /// # Errors
    /// [`VaultError`] when the memory cannot be read.
    fn tenants(&self) -> Result<Vec<TenantRecord>, VaultError>;
    /// Every subject of `tenant`. Called once per tenant, when the key-holder starts.
    ///
    /// # Errors
    /// [`VaultError`] when the memory cannot be read.
    fn subjects(&self, tenant: &TenantId) -> Result<Vec<SubjectRecord>, VaultError>;
    /// Writes or replaces the record of a tenant.
    ///
    /// # Errors
    /// [`VaultError`] when the write is not durable.
    fn put_tenant(&self, record: &TenantRecord) -> Result<(), VaultError>;
    /// Writes a new subject.
    ///
    /// # Errors
    /// [`VaultError`] when the write is not durable.
    fn put_subject(&self, tenant: &TenantId, record: &SubjectRecord) -> Result<(), VaultError>;
    /// Erases a subject's salt and attempts. Erasing an absent subject succeeds.
    ///
    /// # Errors
    /// [`VaultError`] when the erasure is not durable.
    fn delete_subject(&self, tenant: &TenantId, handle: &Handle, generation: u32) -> Result<(), VaultError>;
    /// Updates the attempt records of subjects that exist; others are ignored.
    ///
    /// # Errors
    /// [`VaultError`] when the write is not durable.
    fn put_attempts(
        &self,
        tenant: &TenantId,
        records: &[(Handle, u32, AttemptRecord)],
    ) -> Result<(), VaultError>;
}

/// A tenant as the vault keeps it.
#[derive(Clone)]
pub struct TenantRecord {
    /// The tenant.
    pub tenant: TenantId,
    /// The master key from which every subject's key is derived. Secret.
    pub master: [u8; 32],
    /// The seed of the public basis.
    pub basis_seed: [u8; 32],
    /// Threshold and attempt budget.
    pub policy: DecisionPolicy,
    /// Set by the third malformed job in an hour; nothing is decided until it is lifted.
    pub frozen: bool,
}

/// A subject as the vault keeps it.
#[derive(Clone)]
pub struct SubjectRecord {
    /// The subject.
    pub handle: Handle,
    /// Which of the subject's templates this is.
    pub generation: u32,
    /// The lane of the template.
    pub lane: Lane,
    /// The salt of the subject's key. Secret; without it the template cannot be decrypted.
    pub salt: [u8; 32],
    /// Failures so far.
    pub attempts: AttemptRecord,
}

/// The vault could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[error("the key-holder's vault failed: {0}")]
pub struct VaultError(pub String);

/// A vault that forgets everything with the process. For tests, benchmarks and demonstrations.
#[derive(Default)]
pub struct MemoryVault(());

impl Vault for MemoryVault {
    fn tenants(&self) -> Result<Vec<TenantRecord>, VaultError> {
        todo!()
    }
    fn subjects(&self, _tenant: &TenantId) -> Result<Vec<SubjectRecord>, VaultError> {
        todo!()
    }
    fn put_tenant(&self, _record: &TenantRecord) -> Result<(), VaultError> {
        todo!()
    }
    fn put_subject(&self, _tenant: &TenantId, _record: &SubjectRecord) -> Result<(), VaultError> {
        todo!()
    }
    fn delete_subject(
        &self,
        _tenant: &TenantId,
        _handle: &Handle,
        _generation: u32,
    ) -> Result<(), VaultError> {
        todo!()
    }
    fn put_attempts(
        &self,
        _tenant: &TenantId,
        _records: &[(Handle, u32, AttemptRecord)],
    ) -> Result<(), VaultError> {
        todo!()
    }
}
