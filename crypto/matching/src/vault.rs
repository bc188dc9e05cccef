//! The key-holder's durable state.

use crate::names::ByName;
use crate::{AttemptRecord, DecisionPolicy, Handle, KeyStructure, Lane, MALFORMED_MAX, Model, TenantId};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
#[expect(clippy::disallowed_types, reason = "a vault in memory is for tests and benchmarks")]
use std::sync::{Mutex, MutexGuard};
use zeroize::{Zeroize, Zeroizing};

/// Durable memory of a key-holder: tenant masters, subject salts, attempt records.
///
/// Anybody who reads a vault can decrypt, and erasing a salt shreds its template. Except for attempts, an implementation
/// returns from a write only when the data is durable, and from [`Vault::delete_subject`] only when the salt is gone. The
/// key-holder reads everything when it starts, keeps it in memory, and never makes two writes for one tenant at a time.
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

    /// Writes or replaces the record of a tenant. Epochs that the record does not have stay.
    ///
    /// # Errors
    /// [`VaultError`] when the write is not durable.
    fn put_tenant(&self, record: &TenantRecord) -> Result<(), VaultError>;

    /// Erases the master key of an epoch and the salts of every subject of it, at once.
    ///
    /// # Errors
    /// [`VaultError`] when the erasure is not durable.
    fn erase_epoch(&self, tenant: &TenantId, epoch: u32) -> Result<(), VaultError>;

    /// The key that opens sealed shares, as [`Vault::put_opening_key`] wrote it.
    ///
    /// # Errors
    /// [`VaultError`] when the memory cannot be read.
    fn opening_key(&self) -> Result<Option<Zeroizing<Vec<u8>>>, VaultError>;

    /// Writes the key that opens sealed shares. Secret.
    ///
    /// # Errors
    /// [`VaultError`] when the write is not durable.
    fn put_opening_key(&self, key: &[u8]) -> Result<(), VaultError>;

    /// Up to when sealed shares may have been opened, in unix seconds; 0 if none was.
    ///
    /// # Errors
    /// [`VaultError`] when the memory cannot be read.
    fn opened_until(&self) -> Result<u64, VaultError>;

    /// Notes that shares that were sealed up to then may be opened from now on. What is noted only rises.
    ///
    /// # Errors
    /// [`VaultError`] when the write is not durable.
    fn put_opened_until(&self, time: u64) -> Result<(), VaultError>;

    /// Writes a new subject. A subject that was renewed from the same generation as this one, under the same keys, is erased in the same
    /// write, so that there are never two candidates for the renewed generation.
    ///
    /// # Errors
    /// [`VaultError`] when the write is not durable.
    fn put_subject(&self, tenant: &TenantId, record: &SubjectRecord) -> Result<(), VaultError>;

    /// Erases a subject's salt and attempts. Erasing an absent subject succeeds.
    ///
    /// # Errors
    /// [`VaultError`] when the erasure is not durable.
    fn delete_subject(&self, tenant: &TenantId, handle: &Handle, generation: u32) -> Result<(), VaultError>;

    /// Updates the attempt records of subjects that exist and whose record is older, by [`AttemptRecord::version`]; others are ignored.
    /// Called for a batch that has a failure or attempts that are not reserved yet, on the thread that decides: it may return before
    /// the write is durable, if a write that fails makes every later call fail until one is durable again.
    ///
    /// # Errors
    /// [`VaultError`] when this write, or an earlier one, cannot be made durable.
    fn put_attempts(
        &self,
        tenant: &TenantId,
        records: &[(Handle, u32, AttemptRecord)],
    ) -> Result<(), VaultError>;

    /// The state that identifies this vault.
    fn state(&self) -> VaultState;
}

/// Distinguishes a vault from an older copy of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VaultState {
    /// Counts the writes that are durable. A vault that shows a lower count than it once did is an older copy.
    pub generation: u64,
    /// How often its operator deliberately accepted an older copy.
    pub restored: u64,
}

/// The signed head of a key-holder's job log: its lines, and the digest of the last.
pub type JobsHead = (u64, [u8; 32]);

/// A tenant's record in the vault.
#[derive(Clone)]
pub struct TenantRecord {
    /// The tenant.
    pub tenant: TenantId,
    /// The key structure, which never changes.
    pub keys: KeyStructure,
    /// The keys in use, oldest first: two while they are rotated.
    pub epochs: Vec<EpochRecord>,
    /// Threshold and attempt budget.
    pub policy: DecisionPolicy,
    /// Malformed jobs so far. Each renews the tenant's tag keys, so that knowledge of the previous ones is of no use.
    pub malformed: u32,
    /// Malformed jobs that an operator has investigated.
    pub forgiven: u32,
}

impl TenantRecord {
    /// Whether nothing is decided until an operator has investigated the malformed jobs.
    pub fn is_frozen(&self) -> bool {
        self.malformed.saturating_sub(self.forgiven) >= MALFORMED_MAX
    }
}

/// One epoch of a tenant's keys. Its secrets are wiped on drop.
#[derive(Clone)]
pub struct EpochRecord {
    /// Counts the rotations.
    pub epoch: u32,
    /// The master key from which every key of the epoch is derived. Secret.
    pub master: [u8; 32],
    /// The seed of the public key.
    pub seed: [u8; 32],
    /// The secrets of the two summands of this key-holder's tag keys. In a quorum each is known to one of the others.
    pub tags: [[u8; 32]; 2],
}

/// A subject's record in the vault. The salt is wiped on drop.
#[derive(Clone)]
pub struct SubjectRecord {
    /// The subject.
    pub handle: Handle,
    /// Which of the subject's templates this is.
    pub generation: u32,
    /// The lane of the template.
    pub lane: Lane,
    /// The model of its vector.
    pub model: Model,
    /// The epoch of the tenant's keys that the template is under.
    pub epoch: u32,
    /// The generation under the keys before that this one was made of while keys were rotated, if it was. Their attempts are
    /// counted together.
    pub renewed_from: Option<u32>,
    /// The salt of the subject's key. Secret; without it the template cannot be decrypted.
    pub salt: [u8; 32],
    /// Attempts so far.
    pub attempts: AttemptRecord,
}

impl Drop for EpochRecord {
    fn drop(&mut self) {
        self.master.zeroize();
        self.tags.zeroize();
    }
}

impl Drop for SubjectRecord {
    fn drop(&mut self) {
        self.salt.zeroize();
    }
}

/// A vault operation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key-holder's vault failed: {0}")]
pub struct VaultError(pub String);

/// A vault that forgets everything with the process. For tests, benchmarks and demonstrations.
#[derive(Default)]
pub struct MemoryVault {
    #[expect(clippy::disallowed_types, reason = "see MemoryVault")]
    records: Mutex<Records>,
    before: Option<Box<BeforeWrites>>,
}

type BeforeWrites = dyn Fn(Write<'_>) -> Result<(), VaultError> + Send + Sync;

/// What a [`MemoryVault`] is about to write.
#[derive(Clone, Copy)]
pub enum Write<'a> {
    /// [`Vault::put_tenant`].
    Tenant(&'a TenantRecord),
    /// [`Vault::put_subject`].
    Subject,
    /// [`Vault::put_attempts`].
    Attempts,
    /// [`Vault::erase_epoch`] and [`Vault::delete_subject`].
    Erasure,
    /// [`Vault::put_opening_key`] and [`Vault::put_opened_until`].
    Opening,
}

#[derive(Default)]
struct Records {
    tenants: HashMap<TenantId, TenantRecord>,
    subjects: HashMap<TenantId, ByName<Box<SubjectRecord>>>,
    opening_key: Option<Zeroizing<Vec<u8>>>,
    opened_until: u64,
    writes: u64,
}

impl MemoryVault {
    /// A vault that calls `before` before each write, which may wait, or fail in place of the write.
    pub fn with(before: impl Fn(Write<'_>) -> Result<(), VaultError> + Send + Sync + 'static) -> MemoryVault {
        MemoryVault { before: Some(Box::new(before)), ..MemoryVault::default() }
    }

    fn records(&self) -> Result<MutexGuard<'_, Records>, VaultError> {
        self.records.lock().map_err(|_| VaultError("a thread panicked while it held the records".into()))
    }

    fn write(&self, write: Write<'_>) -> Result<MutexGuard<'_, Records>, VaultError> {
        self.before.as_ref().map_or(Ok(()), |before| before(write))?;
        let mut records = self.records()?;
        records.writes += 1;
        Ok(records)
    }
}

impl Vault for MemoryVault {
    fn tenants(&self) -> Result<Vec<TenantRecord>, VaultError> {
        Ok(self.records()?.tenants.values().cloned().collect())
    }

    fn subjects(&self, tenant: &TenantId) -> Result<Vec<SubjectRecord>, VaultError> {
        let records = self.records()?;
        Ok(records
            .subjects
            .get(tenant)
            .into_iter()
            .flat_map(|of| of.values())
            .map(|record| (**record).clone())
            .collect())
    }

    fn put_tenant(&self, record: &TenantRecord) -> Result<(), VaultError> {
        self.write(Write::Tenant(record))?.tenants.insert(record.tenant, record.clone());
        Ok(())
    }

    fn erase_epoch(&self, tenant: &TenantId, epoch: u32) -> Result<(), VaultError> {
        let mut records = self.write(Write::Erasure)?;
        if let Some(record) = records.tenants.get_mut(tenant) {
            record.epochs.retain(|kept| kept.epoch != epoch);
        }
        if let Some(subjects) = records.subjects.get_mut(tenant) {
            subjects.retain(|_, subject| subject.epoch != epoch);
        }
        Ok(())
    }

    fn opening_key(&self) -> Result<Option<Zeroizing<Vec<u8>>>, VaultError> {
        Ok(self.records()?.opening_key.clone())
    }

    fn put_opening_key(&self, key: &[u8]) -> Result<(), VaultError> {
        self.write(Write::Opening)?.opening_key = Some(Zeroizing::new(key.to_vec()));
        Ok(())
    }

    fn opened_until(&self) -> Result<u64, VaultError> {
        Ok(self.records()?.opened_until)
    }

    fn put_opened_until(&self, time: u64) -> Result<(), VaultError> {
        let mut records = self.write(Write::Opening)?;
        records.opened_until = records.opened_until.max(time);
        Ok(())
    }

    fn put_subject(&self, tenant: &TenantId, record: &SubjectRecord) -> Result<(), VaultError> {
        let mut records = self.write(Write::Subject)?;
        let subjects = records.subjects.entry(*tenant).or_default();
        if record.renewed_from.is_some() {
            let made_of = |of: &SubjectRecord| (of.handle, of.epoch, of.renewed_from);
            subjects.retain(|_, other| made_of(other) != made_of(record));
        }
        subjects.insert((record.handle, record.generation), Box::new(record.clone()));
        Ok(())
    }

    fn delete_subject(&self, tenant: &TenantId, handle: &Handle, generation: u32) -> Result<(), VaultError> {
        if let Some(subjects) = self.write(Write::Erasure)?.subjects.get_mut(tenant) {
            subjects.remove(&(*handle, generation));
        }
        Ok(())
    }

    fn put_attempts(
        &self,
        tenant: &TenantId,
        updates: &[(Handle, u32, AttemptRecord)],
    ) -> Result<(), VaultError> {
        if let Some(subjects) = self.write(Write::Attempts)?.subjects.get_mut(tenant) {
            for (handle, generation, attempts) in updates {
                let record = subjects.get_mut(&(*handle, *generation));
                if let Some(record) = record.filter(|record| record.attempts.version < attempts.version) {
                    record.attempts = *attempts;
                }
            }
        }
        Ok(())
    }

    fn state(&self) -> VaultState {
        VaultState { generation: self.records().map_or(0, |records| records.writes), restored: 0 }
    }
}
