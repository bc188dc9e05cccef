//! The other kind of statement: what a service changed for a tenant, and its verification offline.
//!
//! A [`Change`] is a leaf of the same trees as statements of authentications, under the same seals, in the same container
//! ([`Attestation`]). Its `eat_profile` is another one, so neither kind is ever read as the other. It does not expire: a receipt is
//! kept for years.

use alloc::vec::Vec;

use sha3::{Digest as _, Sha3_256};
use trefoil_types::{Handle, SessionId, TenantId};

use crate::attestation::{Attestation, Evidence};
use crate::cbor::{Reader, Writer};
use crate::error::{DecodeError, Problem};
use crate::policy::CLOCK_SKEW_SECONDS_DEFAULT;
use crate::pruned::PrunedSeal;
use crate::seal::{Seal, SealHeader};
use crate::statement::{
    NAME_BYTES_MAX, STATEMENT_BYTES_MAX, StatementError, TREFOIL_CLAIM, is_name, read_suite, statement_digest,
};
use crate::suite::Suite;
use crate::tree;
use crate::trust_root::TrustRoot;
use crate::verify::{verify_pruned_seal, verify_seal};
use crate::verify_error::VerifyError;

/// Name and version of the format (`eat_profile`).
pub const CHANGE_FORMAT: &str = "trefoil:change/1";
/// Bytes of a change's salt.
pub const SALT_BYTES: usize = 16;

/// What a service changed for a tenant. Fields are borrowed, so that encoding and decoding copy nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// Signature suite that will protect it.
    pub suite: Suite,
    /// The service that states this, 1 to 255 bytes.
    pub issuer: &'a str,
    /// For whom.
    pub tenant: TenantId,
    /// When it was done, Unix seconds.
    pub changed_at: u64,
    /// Random: who sees the digest in a path of the tree must not be able to try out what it is of.
    pub salt: [u8; SALT_BYTES],
    /// What was done.
    pub what: What,
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
}

/// What a receipt calls a reference to a consent by, so that the reference itself stays with the tenant.
#[must_use]
pub fn consent_digest(reference: &str) -> [u8; 32] {
    Sha3_256::new().chain_update(b"trefoil/consent/1").chain_update(reference.as_bytes()).finalize().into()
}

impl What {
    const fn number(&self) -> u64 {
        match self {
            Self::Enrolled { .. } => 1,
            Self::Erased { .. } => 2,
            Self::RootPublished { .. } => 3,
            Self::PolicyChanged { .. } => 4,
            Self::SessionOpened { .. } => 5,
            Self::SessionEnded { .. } => 6,
            Self::Replaced { .. } => 7,
        }
    }

    /// The word used in JSON, such as `erased`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Enrolled { .. } => "enrolled",
            Self::Erased { .. } => "erased",
            Self::RootPublished { .. } => "root_published",
            Self::PolicyChanged { .. } => "policy_changed",
            Self::SessionOpened { .. } => "session_opened",
            Self::SessionEnded { .. } => "session_ended",
            Self::Replaced { .. } => "replaced",
        }
    }

    fn write(&self, w: &mut Writer<'_>) {
        match self {
            Self::Enrolled { handle, generation, consent } => {
                w.array(3);
                w.bytes(handle.as_bytes());
                w.uint((*generation).into());
                w.bytes(consent);
            }
            Self::Erased { handle, generation } => {
                w.array(2);
                w.bytes(handle.as_bytes());
                w.uint((*generation).into());
            }
            Self::RootPublished { generation, generation_min, root, head } => {
                w.array(4);
                w.uint((*generation).into());
                w.uint((*generation_min).into());
                w.bytes(root);
                w.bytes(head);
            }
            Self::PolicyChanged { id, version, digest } => {
                w.array(3);
                w.uint((*id).into());
                w.uint((*version).into());
                w.bytes(digest);
            }
            Self::SessionOpened { session, expires_at } => {
                w.array(2);
                w.bytes(session.as_bytes());
                w.uint(*expires_at);
            }
            Self::SessionEnded { session } => {
                w.array(1);
                w.bytes(session.as_bytes());
            }
            Self::Replaced { handle, generation, replaced, consent } => {
                w.array(4);
                w.bytes(handle.as_bytes());
                w.uint((*generation).into());
                w.uint((*replaced).into());
                w.bytes(consent);
            }
        }
    }

    fn read(kind: u64, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = r.clone();
        let array = |r: &mut Reader<'_>, length: usize| r.array("what", length..=length).map(drop);
        match kind {
            1 => {
                array(r, 3)?;
                Ok(Self::Enrolled {
                    handle: Handle::new(r.fixed("what.handle")?),
                    generation: r.number("what.generation")?,
                    consent: r.fixed("what.consent")?,
                })
            }
            2 => {
                array(r, 2)?;
                Ok(Self::Erased {
                    handle: Handle::new(r.fixed("what.handle")?),
                    generation: r.number("what.generation")?,
                })
            }
            3 => {
                array(r, 4)?;
                Ok(Self::RootPublished {
                    generation: r.number("what.generation")?,
                    generation_min: r.number("what.generation_min")?,
                    root: r.fixed("what.root")?,
                    head: r.fixed("what.head")?,
                })
            }
            4 => {
                array(r, 3)?;
                Ok(Self::PolicyChanged {
                    id: r.number("what.policy_id")?,
                    version: r.number("what.policy_version")?,
                    digest: r.fixed("what.digest")?,
                })
            }
            5 => {
                array(r, 2)?;
                Ok(Self::SessionOpened {
                    session: SessionId::new(r.fixed("what.session")?),
                    expires_at: r.uint("what.expires_at")?,
                })
            }
            6 => {
                array(r, 1)?;
                Ok(Self::SessionEnded { session: SessionId::new(r.fixed("what.session")?) })
            }
            7 => {
                array(r, 4)?;
                Ok(Self::Replaced {
                    handle: Handle::new(r.fixed("what.handle")?),
                    generation: r.number("what.generation")?,
                    replaced: r.number("what.replaced")?,
                    consent: r.fixed("what.consent")?,
                })
            }
            _ => Err(start.error("kind", Problem::OutOfRange)),
        }
    }
}

impl<'a> Change<'a> {
    /// The canonical encoding.
    ///
    /// # Errors
    /// An issuer outside its limits.
    pub fn encode(&self) -> Result<Vec<u8>, StatementError> {
        let Self { suite, issuer, tenant, changed_at, salt, what } = self;
        if !is_name(issuer, NAME_BYTES_MAX) {
            return Err(StatementError {
                field: "issuer",
                limits: "1 to 255 bytes without control characters",
            });
        }
        let mut out = Vec::with_capacity(512);
        let mut w = Writer(&mut out);
        w.map(5);
        w.key(1).text(issuer);
        w.key(6).uint(*changed_at);
        w.key(7).bytes(salt);
        w.key(265).text(CHANGE_FORMAT);
        w.key(TREFOIL_CLAIM).map(4);
        w.key(1).uint(suite.number());
        w.key(2).bytes(tenant.as_bytes());
        w.key(3).uint(what.number());
        what.write(w.key(4));
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
        r.key("trefoil", TREFOIL_CLAIM)?.map("trefoil", 4)?;
        let suite = read_suite(r.key("suite", 1)?)?;
        let tenant = TenantId::new(r.key("tenant", 2)?.fixed("tenant")?);
        let kind = r.key("kind", 3)?.uint("kind")?;
        let what = What::read(kind, r.key("what", 4)?)?;
        r.finish("change")?;
        Ok(Self { suite, issuer, tenant, changed_at, salt, what })
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
    let receipt = Attestation::decode(bytes)?;
    match &receipt.evidence {
        Evidence::Full(seal) => {
            verify_decoded(&receipt, &seal.header, trust_root, tenant, now, || verify_seal(seal, trust_root))
        }
        Evidence::Compact(reference) => Err(VerifyError::SealNeeded(*reference)),
    }
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
    let receipt = Attestation::decode(bytes)?;
    let named = match &receipt.evidence {
        Evidence::Full(own) => own.reference(),
        Evidence::Compact(reference) => *reference,
    };
    if named != seal.reference() {
        return Err(VerifyError::OtherSeal(named));
    }
    verify_decoded(&receipt, &seal.header, trust_root, tenant, now, || verify_seal(seal, trust_root))
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
    let receipt = Attestation::decode(bytes)?;
    match &receipt.evidence {
        Evidence::Compact(named) if *named != pruned.reference() => Err(VerifyError::OtherSeal(*named)),
        Evidence::Full(_) => verify_change(bytes, trust_root, tenant, now),
        Evidence::Compact(_) => {
            let signed = || verify_pruned_seal(pruned, trust_root);
            verify_decoded(&receipt, &pruned.header, trust_root, tenant, now, signed)
        }
    }
}

fn verify_decoded<'a>(
    receipt: &Attestation<'a>,
    header: &SealHeader,
    trust_root: &TrustRoot,
    tenant: Option<&TenantId>,
    now: u64,
    signed: impl FnOnce() -> Result<(), VerifyError>,
) -> Result<VerifiedChange<'a>, VerifyError> {
    let change = Change::decode(receipt.statement)?;
    if change.issuer != trust_root.issuer() {
        return Err(VerifyError::Issuer { found: change.issuer.into() });
    }
    if tenant.is_some_and(|tenant| change.tenant != *tenant) {
        return Err(VerifyError::Tenant);
    }
    let (skew, issued_at) = (CLOCK_SKEW_SECONDS_DEFAULT, change.changed_at);
    let latest = now.saturating_add(skew);
    if issued_at > latest {
        return Err(VerifyError::NotYetValid { issued_at });
    }
    if header.time > latest || header.time.saturating_add(skew) < issued_at {
        return Err(VerifyError::SealTime { time: header.time });
    }
    if header.suite != change.suite {
        return Err(VerifyError::SuiteMismatch);
    }
    if header.tree_size != receipt.tree_size {
        return Err(VerifyError::TreeSizeMismatch);
    }
    let digest = statement_digest(receipt.statement);
    let Attestation { leaf_index, tree_size, ref path, .. } = *receipt;
    if !tree::verify_inclusion(&digest, leaf_index, tree_size, path, &header.root) {
        return Err(VerifyError::NotInTree);
    }
    signed()?;
    Ok(VerifiedChange { change, digest, leaf_index, seal: header.clone() })
}
