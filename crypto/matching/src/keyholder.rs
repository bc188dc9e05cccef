//! The key-holder's role.

use crate::{
    BlindedTemplate, DecisionPolicy, EncryptedTemplate, Handle, Lane, LaneSet, MatchJob, TenantId, Vault,
    VaultError,
};
use rand::CryptoRng;

/// Whoever can decide a job: the key-holder in this process, or a connection to one elsewhere.
pub trait KeyHolding: Send + Sync {
    /// Decides every lane of `job`. `now` is in unix seconds.
    ///
    /// # Errors
    /// [`KeyHolderError`] when no lane could be decided.
    fn decide(&self, job: &MatchJob, now: u64) -> Result<Decisions, KeyHolderError>;
}

/// The holder of the keys, thresholds and attempt budgets. Shared between threads by reference.
pub struct KeyHolder(());

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
}

impl KeyHolder {
    /// A key-holder over what `vault` remembers. `rng` seeds its generator.
    ///
    /// # Errors
    /// [`KeyHolderError::Vault`] when the vault cannot be read.
    pub fn new(_vault: Box<dyn Vault>, _rng: &mut impl CryptoRng) -> Result<KeyHolder, KeyHolderError> {
        todo!()
    }

    /// Makes a master key and a basis for a new tenant; returns the seed of the basis for [`crate::Basis::from_seed`].
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant exists, the threshold is impossible or the vault fails.
    pub fn create_tenant(
        &self,
        _tenant: TenantId,
        _policy: DecisionPolicy,
    ) -> Result<[u8; 32], KeyHolderError> {
        todo!()
    }

    /// The seed of the tenant's basis.
    ///
    /// # Errors
    /// [`KeyHolderError::UnknownTenant`].
    pub fn basis_seed(&self, _tenant: TenantId) -> Result<[u8; 32], KeyHolderError> {
        todo!()
    }

    /// Replaces a tenant's threshold and attempt budget. Failures counted so far stay counted.
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant is unknown, the threshold is impossible or the vault fails.
    pub fn set_policy(&self, _tenant: TenantId, _policy: DecisionPolicy) -> Result<(), KeyHolderError> {
        todo!()
    }

    /// Lets a frozen tenant decide again. For an operator who has found the cause.
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant is unknown or the vault fails.
    pub fn lift_freeze(&self, _tenant: TenantId) -> Result<(), KeyHolderError> {
        todo!()
    }

    /// Encrypts a blinded template into `lane` under a fresh key of this subject and generation.
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant is unknown, the generation exists or the vault fails.
    pub fn enrol(
        &self,
        _tenant: TenantId,
        _handle: Handle,
        _generation: u32,
        _lane: Lane,
        _template: &BlindedTemplate,
    ) -> Result<EncryptedTemplate, KeyHolderError> {
        todo!()
    }

    /// Erases the salt of a template's key, which makes the template undecryptable. Shredding twice succeeds.
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant is unknown or the vault fails.
    pub fn shred(&self, _tenant: TenantId, _handle: Handle, _generation: u32) -> Result<(), KeyHolderError> {
        todo!()
    }

    /// Decides every lane of `job`. `now` is in unix seconds.
    ///
    /// # Errors
    /// [`KeyHolderError`] when no lane could be decided.
    pub fn decide(&self, _job: &MatchJob, _now: u64) -> Result<Decisions, KeyHolderError> {
        todo!()
    }
}

impl KeyHolding for KeyHolder {
    fn decide(&self, job: &MatchJob, now: u64) -> Result<Decisions, KeyHolderError> {
        KeyHolder::decide(self, job, now)
    }
}
