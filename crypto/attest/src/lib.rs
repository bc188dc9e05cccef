//! Attestations of authentication decisions and their offline verification.
//!
//! A [`Statement`] says what was decided; its digest is a leaf of an RFC 9162 [`tree`]; a [`Seal`] signs the root
//! with three post-quantum families; an [`Attestation`] carries all of it to a relying party, who needs a
//! [`TrustRoot`], a [`Policy`], the time, and [`verify`]. This crate runs on a client: pure Rust dependencies,
//! `no_std` with `alloc`, no clock, no network, no secrets. The feature `json` (on by default) adds the text forms of
//! [`json`].
//!
//! ```
//! use trefoil_attest::{Account, ExpectedNonce, Policy, TrustRoot, VerifyError, verify};
//!
//! /// The account to look up or to make: the same for this person at every login.
//! fn accept(trust_root: TrustRoot, nonce: Vec<u8>, bytes: &[u8], now: u64) -> Result<Account, VerifyError> {
//!     let policy = Policy::new(trust_root, "https://shop.example", ExpectedNonce::Exactly(nonce));
//!     Ok(verify(bytes, &policy, now)?.statement().account)
//! }
//! ```
#![no_std]

extern crate alloc;

mod attestation;
mod cbor;
mod change;
mod contradiction;
mod device;
mod error;
mod family;
#[cfg(feature = "json")]
pub mod json;
mod key_set;
pub mod log;
mod policy;
#[cfg(feature = "json")]
mod policy_digest;
mod pruned;
mod request;
mod restoration;
mod rotation;
mod same_log;
mod seal;
mod statement;
mod succession;
mod suite;
pub mod tree;
mod trust_root;
mod vault;
mod verify;
mod verify_error;
#[cfg(feature = "json")]
pub mod witness;

pub use attestation::{ATTESTATION_BYTES_MAX, ATTESTATION_FORMAT, Attestation, Evidence, SealReference};
pub use change::{
    Actor, CHANGE_FORMAT, Change, Kind, OPERATOR_NAME_BYTES_MAX, SALT_BYTES, SERVICE, VerifiedChange, What,
    consent_digest, verify_change, verify_change_with_pruned_seal, verify_change_with_seal,
};
pub use contradiction::{Contradicted, Relation, compare, compare_statements};
pub use device::{DEVICE_FORMAT, DeviceSignature, DeviceStatement, account_key_id, join};
pub use error::{DecodeError, Problem};
pub use family::{
    FALCON_512_PUBLIC_KEY_BYTES, FALCON_512_SIGNATURE_BYTES, Family, ML_DSA_44_PUBLIC_KEY_BYTES,
    ML_DSA_44_SIGNATURE_BYTES, ML_DSA_65_PUBLIC_KEY_BYTES, ML_DSA_65_SIGNATURE_BYTES,
    SLH_DSA_SHA2_128F_PUBLIC_KEY_BYTES, SLH_DSA_SHA2_128F_SIGNATURE_BYTES,
};
pub use key_set::{KEY_SET_FORMAT, PublicKeySet};
pub use policy::{CLOCK_SKEW_SECONDS_DEFAULT, CLOCK_SKEW_SECONDS_MAX, ExpectedNonce, Policy};
#[cfg(feature = "json")]
pub use policy_digest::policy_digest;
pub use pruned::{LogEntry, PRUNED_SEAL_BYTES_MAX, PRUNED_SEAL_FORMAT, PrunedSeal};
pub use request::{RequestHeader, UnprovenRequest};
pub use restoration::{Last, Restoration};
pub use rotation::{COSIGNATURES_MAX, Cosignature, UpdateError};
pub use same_log::{LogError, verify_same_log};
pub use seal::{HEADER_BYTES_MAX, SEAL_BYTES_MAX, SEAL_FORMAT, Seal, SealHeader};
pub use statement::{
    BATCH_MAX, LIFETIME_SECONDS_MAX, MODEL_BYTES_MAX, NAME_BYTES_MAX, NONCE_BYTES_MAX, NONCE_BYTES_MIN,
    Proof, STATEMENT_BYTES_MAX, STATEMENT_FORMAT, Statement, StatementError, decided_entry, statement_digest,
};
pub use succession::{
    SUCCESSION_BYTES_MAX, SUCCESSION_FORMAT, Succession, succession_to_be_signed, verify_succession,
};
pub use suite::Suite;
pub use trefoil_types::{
    Account, AccountKeyId, ApiKeyId, BatchId, Decision, Handle, IssuerKeyId, KeySetId, OperatorId, ProbeMode,
    SessionId, TenantId,
};
pub use trust_root::{
    KEY_SETS_MAX, KeySetStatus, TRUST_ROOT_FORMAT, TrustRoot, TrustRootError, TrustedKeySet,
};
pub use vault::{JobsHead, VAULTS_MAX, VaultState};
pub use verify::{
    Check, Verified, check_signer, verify, verify_pruned_seal, verify_seal, verify_with_pruned_seal,
    verify_with_seal,
};
pub use verify_error::VerifyError;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
