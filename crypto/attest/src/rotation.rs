//! From one version of a trust root to the next: who must sign, and what may change.
//!
//! The shape is that of TUF's root role. A version is cosigned by a key set that was active in the version before, which
//! makes it acceptable to anybody who pinned that one, and by every key set that it makes active, which shows that their
//! secret keys exist and are held by someone who agrees. A key set that was active before has shown that already: a node of
//! a fleet changes its own keys without those of the others. All three families of a key set sign, or it has not signed.
//!
//! A key set joins as active, which takes its own cosignature, and never as retired. It leaves only when it is retired: a revoked
//! one stays in every later version, so that no version can trust it again.

use alloc::string::String;
use alloc::vec::Vec;

use crate::cbor::{Reader, Writer, sig_structure};
use crate::error::DecodeError;
use crate::family::Family;
use crate::statement::TREFOIL_CLAIM;
use crate::suite::Suite;
use crate::trust_root::{KeySetStatus, TRUST_ROOT_FORMAT, TrustRoot, TrustedKeySet};
use trefoil_types::KeySetId;

/// Most cosignatures of one version. A rotation has two; other active key sets may sign too.
pub const COSIGNATURES_MAX: usize = 4;

/// The three signatures of one key set over a version of a trust root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cosignature {
    /// The key set that signs.
    pub key_set_id: KeySetId,
    /// One signature per family over [`TrustRoot::to_be_signed`], in the order of [`Family::ALL`].
    pub signatures: [Vec<u8>; 3],
}

/// Why a trust root is not accepted as the next version of a pinned one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// Of another issuer.
    #[error("a trust root of {found}, another issuer; do not accept")]
    Issuer {
        /// The issuer found.
        found: String,
    },
    /// Older than the pinned one.
    #[error("version {found} is older than the pinned version {pinned}; keep the pinned one")]
    Rollback {
        /// Version that is pinned.
        pinned: u64,
        /// Version found.
        found: u64,
    },
    /// Of the pinned version, with other content.
    #[error("another version {version} than the pinned one: the issuer has two; ask it which is right")]
    Fork {
        /// The version.
        version: u64,
    },
    /// A version between is missing.
    #[error("version {found} cannot be reached from here; accept version {needed} first")]
    Skipped {
        /// The version that is needed first.
        needed: u64,
        /// Version found.
        found: u64,
    },
    /// Made from another version before than the pinned one.
    #[error("made from another version before than the pinned one; do not accept")]
    OtherPrevious,
    /// A key set that was active or revoked is not listed any more. A revoked one must stay: left out, it could be listed anew.
    #[error("active or revoked key set {0} is not listed any more; do not accept")]
    Vanished(KeySetId),
    /// A key set that was retired or revoked is trusted again, or for longer.
    #[error("key set {0} was retired or revoked and is trusted more again; do not accept")]
    Resurrected(KeySetId),
    /// No key set that was active in the pinned version has cosigned.
    #[error("no key set that is active in the pinned version has cosigned; do not accept")]
    NotCosignedByOld,
    /// A key set that becomes active in the new version has not cosigned.
    #[error("key set {0} becomes active and has not cosigned; do not accept")]
    NotCosignedByNew(KeySetId),
    /// A key set that the pinned version does not list is not active, so nobody has shown that its keys exist.
    #[error("key set {0} is listed for the first time and is not active; do not accept")]
    NeverActive(KeySetId),
    /// A cosignature of a key set that has no part in the change, or two of one key set.
    #[error("key set {0} has cosigned twice or has no part in the change; do not accept")]
    UnexpectedCosigner(KeySetId),
    /// A cosignature does not verify.
    #[error("the {family} cosignature of key set {id} does not verify; do not accept")]
    Signature {
        /// The key set.
        id: KeySetId,
        /// The family.
        family: Family,
    },
}

impl UpdateError {
    /// A stable name for programs and shared test vectors.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Issuer { .. } => "issuer",
            Self::Rollback { .. } => "rollback",
            Self::Fork { .. } => "fork",
            Self::Skipped { .. } => "skipped",
            Self::OtherPrevious => "other-previous",
            Self::Vanished(_) => "vanished",
            Self::Resurrected(_) => "resurrected",
            Self::NotCosignedByOld => "not-cosigned-by-old",
            Self::NotCosignedByNew(_) => "not-cosigned-by-new",
            Self::NeverActive(_) => "never-active",
            Self::UnexpectedCosigner(_) => "unexpected-cosigner",
            Self::Signature { .. } => "signature",
        }
    }
}

impl TrustRoot {
    /// Whether `next` is the next version of this, pinned, trust root; the caller then pins `next`. The pinned version
    /// itself is accepted too. A relying party that is several versions behind accepts them one after the other.
    ///
    /// The times of the key sets play no part: somebody who was away while a key set ran out must still be able to
    /// follow. Anybody who has stolen all three active keys can make a next version as well; after a theft the new trust
    /// root is handed over as the first one was.
    ///
    /// # Errors
    /// See [`UpdateError`].
    pub fn accept(&self, next: &Self) -> Result<(), UpdateError> {
        if next.issuer() != self.issuer() {
            return Err(UpdateError::Issuer { found: next.issuer().into() });
        }
        let (pinned, found) = (self.version(), next.version());
        if found < pinned {
            return Err(UpdateError::Rollback { pinned, found });
        }
        if found == pinned {
            let same = next.digest() == self.digest();
            return same.then_some(()).ok_or(UpdateError::Fork { version: pinned });
        }
        if found - pinned > 1 {
            return Err(UpdateError::Skipped { needed: pinned + 1, found });
        }
        if *next.previous() != self.digest() {
            return Err(UpdateError::OtherPrevious);
        }
        self.check_statuses(next)?;
        self.check_cosignatures(next)
    }

    /// The bytes that one family of a key set signs: the `Sig_structure` of COSE_Sign1 (RFC 9052 section 4.4) over
    /// [`TrustRoot::digest`]. The claims name this format, so that no seal can be taken for it.
    #[must_use]
    pub fn to_be_signed(&self, key_set_id: &KeySetId, family: Family) -> Vec<u8> {
        let mut protected = Vec::with_capacity(512);
        let mut w = Writer(&mut protected);
        w.map(3);
        w.key(ALG).int(family.cose_algorithm());
        w.key(KID).bytes(key_set_id.as_bytes());
        w.key(CWT_CLAIMS).map(3);
        w.key(1).text(self.issuer());
        w.key(265).text(TRUST_ROOT_FORMAT);
        w.key(TREFOIL_CLAIM).map(3);
        w.key(1).uint(Suite::One.number());
        w.key(2).uint(self.version());
        w.key(3).bytes(self.previous());
        sig_structure(&protected, &self.digest())
    }

    /// No key set is trusted more than before. Only retired ones disappear, and only active ones join.
    fn check_statuses(&self, next: &Self) -> Result<(), UpdateError> {
        use KeySetStatus::{Active, Retired, Revoked};
        for old in self.key_sets() {
            let id = old.keys.id();
            match (old.status, next.key_set(&id).map(|new| new.status)) {
                (Active | Revoked { .. }, None) => return Err(UpdateError::Vanished(id)),
                (Active, Some(_)) | (Retired { .. }, None) | (_, Some(Revoked { .. })) => {}
                (Retired { since: old }, Some(Retired { since })) if since <= old => {}
                _ => return Err(UpdateError::Resurrected(id)),
            }
        }
        let joins = |new: &&TrustedKeySet| new.status != Active && self.key_set(&new.keys.id()).is_none();
        let inactive = next.key_sets().iter().find(joins);
        inactive.map_or(Ok(()), |new| Err(UpdateError::NeverActive(new.keys.id())))
    }

    fn check_cosignatures(&self, next: &Self) -> Result<(), UpdateError> {
        let mut by_old = false;
        for (at, Cosignature { key_set_id: id, signatures }) in next.cosignatures().iter().enumerate() {
            let repeated = next.cosignatures()[..at].iter().any(|earlier| earlier.key_set_id == *id);
            let keys = match (active(self, id), active(next, id)) {
                (Some(old), _) => {
                    by_old = true;
                    old
                }
                (None, Some(new)) => new,
                (None, None) => return Err(UpdateError::UnexpectedCosigner(*id)),
            };
            if repeated {
                return Err(UpdateError::UnexpectedCosigner(*id));
            }
            for family in Family::ALL {
                let signed = next.to_be_signed(id, family);
                if !family.verifies(keys.public_key(family), &signed, &signatures[family.index()]) {
                    return Err(UpdateError::Signature { id: *id, family });
                }
            }
        }
        if !by_old {
            return Err(UpdateError::NotCosignedByOld);
        }
        let unsigned = next.key_sets().iter().map(|set| (set.keys.id(), set.status)).find(|(id, status)| {
            *status == KeySetStatus::Active
                && active(self, id).is_none()
                && next.cosignatures().iter().all(|cosignature| cosignature.key_set_id != *id)
        });
        unsigned.map_or(Ok(()), |(id, _)| Err(UpdateError::NotCosignedByNew(id)))
    }
}

/// The keys with this identifier, where the trust root has them as active.
fn active<'a>(root: &'a TrustRoot, id: &KeySetId) -> Option<&'a crate::key_set::PublicKeySet> {
    root.key_set(id).filter(|set| set.status == KeySetStatus::Active).map(|set| &set.keys)
}

impl Cosignature {
    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.array(4);
        w.bytes(self.key_set_id.as_bytes());
        self.signatures.iter().for_each(|signature| {
            w.bytes(signature);
        });
    }

    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.array("trust_root.cosignature", 4..=4)?;
        let key_set_id = r.fixed("trust_root.cosignature.key_set")?;
        let mut signatures = [const { Vec::new() }; 3];
        for family in Family::ALL {
            let length = family.signature_bytes();
            signatures[family.index()] = r.bytes("trust_root.cosignature", length..=length)?.to_vec();
        }
        Ok(Self { key_set_id: KeySetId::new(key_set_id), signatures })
    }
}

/// COSE header labels (RFC 9052, RFC 9597).
const ALG: i64 = 1;
const KID: i64 = 4;
const CWT_CLAIMS: i64 = 15;
