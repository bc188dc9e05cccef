//! Offline verification: untrusted bytes and a policy give [`Verified`] or one [`VerifyError`].
//!
//! Cheapest checks first: size and decoding, the policy, the key set, the tree, then the three signatures from the
//! fastest to the slowest. Every check is required; the order only decides which error a bad attestation gets.

use alloc::string::String;
use core::fmt;

use crate::attestation::{Attestation, Evidence, SealReference};
use crate::error::{DecodeError, Problem};
use crate::family::Family;
use crate::key_set::{Hex, KeySetId};
use crate::policy::{Nonce, Policy};
use crate::seal::{Seal, SealHeader};
use crate::statement::{Decision, ProbeMode, Statement, statement_digest};
use crate::tree;
use crate::trust_root::{KeySetStatus, TrustRoot, TrustedKeySet};

/// An attestation for which every check passed. Only [`verify`] and [`verify_with_seal`] make one.
#[derive(Clone, Debug)]
pub struct Verified<'a> {
    statement: Statement<'a>,
    statement_digest: [u8; 32],
    leaf_index: u64,
    seal: SealHeader,
}

/// One signature that was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// The family.
    pub family: Family,
    /// The key set whose key it verified under.
    pub key_set_id: KeySetId,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} verifies under key set {}", self.family, Hex(&self.key_set_id[..8]))
    }
}

impl<'a> Verified<'a> {
    /// What was attested.
    #[must_use]
    pub fn statement(&self) -> &Statement<'a> {
        &self.statement
    }

    /// SHA3-256 of the statement: its entry in the tree.
    #[must_use]
    pub fn statement_digest(&self) -> &[u8; 32] {
        &self.statement_digest
    }

    /// The statement's leaf.
    #[must_use]
    pub fn leaf_index(&self) -> u64 {
        self.leaf_index
    }

    /// The seal that covers it.
    #[must_use]
    pub fn seal(&self) -> &SealHeader {
        &self.seal
    }

    /// The three signatures that verified, in the order of [`Family::ALL`].
    #[must_use]
    pub fn checks(&self) -> [Check; 3] {
        Family::ALL.map(|family| Check { family, key_set_id: self.seal.key_set_id })
    }
}

/// Verifies a full attestation against `policy` at `now` (Unix seconds).
///
/// # Errors
/// The first check that failed.
pub fn verify<'a>(bytes: &'a [u8], policy: &Policy, now: u64) -> Result<Verified<'a>, VerifyError> {
    let attestation = Attestation::decode(bytes)?;
    match &attestation.evidence {
        Evidence::Full(seal) => verify_decoded(&attestation, seal, policy, now),
        Evidence::Compact(reference) => Err(VerifyError::SealNeeded(*reference)),
    }
}

/// Verifies a compact attestation with the seal that it names (or a full one, whose seal must then be the same).
///
/// # Errors
/// The first check that failed.
pub fn verify_with_seal<'a>(
    bytes: &'a [u8],
    seal: &Seal,
    policy: &Policy,
    now: u64,
) -> Result<Verified<'a>, VerifyError> {
    let attestation = Attestation::decode(bytes)?;
    let named = match &attestation.evidence {
        Evidence::Full(own) => own.reference(),
        Evidence::Compact(reference) => *reference,
    };
    match named == seal.reference() {
        true => verify_decoded(&attestation, seal, policy, now),
        false => Err(VerifyError::OtherSeal(named)),
    }
}

/// Verifies the three signatures of a seal, its issuer, and that its key set was allowed to sign at its time.
///
/// # Errors
/// The first check that failed.
pub fn verify_seal(seal: &Seal, trust_root: &TrustRoot) -> Result<(), VerifyError> {
    let header = &seal.header;
    header.check().map_err(|_| VerifyError::SealFields)?;
    if header.issuer != trust_root.issuer() {
        return Err(VerifyError::Issuer { found: header.issuer.clone() });
    }
    let keys = signing_keys(header, trust_root)?;
    for family in CHEAPEST_FIRST {
        let signature = &seal.signatures[family.index()];
        if !family.verifies(keys.keys.public_key(family), &header.to_be_signed(family), signature) {
            return Err(VerifyError::Signature(family));
        }
    }
    Ok(())
}

/// Measured order of verification time: about 10, 130 and 500 us.
const CHEAPEST_FIRST: [Family; 3] = [Family::Falcon512, Family::MlDsa65, Family::SlhDsaSha2_128f];

fn verify_decoded<'a>(
    attestation: &Attestation<'a>,
    seal: &Seal,
    policy: &Policy,
    now: u64,
) -> Result<Verified<'a>, VerifyError> {
    let statement = Statement::decode(attestation.statement)?;
    check_addressee(&statement, policy)?;
    check_requirements(&statement, policy)?;
    check_time(&statement, &seal.header, policy.clock_skew, now)?;
    let header = &seal.header;
    if header.suite != statement.suite {
        return Err(VerifyError::SuiteMismatch);
    }
    if header.tree_size != attestation.tree_size {
        return Err(VerifyError::TreeSizeMismatch);
    }
    let statement_digest = statement_digest(attestation.statement);
    let Attestation { leaf_index, tree_size, ref path, .. } = *attestation;
    if !tree::verify_inclusion(&statement_digest, leaf_index, tree_size, path, &header.root) {
        return Err(VerifyError::NotInTree);
    }
    verify_seal(seal, &policy.trust_root)?;
    Ok(Verified { statement, statement_digest, leaf_index, seal: header.clone() })
}

/// Who stated it, for whom, about whom.
fn check_addressee(statement: &Statement<'_>, policy: &Policy) -> Result<(), VerifyError> {
    if statement.issuer != policy.trust_root.issuer() {
        return Err(VerifyError::Issuer { found: statement.issuer.into() });
    }
    if statement.audience != policy.audience {
        return Err(VerifyError::Audience { found: statement.audience.into() });
    }
    match &policy.nonce {
        Nonce::Exactly(nonce) if nonce != statement.nonce => return Err(VerifyError::Nonce),
        Nonce::Exactly(_) | Nonce::DangerousAny => {}
    }
    if policy.tenant.is_some_and(|tenant| tenant != statement.tenant) {
        return Err(VerifyError::Tenant);
    }
    if policy.handle.is_some_and(|handle| handle != statement.handle) {
        return Err(VerifyError::Handle);
    }
    if policy.request_digest.is_some_and(|digest| digest != statement.request_digest) {
        return Err(VerifyError::RequestDigest);
    }
    Ok(())
}

/// What was decided, and how.
fn check_requirements(statement: &Statement<'_>, policy: &Policy) -> Result<(), VerifyError> {
    if policy.decision.is_some_and(|decision| decision != statement.decision) {
        return Err(VerifyError::Decision(statement.decision));
    }
    if policy.probe_mode.is_some_and(|mode| mode != statement.probe_mode) {
        return Err(VerifyError::ProbeMode(statement.probe_mode));
    }
    if policy.proof_level.is_some_and(|level| statement.proof.is_none_or(|proof| proof.level < level)) {
        return Err(VerifyError::ProofLevel);
    }
    let too_old = |(id, version)| statement.policy_id != id || statement.policy_version < version;
    if policy.policy_version.is_some_and(too_old) {
        return Err(VerifyError::PolicyVersion);
    }
    if statement.fmr_class < policy.fmr_class {
        return Err(VerifyError::FmrClass(statement.fmr_class));
    }
    Ok(())
}

/// The statement holds now, and the seal was made after it and not in the future.
fn check_time(
    statement: &Statement<'_>,
    header: &SealHeader,
    skew: u64,
    now: u64,
) -> Result<(), VerifyError> {
    let &Statement { issued_at, expires_at, .. } = statement;
    let latest = now.saturating_add(skew);
    if issued_at > latest {
        return Err(VerifyError::NotYetValid { issued_at });
    }
    if now >= expires_at.saturating_add(skew) {
        return Err(VerifyError::Expired { expires_at });
    }
    if header.time > latest || header.time.saturating_add(skew) < issued_at {
        return Err(VerifyError::SealTime { time: header.time });
    }
    Ok(())
}

/// The key set that the header names, if it was allowed to sign then.
fn signing_keys<'a>(
    header: &SealHeader,
    trust_root: &'a TrustRoot,
) -> Result<&'a TrustedKeySet, VerifyError> {
    let id = header.key_set_id;
    let trusted = trust_root.key_set(&id).ok_or(VerifyError::UnknownKeySet(id))?;
    match trusted.status {
        KeySetStatus::Revoked { since } => return Err(VerifyError::RevokedKeySet { id, since }),
        KeySetStatus::Retired { since } if header.time >= since => {
            return Err(VerifyError::RetiredKeySet { id, since });
        }
        KeySetStatus::Retired { .. } | KeySetStatus::Active => {}
    }
    match trusted.keys.is_valid_at(header.time) {
        true => Ok(trusted),
        false => Err(VerifyError::KeySetValidity { id, time: header.time }),
    }
}

/// Why an attestation was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerifyError {
    /// Not the canonical encoding of a known format.
    Malformed(DecodeError),
    /// The suite is unknown to this library.
    UnknownSuite(u64),
    /// A compact attestation: its seal is needed.
    SealNeeded(SealReference),
    /// The seal is not the one that the attestation names.
    OtherSeal(SealReference),
    /// Another issuer than the trust root's.
    Issuer {
        /// The issuer found.
        found: String,
    },
    /// For another relying party.
    Audience {
        /// The audience found.
        found: String,
    },
    /// Another nonce than the one issued.
    Nonce,
    /// Another tenant.
    Tenant,
    /// Another subject.
    Handle,
    /// Another request.
    RequestDigest,
    /// Another decision than required.
    Decision(Decision),
    /// Another probe mode than required.
    ProbeMode(ProbeMode),
    /// No credential proof of the required level.
    ProofLevel,
    /// Another policy, or an older version, than required.
    PolicyVersion,
    /// A weaker false-match class than required.
    FmrClass(u8),
    /// Issued in the future.
    NotYetValid {
        /// Unix seconds.
        issued_at: u64,
    },
    /// No longer valid.
    Expired {
        /// Unix seconds.
        expires_at: u64,
    },
    /// The seal was made in the future, or before the statement.
    SealTime {
        /// Unix seconds.
        time: u64,
    },
    /// The statement names another suite than the seal.
    SuiteMismatch,
    /// The attestation names another tree size than the seal.
    TreeSizeMismatch,
    /// The path does not lead from the statement to the sealed root.
    NotInTree,
    /// A seal header outside its limits.
    SealFields,
    /// The key set is not in the trust root.
    UnknownKeySet(KeySetId),
    /// The key set is revoked.
    RevokedKeySet {
        /// The key set.
        id: KeySetId,
        /// Unix seconds.
        since: u64,
    },
    /// The key set was retired before the seal was made.
    RetiredKeySet {
        /// The key set.
        id: KeySetId,
        /// Unix seconds.
        since: u64,
    },
    /// The seal was made outside the key set's validity.
    KeySetValidity {
        /// The key set.
        id: KeySetId,
        /// Time of the seal, Unix seconds.
        time: u64,
    },
    /// One of the three signatures does not verify.
    Signature(Family),
}

impl From<DecodeError> for VerifyError {
    fn from(error: DecodeError) -> Self {
        match error.problem {
            Problem::UnknownSuite(suite) => Self::UnknownSuite(suite),
            _ => Self::Malformed(error),
        }
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(f, "not a valid attestation: {error}"),
            Self::UnknownSuite(suite) => write!(f, "signature suite {suite} is unknown; update the verifier"),
            Self::SealNeeded(SealReference { seal_number, .. }) => {
                write!(f, "compact attestation; fetch seal {seal_number} from the issuer and pass it too")
            }
            Self::OtherSeal(SealReference { seal_number, .. }) => {
                write!(f, "the seal passed is not the one named; fetch seal {seal_number} from the issuer")
            }
            Self::Issuer { found } => {
                write!(f, "issued by {found}, not by the trust root's issuer; do not accept")
            }
            Self::Audience { found } => {
                write!(f, "made for {found}, not for this relying party; do not accept")
            }
            Self::Nonce => write!(f, "the nonce is not the one issued; treat as a replay"),
            Self::Tenant => write!(f, "another tenant than required; do not accept"),
            Self::Handle => write!(f, "another subject than required; do not accept"),
            Self::RequestDigest => write!(f, "made for another request; do not accept"),
            Self::Decision(found) => {
                write!(f, "the decision is {}; the subject was not authenticated", found.name())
            }
            Self::ProbeMode(found) => write!(f, "probe mode {} is not the required one", found.name()),
            Self::ProofLevel => write!(f, "no credential proof of the required level; ask for a step-up"),
            Self::PolicyVersion => {
                write!(f, "made under another policy or an older version; authenticate again")
            }
            Self::FmrClass(found) => write!(f, "false-match class {found} is weaker than required"),
            Self::NotYetValid { issued_at } => {
                write!(f, "issued at {issued_at}, in the future; check the clocks")
            }
            Self::Expired { expires_at } => write!(f, "expired at {expires_at}; authenticate again"),
            Self::SealTime { time } => write!(f, "sealed at {time}, before its statement or in the future"),
            Self::SuiteMismatch => write!(f, "statement and seal name different suites; do not accept"),
            Self::TreeSizeMismatch => {
                write!(f, "attestation and seal name different tree sizes; do not accept")
            }
            Self::NotInTree => write!(f, "the statement is not in the sealed tree; do not accept"),
            Self::SealFields => write!(f, "a seal field is outside its limits; do not accept"),
            Self::UnknownKeySet(id) => {
                write!(f, "key set {} is not in the trust root; update it from the issuer", Hex(id))
            }
            Self::RevokedKeySet { id, since } => {
                write!(f, "key set {} is revoked since {since}; do not accept", Hex(id))
            }
            Self::RetiredKeySet { id, since } => {
                write!(f, "key set {} was retired at {since}, before this seal; do not accept", Hex(id))
            }
            Self::KeySetValidity { id, time } => {
                write!(f, "sealed at {time}, outside the validity of key set {}", Hex(id))
            }
            Self::Signature(family) => write!(f, "the {family} signature does not verify; do not accept"),
        }
    }
}

impl core::error::Error for VerifyError {}
