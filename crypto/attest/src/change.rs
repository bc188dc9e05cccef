//! The other kind of statement: what a service changed for a tenant, and its verification offline.
//!
//! A [`Change`] is a leaf of the same trees as statements of authentications, under the same seals, in the same container
//! ([`Attestation`]). Its `eat_profile` is another one, so neither kind is ever read as the other. It does not expire: a receipt is
//! kept for years.

mod codec;

pub use codec::Kind;

use alloc::vec::Vec;

use sha3::{Digest as _, Sha3_256};
use trefoil_types::{ApiKeyId, Handle, IssuerKeyId, OperatorId, SessionId, TenantId};

use crate::attestation::Attestation;
use crate::cbor::{Reader, Writer};
use crate::error::{DecodeError, Problem};
use crate::policy::CLOCK_SKEW_SECONDS_DEFAULT;
use crate::pruned::PrunedSeal;
use crate::seal::{Seal, SealHeader};
use crate::statement::{
    NAME_BYTES_MAX, STATEMENT_BYTES_MAX, StatementError, TREFOIL_CLAIM, is_name, read_suite,
};
use crate::suite::Suite;
use crate::trust_root::TrustRoot;
use crate::verify::Signed;
use crate::verify_error::VerifyError;

/// Name and version of the format (`eat_profile`).
pub const CHANGE_FORMAT: &str = "trefoil:change/1";
/// Bytes of a change's salt.
pub const SALT_BYTES: usize = 16;
/// Longest name of an operator, bytes.
pub const OPERATOR_NAME_BYTES_MAX: usize = 64;
/// The tenant of a change that concerns the service itself, such as a new operator.
pub const SERVICE: TenantId = TenantId::new([0; 16]);

/// What a service changed for a tenant. Fields are borrowed, so that encoding and decoding copy nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// Signature suite that will protect it.
    pub suite: Suite,
    /// The service that states this, 1 to 255 bytes.
    pub issuer: &'a str,
    /// For whom; [`SERVICE`] where it is no tenant's.
    pub tenant: TenantId,
    /// When it was done, Unix seconds.
    pub changed_at: u64,
    /// Random: who sees the digest in a path of the tree must not be able to try out what it is of.
    pub salt: [u8; SALT_BYTES],
    /// What was done.
    pub what: What,
    /// The operator who did it, or tried to; none where a tenant did it with its API key, or the service on its own.
    pub by: Option<Actor<'a>>,
}

/// An operator of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Actor<'a> {
    /// Who.
    pub operator: OperatorId,
    /// The operator's name, 1 to 64 bytes.
    pub name: &'a str,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// A subject has a template of this generation, and had none before.
    Enrolled {
        /// The subject.
        handle: Handle,
        /// The template's generation.
        generation: u32,
        /// [`consent_digest`] of the caller's reference to the subject's consent.
        consent: [u8; 32],
    },
    /// The template of a subject was destroyed: its salt at the key-holder, then its data key and its bytes.
    Erased {
        /// The subject.
        handle: Handle,
        /// The newest generation that was destroyed; none is left.
        generation: u32,
    },
    /// A credential root was published. Sessions under a generation below `generation_min` ended.
    RootPublished {
        /// Its generation.
        generation: u32,
        /// The oldest that is accepted.
        generation_min: u32,
        /// The root.
        root: [u8; 32],
        /// Digest of the issuer's signed statement: the end of the tenant's root log.
        head: [u8; 32],
    },
    /// A version of the policy is in force.
    PolicyChanged {
        /// The policy's number.
        id: u32,
        /// Its version, which statements name from then on.
        version: u32,
        /// SHA3-256 of the policy in canonical JSON (RFC 8785).
        digest: [u8; 32],
    },
    /// A proof opened a session.
    SessionOpened {
        /// The session.
        session: SessionId,
        /// When it ends, Unix seconds.
        expires_at: u64,
    },
    /// A session was ended before its time, and its proof opens it no more.
    SessionEnded {
        /// The session.
        session: SessionId,
    },
    /// A subject has a template of this generation in place of another, which was destroyed as an erased one is.
    Replaced {
        /// The subject.
        handle: Handle,
        /// The generation of the new template.
        generation: u32,
        /// The generation that was destroyed.
        replaced: u32,
        /// [`consent_digest`] of the caller's reference to the subject's consent.
        consent: [u8; 32],
    },
    /// A subject's logins are refused from now on, and its sessions ended. The key of its template was destroyed; its record stays.
    Revoked {
        /// The subject.
        handle: Handle,
        /// The generation of its template, which decides no login any more.
        generation: u32,
    },
    /// A tenant was created.
    TenantCreated {
        /// SHA3-256 of version 1 of its policy in canonical JSON (RFC 8785).
        digest: [u8; 32],
    },
    /// A tenant's API keys are refused from now on.
    TenantDisabled,
    /// A tenant's API keys are taken again.
    TenantEnabled,
    /// An API key was created. Its secret is in no receipt.
    ApiKeyCreated {
        /// Its public part.
        key: ApiKeyId,
        /// What it may do: the sum of 1 for `enrol`, 2 for `authenticate` and 4 for `issue`.
        scopes: u8,
    },
    /// An API key was revoked.
    ApiKeyRevoked {
        /// Its public part.
        key: ApiKeyId,
    },
    /// The key under which a tenant's roots verify from now on was registered.
    IssuerKeyRegistered {
        /// The key.
        key: IssuerKeyId,
    },
    /// A tenant's templates are being encrypted under new keys.
    KeyRotationBegun {
        /// The epoch of the new keys.
        epoch: u32,
    },
    /// All templates of a tenant are under the new keys, and the old keys were destroyed.
    KeyRotationEnded {
        /// The epoch of the keys that are left.
        epoch: u32,
    },
    /// The key-holder's count of a tenant's malformed jobs was reset.
    MalformedReset,
    /// An operator was created. The secret of its token is in no receipt.
    OperatorCreated {
        /// The new operator.
        operator: OperatorId,
        /// What it may do: 1 viewer, 2 operator, 3 owner.
        role: u8,
    },
    /// All tokens of an operator are refused from now on.
    OperatorRevoked {
        /// Whose.
        operator: OperatorId,
    },
    /// An operator has one more token.
    OperatorTokenCreated {
        /// The operator.
        operator: OperatorId,
        /// Counts the operator's tokens from 1.
        token: u32,
    },
    /// A token of an operator is refused from now on.
    OperatorTokenRevoked {
        /// The operator.
        operator: OperatorId,
        /// Which of its tokens.
        token: u32,
    },
    /// A disabled tenant was deleted: its templates with their keys, its sessions, API keys and policies. Its root log stays.
    TenantDeleted {
        /// Templates that were destroyed.
        templates: u64,
    },
    /// The delay of a locked-out subject was ended, and its failures of the day were forgotten. Whose is in no receipt.
    AttemptsReset,
    /// An operator asked for a change that its role does not allow, and nothing was changed.
    Refused {
        /// The change that it would have been.
        action: Kind,
    },
}

/// What a receipt calls a reference to a consent by, so that the reference itself stays with the tenant.
#[must_use]
pub fn consent_digest(reference: &str) -> [u8; 32] {
    Sha3_256::new().chain_update(b"trefoil/consent/1").chain_update(reference.as_bytes()).finalize().into()
}

impl What {
    /// The word used in JSON, such as `erased`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.kind().name()
    }
}

impl<'a> Change<'a> {
    /// The canonical encoding.
    ///
    /// # Errors
    /// An issuer outside its limits.
    pub fn encode(&self) -> Result<Vec<u8>, StatementError> {
        let Self { suite, issuer, tenant, changed_at, salt, what, by } = self;
        if !is_name(issuer, NAME_BYTES_MAX) {
            return Err(StatementError {
                field: "issuer",
                limits: "1 to 255 bytes without control characters",
            });
        }
        if by.is_some_and(|by| !is_name(by.name, OPERATOR_NAME_BYTES_MAX)) {
            return Err(StatementError {
                field: "operator",
                limits: "1 to 64 bytes without control characters",
            });
        }
        let mut out = Vec::with_capacity(512);
        let mut w = Writer(&mut out);
        w.map(5);
        w.key(1).text(issuer);
        w.key(6).uint(*changed_at);
        w.key(7).bytes(salt);
        w.key(265).text(CHANGE_FORMAT);
        w.key(TREFOIL_CLAIM).map(4 + usize::from(by.is_some()));
        w.key(1).uint(suite.number());
        w.key(2).bytes(tenant.as_bytes());
        w.key(3).uint(what.kind().number());
        what.write(w.key(4));
        if let Some(Actor { operator, name }) = by {
            w.key(5).array(2);
            w.bytes(operator.as_bytes());
            w.text(name);
        }
        Ok(out)
    }

    /// Decodes the one canonical encoding of a change.
    ///
    /// # Errors
    /// Any other bytes, with the field and offset of the first difference.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        if bytes.len() > STATEMENT_BYTES_MAX {
            return Err(r.error("change", Problem::WrongLength));
        }
        r.map("change", 5)?;
        let issuer = r.key("iss", 1)?.text("iss", NAME_BYTES_MAX)?;
        let changed_at = r.key("iat", 6)?.uint("iat")?;
        let salt = r.key("cti", 7)?.fixed("cti")?;
        r.key("eat_profile", 265)?.format("eat_profile", CHANGE_FORMAT)?;
        let fields = r.key("trefoil", TREFOIL_CLAIM)?.map_of("trefoil", 4..=5)?;
        let suite = read_suite(r.key("suite", 1)?)?;
        let tenant = TenantId::new(r.key("tenant", 2)?.fixed("tenant")?);
        let kind = r.key("kind", 3)?.uint("kind")?;
        let what = What::read(kind, r.key("what", 4)?)?;
        let by = match fields {
            4 => None,
            _ => {
                r.key("by", 5)?.array("by", 2..=2)?;
                let operator = OperatorId::new(r.fixed("by.operator")?);
                Some(Actor { operator, name: r.text("by.name", OPERATOR_NAME_BYTES_MAX)? })
            }
        };
        r.finish("change")?;
        Ok(Self { suite, issuer, tenant, changed_at, salt, what, by })
    }
}

/// A receipt for which every check passed. Only [`verify_change`] and its like with a seal make one.
#[derive(Clone, Debug)]
pub struct VerifiedChange<'a> {
    change: Change<'a>,
    digest: [u8; 32],
    leaf_index: u64,
    seal: SealHeader,
}

impl<'a> VerifiedChange<'a> {
    /// What was changed.
    #[must_use]
    pub fn change(&self) -> &Change<'a> {
        &self.change
    }

    /// SHA3-256 of the change: its entry in the tree, and the receipt's `id`.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The change's leaf.
    #[must_use]
    pub fn leaf_index(&self) -> u64 {
        self.leaf_index
    }

    /// The seal that covers it.
    #[must_use]
    pub fn seal(&self) -> &SealHeader {
        &self.seal
    }
}

/// Verifies a full receipt about `tenant` at `now` (Unix seconds). Without a tenant it may be about any, as for the holder of an API key
/// who knows no other. What else it must say is the caller's to compare.
///
/// # Errors
/// The first check that failed.
pub fn verify_change<'a>(
    bytes: &'a [u8],
    trust_root: &TrustRoot,
    tenant: Option<&TenantId>,
    now: u64,
) -> Result<VerifiedChange<'a>, VerifyError> {
    verify_receipt(bytes, None, trust_root, tenant, now)
}

/// The same for a compact receipt with the seal that it names.
///
/// # Errors
/// The first check that failed.
pub fn verify_change_with_seal<'a>(
    bytes: &'a [u8],
    seal: &Seal,
    trust_root: &TrustRoot,
    tenant: Option<&TenantId>,
    now: u64,
) -> Result<VerifiedChange<'a>, VerifyError> {
    verify_receipt(bytes, Some(Signed::Itself(seal)), trust_root, tenant, now)
}

/// The same for a compact receipt whose seal the issuer has pruned.
///
/// # Errors
/// The first check that failed.
pub fn verify_change_with_pruned_seal<'a>(
    bytes: &'a [u8],
    pruned: &PrunedSeal,
    trust_root: &TrustRoot,
    tenant: Option<&TenantId>,
    now: u64,
) -> Result<VerifiedChange<'a>, VerifyError> {
    verify_receipt(bytes, Some(Signed::Later(pruned)), trust_root, tenant, now)
}

fn verify_receipt<'a>(
    bytes: &'a [u8],
    passed: Option<Signed<'_>>,
    trust_root: &TrustRoot,
    tenant: Option<&TenantId>,
    now: u64,
) -> Result<VerifiedChange<'a>, VerifyError> {
    let receipt = Attestation::decode(bytes)?;
    // A device signs logins, never changes.
    if receipt.device.is_some() {
        return Err(VerifyError::DeviceSignature);
    }
    let signed = Signed::of(&receipt.evidence, passed)?;
    let change = Change::decode(receipt.statement)?;
    if change.issuer != trust_root.issuer() {
        return Err(VerifyError::Issuer { found: change.issuer.into() });
    }
    if tenant.is_some_and(|tenant| change.tenant != *tenant) {
        return Err(VerifyError::Tenant);
    }
    let (skew, issued_at, header) = (CLOCK_SKEW_SECONDS_DEFAULT, change.changed_at, signed.header());
    let latest = now.saturating_add(skew);
    if issued_at > latest {
        return Err(VerifyError::NotYetValid { issued_at });
    }
    if header.time > latest || header.time.saturating_add(skew) < issued_at {
        return Err(VerifyError::SealTime { time: header.time });
    }
    let digest = signed.digest_of(&receipt, change.suite, trust_root)?;
    Ok(VerifiedChange { change, digest, leaf_index: receipt.leaf_index, seal: header.clone() })
}
