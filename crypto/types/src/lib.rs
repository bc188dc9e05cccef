#![no_std]
#![doc = include_str!("../README.md")]

extern crate alloc;

mod access;
mod calibration;
mod id;
mod login;
mod policy;
#[cfg(feature = "schema")]
pub mod schema;
pub mod time;

pub use access::{Role, Scope};
pub use id::NotAnId;
use id::ids;
pub use login::{Decision, NUMBERS_MAX, NUMBERS_MIN, ProbeMode, Width};
pub use policy::{
    AttemptPolicy, LIFETIME_SECONDS_MAX, MODEL_BYTES_MAX, NAME_BYTES_MAX, OutOfRange, Policy, PreviousModel,
    ProofNeed, SCORE_MAX, SESSIONS_IN_MEMORY_MAX, Threshold,
};

/// Implements [`core::fmt::Debug`] for a type whose content is secret or too long to be shown: `Name(..)`.
#[macro_export]
macro_rules! opaque_debug {
    ($name:ident) => {
        impl ::core::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        }
    };
}

ids! {
    /// A tenant. A batch has only one.
    TenantId, 16;
    /// A subject at its tenant: the pseudonym that the credential proof shows. It is canonical if it comes from a proof.
    Handle, 32;
    /// A subject's account with one audience, as in attestations. Two audiences cannot link their accounts.
    Account, 32;
    /// The key with which a person's devices sign for one account: the digest of its public part.
    AccountKeyId, 32;
    /// A proof session: the digest of its proven statement.
    SessionId, 32;
    /// The attestation of an answer: the digest of its statement.
    AttestationId, 32;
    /// An identifier of an audience in the verdict on a proof, shorter than its name.
    AudienceId, 16;
    /// A batch, in logs and attestations.
    BatchId, 16;
    /// The public keys that sign seals: their digest.
    KeySetId, 32;
    /// A key that signs an issuer's roots: the digest of its public part.
    IssuerKeyId, 32;
    /// The public part of an API key.
    ApiKeyId, 8;
    /// An operator of the service. All zeros for the owner of the token in the data directory.
    OperatorId, 8;
}

/// Names a template: tenant, subject and generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TemplateName {
    /// The tenant.
    pub tenant: TenantId,
    /// The subject.
    pub handle: Handle,
    /// Generation of the template.
    pub generation: u32,
}
