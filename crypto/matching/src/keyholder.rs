//! The key-holder's role.

mod error;

use crate::job::Masked;
use crate::tenant::{Admitted, Tenant};
use crate::{
    AttemptRecord, DecisionPolicy, EncryptedProbes, EncryptedTemplate, EpochRecord, ForKeyHolder, Handle,
    KeyStructure, Lane, LaneSet, MatchJob, ProbeJob, PublicKey, SubjectRecord, Template, TenantId,
    TenantRecord, Vault, VaultError,
};
pub use error::KeyHolderError;
use rand::CryptoRng;
use std::collections::HashMap;
use std::sync::Arc;
#[expect(clippy::disallowed_types, reason = "see the text of KeyHolder")]
use std::sync::{Mutex, MutexGuard, RwLock};
use trefoil_bfv::{Decryptor, Drbg, LANES, NORM_SQUARED_MAX, Opened, Scheme, Share};
use trefoil_split::{OpeningKey, SealingKey};
use zeroize::Zeroizing;

/// Whoever can decide a job: the key-holder in this process, or a connection to one elsewhere.
pub trait KeyHolding: Send + Sync {
    /// Decides every lane of `job`. `now` is in unix seconds.
    ///
    /// # Errors
    /// [`KeyHolderError`] when no lane could be decided.
    fn decide(&self, job: &MatchJob, now: u64) -> Result<Decisions, KeyHolderError>;

    /// Opens the sealed shares of a batch of probes and encrypts them under the tenant's key. Decides and counts nothing.
    ///
    /// # Errors
    /// [`KeyHolderError`]; [`KeyHolderError::SealedShares`] names lanes to leave out.
    fn encrypt_probes(&self, job: &ProbeJob) -> Result<EncryptedProbes, KeyHolderError>;

    /// Whether jobs are decided by three, and so are to come from [`crate::Matcher::mask_for_three`].
    fn is_three(&self) -> bool {
        false
    }
}

/// The holder of the keys, thresholds and attempt budgets. Shared between threads by reference.
///
/// Memory is proportional to the subjects enrolled, about 200 bytes each, and 128 KiB per tenant.
///
/// Locks, none of which is held during arithmetic: `tenants` is written only when a tenant is created and otherwise read for
/// one look-up per batch; `decryptors` for one push and pop per batch; `rng` at enrolment; see `tenant.rs` for the rest.
pub struct KeyHolder {
    vault: Box<dyn Vault>,
    #[expect(clippy::disallowed_types, reason = "at enrolment")]
    rng: Mutex<Drbg>,
    opening: OpeningKey,
    #[expect(clippy::disallowed_types, reason = "one look-up per batch")]
    tenants: RwLock<HashMap<TenantId, Arc<Tenant>>>,
    /// Idle scratch memory: as many as batches were ever decrypted at the same time.
    #[expect(clippy::disallowed_types, reason = "one push and one pop per batch")]
    decryptors: Mutex<Vec<Decryptor>>,
}

/// One bit per lane. A lane that failed, whose budget is spent or that is empty is 0: they look the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decisions(LaneSet);

impl Decisions {
    /// Decisions as received from a remote key-holder.
    pub fn from_lanes(accepted: LaneSet) -> Decisions {
        Decisions(accepted)
    }

    /// Whether the probe in `lane` matched.
    pub fn accepted(self, lane: Lane) -> bool {
        self.0.contains(lane)
    }

    /// The lanes whose probe matched.
    pub fn lanes(self) -> LaneSet {
        self.0
    }
}

impl KeyHolder {
    /// A key-holder over what `vault` remembers. `rng` seeds its generator.
    ///
    /// # Errors
    /// [`KeyHolderError::Vault`] when the vault cannot be read.
    pub fn new(vault: Box<dyn Vault>, rng: &mut impl CryptoRng) -> Result<KeyHolder, KeyHolderError> {
        let mut tenants = HashMap::new();
        for record in vault.tenants()? {
            let subjects = vault.subjects(&record.tenant)?;
            tenants.insert(record.tenant, Arc::new(Tenant::restore(&record, &subjects)));
        }
        let opening = match vault.opening_key()? {
            Some(key) => OpeningKey::from_bytes(&key)
                .ok_or_else(|| VaultError("the key that opens sealed shares cannot be read".to_owned()))?,
            None => {
                let key = OpeningKey::generate();
                vault.put_opening_key(&key.to_bytes())?;
                key
            }
        };
        Ok(KeyHolder {
            vault,
            rng: Drbg::from_rng(rng).into(),
            opening,
            tenants: tenants.into(),
            decryptors: Vec::new().into(),
        })
    }

    /// Makes the keys of a new tenant; returns what its matcher needs of them.
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant exists, the threshold is impossible or the vault fails.
    pub fn create_tenant(
        &self,
        tenant: TenantId,
        keys: KeyStructure,
        policy: DecisionPolicy,
    ) -> Result<PublicKey, KeyHolderError> {
        let epochs = vec![self.fresh_epoch(0)];
        self.insert_tenant(&TenantRecord { tenant, keys, epochs, policy, frozen: false })
    }

    /// Adds a tenant, in the vault first; its public key.
    pub(crate) fn insert_tenant(&self, record: &TenantRecord) -> Result<PublicKey, KeyHolderError> {
        check_threshold(&record.policy)?;
        let tenant = record.tenant;
        let created = Arc::new(Tenant::restore(record, &[]));
        let public = created.newest()?.public_key();
        // Held across the vault write: two creations of one tenant must not both succeed.
        let mut tenants = self.tenants.write().expect(UNPOISONED);
        if tenants.contains_key(&tenant) {
            return Err(KeyHolderError::TenantExists);
        }
        self.vault.put_tenant(record)?;
        tenants.insert(tenant, created);
        Ok(public)
    }

    pub(crate) fn fresh_epoch(&self, epoch: u32) -> EpochRecord {
        let mut record = EpochRecord { epoch, master: [0; 32], seed: [0; 32] };
        let mut rng = self.rng.lock().expect(UNPOISONED);
        rng.fill(&mut record.master);
        rng.fill(&mut record.seed);
        record
    }

    /// The newest public key of the tenant.
    ///
    /// # Errors
    /// [`KeyHolderError::UnknownTenant`].
    pub fn public_key(&self, tenant: TenantId) -> Result<PublicKey, KeyHolderError> {
        Ok(self.tenant(&tenant)?.newest()?.public_key())
    }

    /// What devices seal their shares to.
    pub fn sealing_key(&self) -> SealingKey {
        self.opening.sealing_key()
    }

    /// Replaces a tenant's threshold and attempt budget. Failures counted so far stay counted.
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant is unknown, the threshold is impossible or the vault fails.
    pub fn set_policy(&self, tenant: TenantId, policy: DecisionPolicy) -> Result<(), KeyHolderError> {
        check_threshold(&policy)?;
        self.tenant(&tenant)?.update(&*self.vault, |current, _| *current = policy)
    }

    /// Lets a frozen tenant decide again. For an operator who has found the cause.
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant is unknown or the vault fails.
    pub fn lift_freeze(&self, tenant: TenantId) -> Result<(), KeyHolderError> {
        self.tenant(&tenant)?.update(&*self.vault, |_, frozen| *frozen = false)
    }

    /// Encrypts a blinded template into `lane` under the tenant's newest keys and a fresh salt.
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant is unknown, the generation exists, a sealed share does not open or the vault fails.
    pub fn enrol(
        &self,
        tenant: TenantId,
        handle: Handle,
        generation: u32,
        lane: Lane,
        template: &ForKeyHolder,
    ) -> Result<EncryptedTemplate, KeyHolderError> {
        let of = self.tenant(&tenant)?;
        let opened;
        let share = match template {
            ForKeyHolder::Open(blinded) => blinded.share(),
            ForKeyHolder::Sealed(sealed, context) => {
                let mut only = LaneSet::EMPTY;
                only.insert(lane);
                opened =
                    self.opening.open(context, sealed).map_err(|_| KeyHolderError::SealedShares(only))?;
                &opened
            }
        };
        let epoch = of.newest()?;
        let mut record = SubjectRecord {
            handle,
            generation,
            lane,
            epoch: epoch.number(),
            renewed_from: None,
            salt: [0; 32],
            attempts: AttemptRecord::default(),
        };
        let mut rng = {
            let mut rng = self.rng.lock().expect(UNPOISONED);
            rng.fill(&mut record.salt);
            Drbg::from_rng(&mut *rng)
        };
        of.insert(&*self.vault, &epoch, &record)?;
        // Every enrolment has a salt of its own, so a key never encrypts twice.
        let ciphertext = epoch.encrypt(&record, share, &mut rng);
        let epoch = epoch.number();
        Ok(EncryptedTemplate { template: Template { tenant, handle, generation, lane, epoch, ciphertext } })
    }

    /// Erases the salt of a template's key, which makes the template undecryptable. Shredding twice succeeds.
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant is unknown or the vault fails.
    pub fn shred(&self, tenant: TenantId, handle: Handle, generation: u32) -> Result<(), KeyHolderError> {
        self.tenant(&tenant)?.remove(&*self.vault, handle, generation)
    }

    /// Decides every lane of `job`. `now` is in unix seconds.
    ///
    /// A failure is counted for each lane before anything is decrypted, and taken back if the lane matches.
    ///
    /// # Errors
    /// [`KeyHolderError`] when no lane could be decided.
    pub fn decide(&self, job: &MatchJob, now: u64) -> Result<Decisions, KeyHolderError> {
        let tenant = self.tenant(&job.tenant)?;
        if !job.is_well_formed() || job.masked.structure() != tenant.structure() {
            tenant.record_malformed(&*self.vault, job, now)?;
            return Err(KeyHolderError::Malformed);
        }
        let admitted = tenant.admit(job, now)?;
        let matched = self.compare(&admitted, job);
        wipe_stack();
        let Some(matched) = matched else {
            tenant.record_malformed(&*self.vault, job, now)?;
            return Err(KeyHolderError::Malformed);
        };
        tenant.settle(&*self.vault, job, &admitted, matched, now).map(Decisions)
    }

    pub(crate) fn vault(&self) -> &dyn Vault {
        &*self.vault
    }

    pub(crate) fn rng(&self) -> MutexGuard<'_, Drbg> {
        self.rng.lock().expect(UNPOISONED)
    }

    pub(crate) fn tenant(&self, id: &TenantId) -> Result<Arc<Tenant>, KeyHolderError> {
        let tenants = self.tenants.read().expect(UNPOISONED);
        tenants.get(id).cloned().ok_or(KeyHolderError::UnknownTenant)
    }

    /// Whether every tenant's master is what `master` makes of its name.
    pub(crate) fn tenants_made_from(&self, master: impl Fn(&TenantId) -> Zeroizing<[u8; 32]>) -> bool {
        let tenants = self.tenants.read().expect(UNPOISONED);
        tenants.iter().all(|(id, tenant)| tenant.is_of(&master(id)))
    }

    /// Idle scratch memory, or new.
    pub(crate) fn decryptor(&self) -> Decryptor {
        let idle = self.decryptors.lock().expect(UNPOISONED).pop();
        idle.unwrap_or_else(|| Decryptor::new(Scheme::shared()))
    }

    /// Keeps scratch memory for the next batch.
    pub(crate) fn put_back(&self, decryptor: Decryptor) {
        self.decryptors.lock().expect(UNPOISONED).push(decryptor);
    }

    /// The lanes whose score reaches the threshold, or nothing if the job is not an honest matcher's. In a frame of its own:
    /// what scores leave on the stack is below the caller's.
    #[inline(never)]
    fn compare(&self, admitted: &Admitted, job: &MatchJob) -> Option<LaneSet> {
        let mut decryptor = self.decryptor();
        let epoch = &admitted.epoch;
        let (vouched, opened) = match (&job.masked, epoch.tag_key(), epoch.tenant_key()) {
            // Decrypted whatever the tag says: how long a refusal takes does not tell why.
            (Masked::Own(tag, batch), Some(key), _) => {
                (key.vouches(batch, tag), decryptor.decrypt(admitted.keys.iter().flatten(), batch))
            }
            (Masked::Pairs(batch), _, Some(key)) => (true, decryptor.decrypt_pairs(key, batch)),
            (Masked::Product(product), _, Some(key)) => (true, decryptor.decrypt_product(key, product)),
            // Of another key structure: refused before, and no key here would open it.
            _ => return None,
        };
        self.put_back(decryptor);
        let threshold = admitted.threshold;
        let reached =
            opened.scores().iter().rev().fold(0, |bits, score| bits << 1 | u32::from(*score >= threshold));
        (vouched & is_honest(&opened, job)).then_some(LaneSet::from_bits(reached))
    }

    /// Opens the sealed shares of a batch of probes and encrypts them in one ciphertext under the tenant's key.
    ///
    /// # Errors
    /// [`KeyHolderError`] when tenant or subjects are unknown, the tenant has a key per subject or is frozen, or shares do not
    /// open.
    pub fn encrypt_probes(&self, job: &ProbeJob) -> Result<EncryptedProbes, KeyHolderError> {
        let tenant = self.tenant(&job.tenant)?;
        let epoch = tenant.batch_epoch(&job.subjects(), job.epoch)?;
        let key = epoch.tenant_key().ok_or(KeyHolderError::Structure)?;
        let mut shares: Vec<(usize, Share)> = Vec::with_capacity(LANES);
        let mut refused = LaneSet::EMPTY;
        for lane in job.occupied().iter() {
            let Some(probe) = &job.probes[lane.index()] else { continue };
            match self.opening.open(&probe.context, &probe.sealed) {
                Ok(share) => shares.push((lane.index(), share)),
                Err(_) => drop(refused.insert(lane)),
            }
        }
        if !refused.is_empty() {
            return Err(KeyHolderError::SealedShares(refused));
        }
        let mut rng = Drbg::from_rng(&mut *self.rng.lock().expect(UNPOISONED));
        let shares: Vec<(usize, &Share)> = shares.iter().map(|(lane, share)| (*lane, share)).collect();
        let ciphertext = key.encrypt_probes(&shares, &mut rng);
        wipe_stack();
        Ok(EncryptedProbes { ciphertext })
    }
}

/// Words of stack that a decryption may reach: 16 KiB, twice what was seen.
const STACK_WORDS: usize = 2048;

/// Overwrites what the caller's callees have left on the stack. Scores and keys are wiped where they have a name; this is
/// for copies that the compiler made. Without it they travel on: the padding of the next object that is moved to the heap
/// is whatever lay on the stack.
#[inline(never)]
pub(crate) fn wipe_stack() {
    let mut below = [1u64; STACK_WORDS];
    below.fill(0);
    zeroize::optimization_barrier(&below);
}

/// Whether a decrypted job can come from an honest matcher: errors within the band that flooding gives, and nothing in lanes
/// without a subject. Occupied lanes cannot be checked further: every residue modulo 65537 is a possible score.
fn is_honest(opened: &Opened, job: &MatchJob) -> bool {
    let empty_lanes = opened.scores().iter().zip(&job.subjects).filter(|(_, subject)| subject.is_none());
    let stray = empty_lanes.fold(0, |bits, (score, _)| bits | score);
    opened.within_band() && stray == 0
}

fn check_threshold(policy: &DecisionPolicy) -> Result<(), KeyHolderError> {
    let threshold = policy.threshold;
    if (-NORM_SQUARED_MAX..=NORM_SQUARED_MAX).contains(&threshold) {
        Ok(())
    } else {
        Err(KeyHolderError::Threshold(threshold))
    }
}

/// A poisoned lock ends the process's decisions: its state may be inconsistent, and no decision is better.
const UNPOISONED: &str = "no thread panicked while it held this lock";

impl KeyHolding for KeyHolder {
    fn decide(&self, job: &MatchJob, now: u64) -> Result<Decisions, KeyHolderError> {
        KeyHolder::decide(self, job, now)
    }

    fn encrypt_probes(&self, job: &ProbeJob) -> Result<EncryptedProbes, KeyHolderError> {
        KeyHolder::encrypt_probes(self, job)
    }
}

#[cfg(test)]
mod tests;
