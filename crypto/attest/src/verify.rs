//! Offline verification: untrusted bytes and a policy give [`Verified`] or one [`VerifyError`].
//!
//! Cheapest checks first: size and decoding, the policy, the device's signature, the key set, the tree, then the three signatures from the
//! fastest to the slowest. Every check is required; the order only decides which error a bad attestation gets.

use core::fmt;

use crate::attestation::{Attestation, Evidence, SealReference};
use crate::device::{DeviceSignature, DeviceStatement};
use crate::family::Family;
use crate::key_set::Hex;
use crate::policy::{ExpectedNonce, Policy};
use crate::pruned::PrunedSeal;
use crate::seal::{Seal, SealHeader};
use crate::statement::{Statement, statement_digest};
use crate::suite::Suite;
use crate::tree;
use crate::trust_root::{KeySetStatus, TrustRoot, TrustedKeySet};
use crate::verify_error::VerifyError;
use trefoil_types::{AccountKeyId, KeySetId};

/// An attestation for which every check passed. Only [`verify`], [`verify_with_seal`] and
/// [`verify_with_pruned_seal`] make one.
#[derive(Clone, Debug)]
pub struct Verified<'a> {
    statement: Statement<'a>,
    statement_digest: [u8; 32],
    leaf_index: u64,
    seal: SealHeader,
    device: Option<AccountKeyId>,
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
        write!(f, "{} verifies under key set {}", self.family, Hex(&self.key_set_id.as_bytes()[..8]))
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

    /// The account key with which the person's device signed this login: the pinned one, where the policy has one. Without a device's signature
    /// none: then that the person took part is the service's word.
    #[must_use]
    pub fn device(&self) -> Option<AccountKeyId> {
        self.device
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
    verify_attestation(bytes, None, policy, now)
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
    verify_attestation(bytes, Some(Signed::Itself(seal)), policy, now)
}

/// Verifies a compact attestation whose seal the issuer has pruned. The three signatures that [`Verified::checks`] lists are
/// those of the later seal, by the same keys.
///
/// # Errors
/// The first check that failed.
pub fn verify_with_pruned_seal<'a>(
    bytes: &'a [u8],
    pruned: &PrunedSeal,
    policy: &Policy,
    now: u64,
) -> Result<Verified<'a>, VerifyError> {
    verify_attestation(bytes, Some(Signed::Later(pruned)), policy, now)
}

/// A header with the signatures that show its signer.
#[derive(Clone, Copy)]
pub(crate) enum Signed<'s> {
    /// Those of the seal itself.
    Itself(&'s Seal),
    /// Those of a later seal: its own were pruned.
    Later(&'s PrunedSeal),
}

impl<'s> Signed<'s> {
    /// The one that covers an attestation or receipt: its own, or the one passed, which must be the one that it names.
    pub(crate) fn of(evidence: &'s Evidence, passed: Option<Self>) -> Result<Self, VerifyError> {
        match (evidence, passed) {
            // It has what the issuer pruned.
            (Evidence::Full(own), None | Some(Self::Later(_))) => Ok(Self::Itself(own)),
            (Evidence::Compact(named), None) => Err(VerifyError::SealNeeded(*named)),
            (Evidence::Full(own), Some(passed)) => passed.named(own.reference()),
            (Evidence::Compact(named), Some(passed)) => passed.named(*named),
        }
    }

    fn named(self, named: SealReference) -> Result<Self, VerifyError> {
        let reference = match self {
            Self::Itself(seal) => seal.reference(),
            Self::Later(pruned) => pruned.reference(),
        };
        if reference == named { Ok(self) } else { Err(VerifyError::OtherSeal(named)) }
    }

    pub(crate) fn header(self) -> &'s SealHeader {
        match self {
            Self::Itself(seal) => &seal.header,
            Self::Later(pruned) => &pruned.header,
        }
    }

    /// The digest of what an attestation or receipt states, which is in the sealed tree; the signatures hold.
    pub(crate) fn digest_of(
        self,
        attestation: &Attestation<'_>,
        suite: Suite,
        trust_root: &TrustRoot,
    ) -> Result<[u8; 32], VerifyError> {
        let header = self.header();
        let Attestation { statement, leaf_index, tree_size, ref path, .. } = *attestation;
        if header.suite != suite {
            return Err(VerifyError::SuiteMismatch);
        }
        if header.tree_size != tree_size {
            return Err(VerifyError::TreeSizeMismatch);
        }
        let digest = statement_digest(statement);
        if !tree::verify_inclusion(&digest, leaf_index, tree_size, path, &header.root) {
            return Err(VerifyError::NotInTree);
        }
        match self {
            Self::Itself(seal) => verify_seal(seal, trust_root)?,
            Self::Later(pruned) => verify_pruned_seal(pruned, trust_root)?,
        }
        Ok(digest)
    }
}

/// Verifies that the keys which a header names have signed it: not itself, but the log that holds it. The later seal must be of
/// the same key set, and that must have been allowed to sign at the time of either.
///
/// # Errors
/// The first check that failed.
pub fn verify_pruned_seal(pruned: &PrunedSeal, trust_root: &TrustRoot) -> Result<(), VerifyError> {
    let PrunedSeal { header, path, checkpoint } = pruned;
    check_signer(header, trust_root)?;
    let SealHeader { key_set_id, seal_number: size, log_root, .. } = &checkpoint.header;
    if *key_set_id != header.key_set_id {
        return Err(VerifyError::OtherKeySet(*key_set_id));
    }
    if !tree::verify_inclusion(&header.digest(), header.seal_number, *size, path, log_root) {
        return Err(VerifyError::NotInLog);
    }
    verify_seal(checkpoint, trust_root)
}

/// Verifies the three signatures of a seal, its issuer, and that its key set was allowed to sign at its time.
///
/// # Errors
/// The first check that failed.
pub fn verify_seal(seal: &Seal, trust_root: &TrustRoot) -> Result<(), VerifyError> {
    let header = &seal.header;
    let keys = check_signer(header, trust_root)?;
    for family in CHEAPEST_FIRST {
        let signature = &seal.signatures[family.index()];
        if !family.verifies(keys.keys.public_key(family), &header.to_be_signed(family), signature) {
            return Err(VerifyError::Signature(family));
        }
    }
    Ok(())
}

/// Whether the keys that a header names may have signed it: fields, issuer, key set and time. No signature is looked at, for the one
/// who has verified that of a later seal; returns these keys.
///
/// # Errors
/// The first check that failed.
pub fn check_signer<'a>(
    header: &SealHeader,
    trust_root: &'a TrustRoot,
) -> Result<&'a TrustedKeySet, VerifyError> {
    header.check().map_err(|_| VerifyError::SealFields)?;
    if header.issuer != trust_root.issuer() {
        return Err(VerifyError::Issuer { found: header.issuer.clone() });
    }
    signing_keys(header, trust_root)
}

/// Measured order of verification time: about 10, 130 and 500 us.
const CHEAPEST_FIRST: [Family; 3] = [Family::Falcon512, Family::MlDsa65, Family::SlhDsaSha2_128f];

fn verify_attestation<'a>(
    bytes: &'a [u8],
    passed: Option<Signed<'_>>,
    policy: &Policy,
    now: u64,
) -> Result<Verified<'a>, VerifyError> {
    let attestation = Attestation::decode(bytes)?;
    let signed = Signed::of(&attestation.evidence, passed)?;
    let statement = Statement::decode(attestation.statement)?;
    check_addressee(&statement, policy)?;
    check_requirements(&statement, policy)?;
    check_time(&statement, signed.header(), policy.clock_skew, now)?;
    let device = check_device(&statement, attestation.device.as_ref(), policy)?;
    let statement_digest = signed.digest_of(&attestation, statement.suite, &policy.trust_root)?;
    let (leaf_index, seal) = (attestation.leaf_index, signed.header().clone());
    Ok(Verified { statement, statement_digest, leaf_index, seal, device })
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
        ExpectedNonce::Exactly(nonce) if nonce != statement.nonce => return Err(VerifyError::Nonce),
        ExpectedNonce::Exactly(_) | ExpectedNonce::DangerousAny => {}
    }
    if policy.tenant.is_some_and(|tenant| tenant != statement.tenant) {
        return Err(VerifyError::Tenant);
    }
    if policy.account.is_some_and(|account| account != statement.account) {
        return Err(VerifyError::Account);
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
    match (policy.proof_level.or(policy.account_key.map(|_| 0)), statement.proof) {
        (Some(_), None) => return Err(VerifyError::NoProof),
        (Some(level), Some(proof)) if proof.level < level => return Err(VerifyError::ProofLevel),
        (Some(_), Some(_)) | (None, _) => {}
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

/// The key by which a device signed this statement: the pinned one, if one is.
fn check_device(
    statement: &Statement<'_>,
    device: Option<&DeviceSignature>,
    policy: &Policy,
) -> Result<Option<AccountKeyId>, VerifyError> {
    let Some(device) = device else {
        return policy.account_key.map_or(Ok(None), |_| Err(VerifyError::NoDeviceSignature));
    };
    let key = device.account_key();
    if policy.account_key.is_some_and(|pinned| pinned != key) {
        return Err(VerifyError::AccountKey(key));
    }
    match DeviceStatement::of(statement) {
        Some(signed) if device.verifies(&signed.to_be_signed()) => Ok(Some(key)),
        _ => Err(VerifyError::DeviceSignature),
    }
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
