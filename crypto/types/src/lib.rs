#![no_std]
#![doc = include_str!("../README.md")]

mod id;

pub use id::NotAnId;
use id::ids;

ids! {
    /// A tenant. A batch never holds two.
    TenantId, 16;
    /// A subject at its tenant: the pseudonym that the credential proof shows. Canonical where it comes from a proof.
    Handle, 32;
    /// A subject towards one audience, as attestations name it: two audiences cannot join theirs.
    Account, 32;
    /// A proof session: the digest of its proven statement.
    SessionId, 32;
    /// A batch, in logs and attestations.
    BatchId, 16;
    /// The public keys that sign seals: their digest.
    KeySetId, 32;
    /// A key that signs an issuer's roots: the digest of its public part.
    IssuerKeyId, 32;
    /// The public part of an API key.
    ApiKeyId, 8;
    /// An operator of the service. Zeros are the one of the token in the data directory.
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
    /// Which of the subject's templates.
    pub generation: u32,
}
