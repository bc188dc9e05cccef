//! Why an attestation was refused.

use alloc::string::String;

use crate::attestation::SealReference;
use crate::error::{DecodeError, Problem};
use crate::family::Family;

use trefoil_types::{AccountKeyId, Decision, KeySetId, ProbeMode, time::format as utc};

/// Why an attestation was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// Not the canonical encoding of a known format.
    #[error("not a valid attestation: {0}")]
    Malformed(DecodeError),
    /// The suite is unknown to this library.
    #[error("signature suite {0} is unknown; update the verifier")]
    UnknownSuite(u64),
    /// A compact attestation: its seal is needed.
    #[error("compact attestation; fetch seal {} from the issuer and pass it too", .0.seal_number)]
    SealNeeded(SealReference),
    /// The seal is not the one that the attestation names.
    #[error("the seal passed is not the one named; fetch seal {} from the issuer", .0.seal_number)]
    OtherSeal(SealReference),
    /// Another issuer than the trust root's.
    #[error("issued by {found}, not by the trust root's issuer; do not accept")]
    Issuer {
        /// The issuer found.
        found: String,
    },
    /// For another relying party.
    #[error("made for {found}, not for this relying party; do not accept")]
    Audience {
        /// The audience found.
        found: String,
    },
    /// Another nonce than the one issued.
    #[error("the nonce is not the one issued; treat as a replay")]
    Nonce,
    /// Another tenant.
    #[error("another tenant than required; do not accept")]
    Tenant,
    /// Another account.
    #[error("another account than required; do not accept")]
    Account,
    /// Another request.
    #[error("made for another request; do not accept")]
    RequestDigest,
    /// Another decision than required.
    #[error("the decision is {}; nobody was authenticated", .0.name())]
    Decision(Decision),
    /// Another probe mode than required.
    #[error("probe mode {} is not the required one", .0.name())]
    ProbeMode(ProbeMode),
    /// No credential proof, and the policy does not accept a statement without one.
    #[error(
        "no credential proof: the tenant's application alone vouched for the request; do not accept, unless your policy says \
         that this is enough"
    )]
    NoProof,
    /// A credential proof of a lower level than required.
    #[error("the credential proof is below the required level; ask for a step-up")]
    ProofLevel,
    /// Another policy, or an older version, than required.
    #[error("made under another policy or an older version; authenticate again")]
    PolicyVersion,
    /// A weaker false-match class than required.
    #[error("false-match class {0} is weaker than required")]
    FmrClass(u8),
    /// Issued in the future.
    #[error("issued at {}, in the future; check the clocks", utc(*.issued_at))]
    NotYetValid {
        /// Unix seconds.
        issued_at: u64,
    },
    /// No longer valid.
    #[error("expired at {}; authenticate again", utc(*.expires_at))]
    Expired {
        /// Unix seconds.
        expires_at: u64,
    },
    /// The seal was made in the future, or before the statement.
    #[error("sealed at {}, before its statement or in the future", utc(*.time))]
    SealTime {
        /// Unix seconds.
        time: u64,
    },
    /// The policy requires an account key, and no device signed.
    #[error(
        "no signature of the person's device, which this account has; join it to the attestation, or do not accept"
    )]
    NoDeviceSignature,
    /// Another account key than the pinned one.
    #[error("signed by account key {0}, not by the one that was kept for this account; do not accept")]
    AccountKey(AccountKeyId),
    /// The device's signature is not over this statement.
    #[error("the device's signature is not over this statement; do not accept")]
    DeviceSignature,
    /// The statement names another suite than the seal.
    #[error("statement and seal name different suites; do not accept")]
    SuiteMismatch,
    /// The attestation names another tree size than the seal.
    #[error("attestation and seal name different tree sizes; do not accept")]
    TreeSizeMismatch,
    /// The path does not lead from the statement to the sealed root.
    #[error("the statement is not in the sealed tree; do not accept")]
    NotInTree,
    /// A seal header outside its limits.
    #[error("a seal field is outside its limits; do not accept")]
    SealFields,
    /// The key set is not in the trust root.
    #[error("key set {0} is not in the trust root; update it from the issuer")]
    UnknownKeySet(KeySetId),
    /// The key set is revoked.
    #[error("key set {id} is revoked since {}; do not accept", utc(*.since))]
    RevokedKeySet {
        /// The key set.
        id: KeySetId,
        /// Unix seconds.
        since: u64,
    },
    /// The key set was retired before the seal was made.
    #[error("key set {id} was retired at {}, before this seal; do not accept", utc(*.since))]
    RetiredKeySet {
        /// The key set.
        id: KeySetId,
        /// Unix seconds.
        since: u64,
    },
    /// The seal was made outside the key set's validity.
    #[error("sealed at {}, outside the validity of key set {id}", utc(*.time))]
    KeySetValidity {
        /// The key set.
        id: KeySetId,
        /// Time of the seal, Unix seconds.
        time: u64,
    },
    /// A pruned seal comes with a later seal of another key set.
    #[error("the later seal is signed by key set {0}, not by the one of the pruned seal; do not accept")]
    OtherKeySet(KeySetId),
    /// The path does not lead from a pruned seal to the log of the later one.
    #[error("the pruned seal is not in the log of the later one; do not accept")]
    NotInLog,
    /// One of the three signatures does not verify.
    #[error("the {0} signature does not verify; do not accept")]
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

impl VerifyError {
    /// A stable name for programs: problem codes, shared test vectors.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::UnknownSuite(_) => "unknown-suite",
            Self::SealNeeded(_) => "seal-needed",
            Self::OtherSeal(_) => "other-seal",
            Self::Issuer { .. } => "issuer",
            Self::Audience { .. } => "audience",
            Self::Nonce => "nonce",
            Self::Tenant => "tenant",
            Self::Account => "account",
            Self::RequestDigest => "request-digest",
            Self::Decision(_) => "decision",
            Self::ProbeMode(_) => "probe-mode",
            Self::NoProof => "no-proof",
            Self::ProofLevel => "proof-level",
            Self::PolicyVersion => "policy-version",
            Self::FmrClass(_) => "fmr-class",
            Self::NotYetValid { .. } => "not-yet-valid",
            Self::Expired { .. } => "expired",
            Self::SealTime { .. } => "seal-time",
            Self::NoDeviceSignature => "no-device-signature",
            Self::AccountKey(_) => "account-key",
            Self::DeviceSignature => "device-signature",
            Self::SuiteMismatch => "suite-mismatch",
            Self::TreeSizeMismatch => "tree-size-mismatch",
            Self::NotInTree => "not-in-tree",
            Self::SealFields => "seal-fields",
            Self::UnknownKeySet(_) => "unknown-key-set",
            Self::RevokedKeySet { .. } => "revoked-key-set",
            Self::RetiredKeySet { .. } => "retired-key-set",
            Self::KeySetValidity { .. } => "key-set-validity",
            Self::OtherKeySet(_) => "other-key-set",
            Self::NotInLog => "not-in-log",
            Self::Signature(Family::MlDsa65) => "signature-ml-dsa-65",
            Self::Signature(Family::Falcon512) => "signature-falcon-512-padded-r3",
            Self::Signature(Family::SlhDsaSha2_128f) => "signature-slh-dsa-sha2-128f",
        }
    }
}
