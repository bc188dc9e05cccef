//! The trust root: what a relying party pins, obtained out of band.

use alloc::string::String;
use alloc::vec::Vec;

use sha3::{Digest as _, Sha3_256};

use crate::cbor::{Reader, Writer};
use crate::error::{DecodeError, Problem};
use crate::key_set::PublicKeySet;
use crate::rotation::{COSIGNATURES_MAX, Cosignature};
use crate::statement::{NAME_BYTES_MAX, is_name};
use trefoil_types::KeySetId;

/// Name and version of the trust-root format.
pub const TRUST_ROOT_FORMAT: &str = "trefoil:trust-root/1";
/// Most key sets of one trust root: years of rotation, and a bound on what a verifier reads.
pub const KEY_SETS_MAX: usize = 64;

/// What a key set may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySetStatus {
    /// Signs today.
    Active,
    /// Rotated out: seals before `since` still verify.
    Retired {
        /// Unix seconds.
        since: u64,
    },
    /// Compromised: nothing verifies, whatever its time says, because a thief can back-date a seal.
    Revoked {
        /// Unix seconds.
        since: u64,
    },
}

/// A key set with its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedKeySet {
    /// The public keys.
    pub keys: PublicKeySet,
    /// What they may be used for.
    pub status: KeySetStatus,
}

/// An issuer and its key sets, in a version. The first is authentic only as far as the channel that delivered it; each
/// later one can be accepted from the one before, see [`TrustRoot::accept`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustRoot {
    issuer: String,
    key_sets: Vec<TrustedKeySet>,
    version: u64,
    previous: [u8; 32],
    cosignatures: Vec<Cosignature>,
}

/// A trust root that contradicts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustRootError {
    /// The issuer is empty, longer than 255 bytes, or holds control characters.
    #[error("the issuer must be 1 to 255 bytes without control characters")]
    Issuer,
    /// No key set, or more than [`KEY_SETS_MAX`].
    #[error(
        "a trust root holds 1 to 64 key sets; leave out the oldest retired ones, not active or revoked ones"
    )]
    KeySetCount,
    /// The same key set twice.
    #[error("a key set is listed twice; list it once with its current status")]
    RepeatedKeySet,
    /// A key set whose validity is empty.
    #[error("a key set's not_before must be earlier than its not_after")]
    EmptyValidity,
    /// A first version that names one before it, a version 0, or more than [`COSIGNATURES_MAX`] cosignatures.
    #[error("only versions from 2 on name the one before and carry cosignatures, at most 4")]
    Version,
}

impl TrustRoot {
    /// A trust root for one issuer.
    ///
    /// # Errors
    /// See [`TrustRootError`].
    pub fn new(issuer: impl Into<String>, key_sets: Vec<TrustedKeySet>) -> Result<Self, TrustRootError> {
        let issuer = issuer.into();
        if !is_name(&issuer, NAME_BYTES_MAX) {
            return Err(TrustRootError::Issuer);
        }
        if key_sets.is_empty() || key_sets.len() > KEY_SETS_MAX {
            return Err(TrustRootError::KeySetCount);
        }
        if key_sets.iter().any(|set| set.keys.not_before >= set.keys.not_after) {
            return Err(TrustRootError::EmptyValidity);
        }
        let mut ids: Vec<KeySetId> = key_sets.iter().map(|set| set.keys.id()).collect();
        ids.sort_unstable();
        match ids.windows(2).any(|pair| pair[0] == pair[1]) {
            true => Err(TrustRootError::RepeatedKeySet),
            false => Ok(Self { issuer, key_sets, version: 1, previous: [0; 32], cosignatures: Vec::new() }),
        }
    }

    /// The next version of this trust root, not yet cosigned.
    ///
    /// # Errors
    /// See [`TrustRootError`].
    pub fn successor(&self, key_sets: Vec<TrustedKeySet>) -> Result<Self, TrustRootError> {
        let version = self.version.checked_add(1).ok_or(TrustRootError::Version)?;
        Self::new(self.issuer.clone(), key_sets)?.at(version, self.digest(), Vec::new())
    }

    /// The same version with these cosignatures. They are not verified here.
    ///
    /// # Errors
    /// [`TrustRootError::Version`] for a first version, which has none, and for too many.
    pub fn with_cosignatures(self, cosignatures: Vec<Cosignature>) -> Result<Self, TrustRootError> {
        let (version, previous) = (self.version, self.previous);
        self.at(version, previous, cosignatures)
    }

    /// The same issuer and key sets in another place of the chain.
    pub(crate) fn at(
        self,
        version: u64,
        previous: [u8; 32],
        cosignatures: Vec<Cosignature>,
    ) -> Result<Self, TrustRootError> {
        let first = previous == [0; 32] && cosignatures.is_empty();
        match version {
            0 => Err(TrustRootError::Version),
            1 if !first => Err(TrustRootError::Version),
            _ if cosignatures.len() > COSIGNATURES_MAX => Err(TrustRootError::Version),
            _ => Ok(Self { version, previous, cosignatures, ..self }),
        }
    }

    /// Position in the issuer's chain of trust roots, from 1.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// [`TrustRoot::digest`] of the version before; zeros for version 1.
    #[must_use]
    pub const fn previous(&self) -> &[u8; 32] {
        &self.previous
    }

    /// What key sets of the version before and of this one signed about it.
    #[must_use]
    pub fn cosignatures(&self) -> &[Cosignature] {
        &self.cosignatures
    }

    /// SHA3-256 of everything but the cosignatures: what they sign, and what the next version names as `previous`.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut out = Vec::with_capacity(256 + 3072 * self.key_sets.len());
        let mut w = Writer(&mut out);
        w.array(if self.version == 1 { 3 } else { 5 });
        self.write_body(&mut w);
        Sha3_256::digest(&out).into()
    }

    /// The issuer whose seals this root vouches for.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The key sets, in the order given.
    #[must_use]
    pub fn key_sets(&self) -> &[TrustedKeySet] {
        &self.key_sets
    }

    /// The key set with this identifier.
    #[must_use]
    pub fn key_set(&self, id: &KeySetId) -> Option<&TrustedKeySet> {
        self.key_sets.iter().find(|set| set.keys.id() == *id)
    }

    /// The canonical binary form.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256 + 3072 * self.key_sets.len());
        let mut w = Writer(&mut out);
        w.array(if self.version == 1 { 3 } else { 6 });
        self.write_body(&mut w);
        if self.version != 1 {
            w.array(self.cosignatures.len());
            self.cosignatures.iter().for_each(|cosignature| cosignature.write(&mut w));
        }
        out
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        w.text(TRUST_ROOT_FORMAT);
        w.text(&self.issuer);
        w.array(self.key_sets.len());
        for TrustedKeySet { keys, status } in &self.key_sets {
            w.array(3);
            keys.write(w);
            let (number, since) = status.numbers();
            w.uint(number);
            w.uint(since);
        }
        if self.version != 1 {
            w.uint(self.version);
            w.bytes(&self.previous);
        }
    }

    /// Decodes the one canonical binary form.
    ///
    /// # Errors
    /// Any other bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        let first = match r.array("trust_root", 3..=6)? {
            3 => true,
            6 => false,
            _ => return Err(r.error("trust_root", Problem::WrongLength)),
        };
        r.format("trust_root.format", TRUST_ROOT_FORMAT)?;
        let issuer = r.text("trust_root.issuer", NAME_BYTES_MAX)?;
        let count = r.array("trust_root.key_sets", 1..=KEY_SETS_MAX)?;
        let mut key_sets = Vec::new();
        for _ in 0..count {
            r.array("trust_root.key_set", 3..=3)?;
            let keys = PublicKeySet::read(&mut r)?;
            let start = r.clone();
            let numbers = (r.uint("trust_root.status")?, r.uint("trust_root.since")?);
            let status = KeySetStatus::from_numbers(numbers)
                .ok_or_else(|| start.error("trust_root.status", Problem::OutOfRange))?;
            key_sets.push(TrustedKeySet { keys, status });
        }
        let end = r.clone();
        let root =
            Self::new(issuer, key_sets).map_err(|_| end.error("trust_root.key_sets", Problem::OutOfRange))?;
        let root = if first { root } else { root.read_place(&mut r)? };
        r.finish("trust_root")?;
        Ok(root)
    }

    /// Reads what versions from 2 on have.
    fn read_place(self, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = r.clone();
        let version = r.uint("trust_root.version")?;
        let previous = r.fixed("trust_root.previous")?;
        let count = r.array("trust_root.cosignatures", 0..=COSIGNATURES_MAX)?;
        let cosignatures = (0..count).map(|_| Cosignature::read(r)).collect::<Result<_, _>>()?;
        let refused = || start.error("trust_root.version", Problem::OutOfRange);
        // Version 1 has another encoding.
        if version < 2 {
            return Err(refused());
        }
        self.at(version, previous, cosignatures).map_err(|_| refused())
    }
}

impl KeySetStatus {
    fn numbers(self) -> (u64, u64) {
        match self {
            Self::Active => (0, 0),
            Self::Retired { since } => (1, since),
            Self::Revoked { since } => (2, since),
        }
    }

    fn from_numbers(numbers: (u64, u64)) -> Option<Self> {
        match numbers {
            (0, 0) => Some(Self::Active),
            (1, since) => Some(Self::Retired { since }),
            (2, since) => Some(Self::Revoked { since }),
            _ => None,
        }
    }
}
