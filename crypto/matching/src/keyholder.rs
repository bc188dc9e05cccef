//! The key-holder's role.

use crate::tenant::Tenant;
use crate::{
    AttemptRecord, BlindedTemplate, DecisionPolicy, EncryptedTemplate, Handle, Lane, LaneSet, MatchJob,
    SubjectRecord, Template, TenantId, TenantRecord, Vault, VaultError,
};
use rand::CryptoRng;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};
use trefoil_bfv::{Decryptor, Drbg, LANES, NORM_SQUARED_MAX, Opened, Salt, Scheme, SubjectKey};
use zeroize::Zeroizing;

/// Whoever can decide a job: the key-holder in this process, or a connection to one elsewhere.
pub trait KeyHolding: Send + Sync {
    /// Decides every lane of `job`. `now` is in unix seconds.
    ///
    /// # Errors
    /// [`KeyHolderError`] when no lane could be decided.
    fn decide(&self, job: &MatchJob, now: u64) -> Result<Decisions, KeyHolderError>;
}

/// The holder of the keys, thresholds and attempt budgets. Shared between threads by reference.
///
/// Memory is proportional to the subjects enrolled, about 200 bytes each, and 128 KiB per tenant.
///
/// Locks, none of which is held during arithmetic: `tenants` is written only when a tenant is created and otherwise read for
/// one look-up per batch; `decryptors` for one push and pop per batch; `rng` at enrolment; see `tenant.rs` for the rest.
pub struct KeyHolder {
    pub(crate) vault: Box<dyn Vault>,
    pub(crate) rng: Mutex<Drbg>,
    tenants: RwLock<HashMap<TenantId, Arc<Tenant>>>,
    /// Idle scratch memory: as many as batches were ever decrypted at the same time.
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

/// Why the key-holder did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum KeyHolderError {
    /// The tenant does not exist.
    #[error("the key-holder does not know this tenant")]
    UnknownTenant,
    /// The tenant exists already.
    #[error("the key-holder knows this tenant already")]
    TenantExists,
    /// The key is frozen after malformed jobs, until an operator lifts it.
    #[error("the tenant's key is frozen after malformed jobs: find the cause, then lift the freeze")]
    Frozen,
    /// The job cannot have come from an honest matcher. It is counted.
    #[error("the job is malformed")]
    Malformed,
    /// These lanes name subjects that were never enrolled or have been shredded, or name them in the wrong lane.
    /// Nothing was decided or counted; mask the other lanes again.
    #[error("{} lanes name subjects that are not enrolled there", .0.len())]
    UnknownSubjects(LaneSet),
    /// The subject has a template of this generation.
    #[error("the subject has a template of this generation: use the next generation, or shred it first")]
    SubjectExists,
    /// The threshold is not a possible score.
    #[error("the threshold {0} is not within -32768..=32768")]
    Threshold(i32),
    /// The vault failed.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// A key-holder elsewhere cannot be reached, or gave no answer in time. Nothing was accepted; attempts may have been
    /// counted.
    #[error("the key-holder gives no answer: {0}")]
    Unavailable(String),
    /// A key-holder elsewhere does not do this for this caller.
    #[error("the key-holder refuses: {0}")]
    Forbidden(&'static str),
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
            tenants.insert(record.tenant, Arc::new(Tenant::restore(&record, subjects)));
        }
        Ok(KeyHolder {
            vault,
            rng: Mutex::new(Drbg::from_rng(rng)),
            tenants: RwLock::new(tenants),
            decryptors: Mutex::new(Vec::new()),
        })
    }

    /// Makes a master key and a basis for a new tenant; returns the seed of the basis for [`crate::Basis::from_seed`].
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant exists, the threshold is impossible or the vault fails.
    pub fn create_tenant(
        &self,
        tenant: TenantId,
        policy: DecisionPolicy,
    ) -> Result<[u8; 32], KeyHolderError> {
        let mut record = TenantRecord { tenant, master: [0; 32], basis_seed: [0; 32], policy, frozen: false };
        {
            let mut rng = self.rng.lock().expect(UNPOISONED);
            rng.fill(&mut record.master);
            rng.fill(&mut record.basis_seed);
        }
        self.insert_tenant(&record)?;
        Ok(record.basis_seed)
    }

    /// Adds a tenant, in the vault first.
    pub(crate) fn insert_tenant(&self, record: &TenantRecord) -> Result<(), KeyHolderError> {
        check_threshold(&record.policy)?;
        let tenant = record.tenant;
        let created = Arc::new(Tenant::restore(record, Vec::new()));
        // Held across the vault write: two creations of one tenant must not both succeed.
        let mut tenants = self.tenants.write().expect(UNPOISONED);
        if tenants.contains_key(&tenant) {
            return Err(KeyHolderError::TenantExists);
        }
        self.vault.put_tenant(record)?;
        tenants.insert(tenant, created);
        Ok(())
    }

    /// The seed of the tenant's basis.
    ///
    /// # Errors
    /// [`KeyHolderError::UnknownTenant`].
    pub fn basis_seed(&self, tenant: TenantId) -> Result<[u8; 32], KeyHolderError> {
        Ok(self.tenant(&tenant)?.basis.seed())
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

    /// Encrypts a blinded template into `lane` under a fresh key of this subject and generation.
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant is unknown, the generation exists or the vault fails.
    pub fn enrol(
        &self,
        tenant: TenantId,
        handle: Handle,
        generation: u32,
        lane: Lane,
        template: &BlindedTemplate,
    ) -> Result<EncryptedTemplate, KeyHolderError> {
        let of = self.tenant(&tenant)?;
        let (salt, mut rng) = {
            let mut rng = self.rng.lock().expect(UNPOISONED);
            (Salt::random(&mut *rng), Drbg::from_rng(&mut *rng))
        };
        let attempts = AttemptRecord::default();
        of.insert(
            &*self.vault,
            &SubjectRecord { handle, generation, lane, salt: *salt.expose_bytes(), attempts },
        )?;
        // Every enrolment has a salt of its own, so a key never encrypts twice.
        let key = of.key(&handle, generation, &salt);
        let ciphertext = of.basis.encrypt_lane(&key, lane.index(), template.share(), &mut rng);
        Ok(EncryptedTemplate { template: Template { tenant, handle, generation, lane, ciphertext } })
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
        if !job.is_well_formed() {
            tenant.record_malformed(&*self.vault, job, now)?;
            return Err(KeyHolderError::Malformed);
        }
        let admitted = tenant.admit(job, now)?;
        let matched = self.compare(&admitted.keys, job, admitted.threshold);
        wipe_stack();
        let Some(matched) = matched else {
            tenant.record_malformed(&*self.vault, job, now)?;
            return Err(KeyHolderError::Malformed);
        };
        tenant.settle(&*self.vault, job, &admitted, matched, now).map(Decisions)
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

    /// The lanes whose score reaches `threshold`, or nothing if the job is not an honest matcher's. In a frame of its own:
    /// what scores leave on the stack is below the caller's.
    #[inline(never)]
    fn compare(&self, keys: &[Option<SubjectKey>; LANES], job: &MatchJob, threshold: i32) -> Option<LaneSet> {
        let mut decryptor = self.decryptor();
        let opened = decryptor.decrypt(keys.iter().flatten(), &job.masked);
        self.put_back(decryptor);
        let reached =
            opened.scores().iter().rev().fold(0, |bits, score| bits << 1 | u32::from(*score >= threshold));
        is_honest(&opened, job).then_some(LaneSet::from_bits(reached))
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
pub(crate) const UNPOISONED: &str = "no thread panicked while it held this lock";

impl KeyHolding for KeyHolder {
    fn decide(&self, job: &MatchJob, now: u64) -> Result<Decisions, KeyHolderError> {
        KeyHolder::decide(self, job, now)
    }
}
