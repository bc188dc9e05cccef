//! Public key sets: three keys that sign together, named by the digest of their encoding.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use sha3::{Digest as _, Sha3_256};

use crate::cbor::{Reader, Writer};
use crate::error::{DecodeError, Problem};
use crate::family::{
    FALCON_512_PUBLIC_KEY_BYTES, Family, ML_DSA_65_PUBLIC_KEY_BYTES, SLH_DSA_SHA2_128F_PUBLIC_KEY_BYTES,
};
use trefoil_types::KeySetId;

/// Name and version of the key-set format.
pub const KEY_SET_FORMAT: &str = "trefoil:key-set/1";

/// The public keys of the three families, generated together, with the time in which they may sign.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKeySet {
    /// ML-DSA-65 public key.
    pub ml_dsa_65: Box<[u8; ML_DSA_65_PUBLIC_KEY_BYTES]>,
    /// Falcon-512 public key.
    pub falcon_512: Box<[u8; FALCON_512_PUBLIC_KEY_BYTES]>,
    /// SLH-DSA-SHA2-128f public key.
    pub slh_dsa_sha2_128f: [u8; SLH_DSA_SHA2_128F_PUBLIC_KEY_BYTES],
    /// First second in which the keys may sign, Unix seconds.
    pub not_before: u64,
    /// First second in which they no longer may.
    pub not_after: u64,
}

impl PublicKeySet {
    /// The identifier: SHA3-256 of [`PublicKeySet::encode`].
    #[must_use]
    pub fn id(&self) -> KeySetId {
        KeySetId::new(Sha3_256::digest(self.encode()).into())
    }

    /// The public key of one family.
    #[must_use]
    pub fn public_key(&self, family: Family) -> &[u8] {
        match family {
            Family::MlDsa65 => &self.ml_dsa_65[..],
            Family::Falcon512 => &self.falcon_512[..],
            Family::SlhDsaSha2_128f => &self.slh_dsa_sha2_128f[..],
        }
    }

    /// Whether the keys may sign at `time`.
    #[must_use]
    pub const fn is_valid_at(&self, time: u64) -> bool {
        self.not_before <= time && time < self.not_after
    }

    /// The canonical encoding.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(3072);
        self.write(&mut Writer(&mut out));
        out
    }

    /// Decodes the one canonical encoding of a key set.
    ///
    /// # Errors
    /// Any other bytes, and a validity that is empty.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        let keys = Self::read(&mut r)?;
        r.finish("key_set")?;
        Ok(keys)
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.array(6);
        w.text(KEY_SET_FORMAT);
        for family in Family::ALL {
            w.bytes(self.public_key(family));
        }
        w.uint(self.not_before);
        w.uint(self.not_after);
    }

    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.array("key_set", 6..=6)?;
        r.format("key_set.format", KEY_SET_FORMAT)?;
        let ml_dsa_65 = Box::new(r.fixed("key_set.ml_dsa_65")?);
        let falcon_512 = Box::new(r.fixed("key_set.falcon_512")?);
        let slh_dsa_sha2_128f = r.fixed("key_set.slh_dsa_sha2_128f")?;
        let not_before = r.uint("key_set.not_before")?;
        let start = r.clone();
        let not_after = r.uint("key_set.not_after")?;
        match not_before < not_after {
            true => Ok(Self { ml_dsa_65, falcon_512, slh_dsa_sha2_128f, not_before, not_after }),
            false => Err(start.error("key_set.not_after", Problem::OutOfRange)),
        }
    }
}

impl fmt::Debug for PublicKeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKeySet({}, {}..{})", self.id(), self.not_before, self.not_after)
    }
}

/// Bytes shown as lower-case hexadecimal.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
