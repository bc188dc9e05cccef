//! Why an attestation was refused.

use alloc::string::String;
use core::fmt;

use crate::attestation::SealReference;
use crate::error::{DecodeError, Problem};
use crate::family::Family;

use trefoil_types::{Decision, KeySetId, ProbeMode, time::format as utc};

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
    /// Another account.
    Account,
    /// Another request.
    RequestDigest,
    /// Another decision than required.
    Decision(Decision),
    /// Another probe mode than required.
    ProbeMode(ProbeMode),
    /// No credential proof, and the policy does not accept a statement without one.
    NoProof,
    /// A credential proof of a lower level than required.
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
    /// A pruned seal comes with a later seal of another key set.
    OtherKeySet(KeySetId),
    /// The path does not lead from a pruned seal to the log of the later one.
    NotInLog,
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
            Self::Account => write!(f, "another account than required; do not accept"),
            Self::RequestDigest => write!(f, "made for another request; do not accept"),
            Self::Decision(found) => {
                write!(f, "the decision is {}; nobody was authenticated", found.name())
            }
            Self::ProbeMode(found) => write!(f, "probe mode {} is not the required one", found.name()),
            Self::NoProof => write!(
                f,
                "no credential proof: the tenant's application alone vouched for the request; do not accept, unless your \
                 policy says that this is enough"
            ),
            Self::ProofLevel => {
                write!(f, "the credential proof is below the required level; ask for a step-up")
            }
            Self::PolicyVersion => {
                write!(f, "made under another policy or an older version; authenticate again")
            }
            Self::FmrClass(found) => write!(f, "false-match class {found} is weaker than required"),
            Self::NotYetValid { issued_at } => {
                write!(f, "issued at {}, in the future; check the clocks", utc(*issued_at))
            }
            Self::Expired { expires_at } => write!(f, "expired at {}; authenticate again", utc(*expires_at)),
            Self::SealTime { time } => {
                write!(f, "sealed at {}, before its statement or in the future", utc(*time))
            }
            Self::SuiteMismatch => write!(f, "statement and seal name different suites; do not accept"),
            Self::TreeSizeMismatch => {
                write!(f, "attestation and seal name different tree sizes; do not accept")
            }
            Self::NotInTree => write!(f, "the statement is not in the sealed tree; do not accept"),
            Self::SealFields => write!(f, "a seal field is outside its limits; do not accept"),
            Self::UnknownKeySet(id) => {
                write!(f, "key set {} is not in the trust root; update it from the issuer", id)
            }
            Self::RevokedKeySet { id, since } => {
                write!(f, "key set {id} is revoked since {}; do not accept", utc(*since))
            }
            Self::RetiredKeySet { id, since } => {
                write!(f, "key set {id} was retired at {}, before this seal; do not accept", utc(*since))
            }
            Self::KeySetValidity { id, time } => {
                write!(f, "sealed at {}, outside the validity of key set {id}", utc(*time))
            }
            Self::OtherKeySet(id) => write!(
                f,
                "the later seal is signed by key set {}, not by the one of the pruned seal; do not accept",
                id
            ),
            Self::NotInLog => write!(f, "the pruned seal is not in the log of the later one; do not accept"),
            Self::Signature(family) => write!(f, "the {family} signature does not verify; do not accept"),
        }
    }
}

impl core::error::Error for VerifyError {}
