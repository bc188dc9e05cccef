//! The three signing keys that sign a seal together.

use rand::CryptoRng;
use sha3::{Digest as _, Sha3_256};
use subtle::ConstantTimeEq as _;
use trefoil_attest::{Cosignature, Family, KeySetId, PublicKeySet, Seal, SealHeader, TrustRoot};
use zeroize::Zeroizing;

use crate::error::{KeyError, SignError};
use crate::falcon_512::Falcon512;
use crate::family::SignatureFamily;
use crate::family::sealed::Sign as _;
use crate::ml_dsa_65::MlDsa65;
use crate::slh_dsa_sha2_128f::{Extent, Precomputation, SlhDsaSha2_128f};
use crate::unchecked::{SealChecker, UncheckedSeal, UncheckedSignatures};

/// Name and version of the stored form.
const MAGIC: &[u8; 8] = b"TFSIGN01";

/// Domain of the digest at the end of the stored form.
const DOMAIN: &[u8] = b"trefoil/signing-keys/1";

/// Bytes of the stored form: magic, validity (two big-endian u64), the three secret keys, and SHA3-256 over a domain
/// string and everything before.
pub const SECRET_BYTES: usize = 8
    + 8
    + 8
    + MlDsa65::SECRET_KEY_BYTES
    + Falcon512::SECRET_KEY_BYTES
    + SlhDsaSha2_128f::SECRET_KEY_BYTES
    + 32;

/// One key of each family, generated together and used for seals and trust roots only. Secrets are zeroised on drop and the type has
/// no `Debug`.
pub struct SigningKeys {
    ml_dsa_65: MlDsa65,
    falcon_512: Falcon512,
    slh_dsa_sha2_128f: SlhDsaSha2_128f,
    public: PublicKeySet,
    id: KeySetId,
    extent: Extent,
}

impl SigningKeys {
    /// New keys that may sign from `not_before` until just before `not_after` (Unix seconds).
    ///
    /// # Errors
    /// [`KeyError::Validity`] if that is empty.
    pub fn generate(not_before: u64, not_after: u64, rng: &mut impl CryptoRng) -> Result<Self, KeyError> {
        Self::assemble(
            MlDsa65::generate(rng)?,
            Falcon512::generate(rng)?,
            SlhDsaSha2_128f::generate(rng)?,
            not_before,
            not_after,
        )
    }

    fn assemble(
        ml_dsa_65: MlDsa65,
        falcon_512: Falcon512,
        slh_dsa_sha2_128f: SlhDsaSha2_128f,
        not_before: u64,
        not_after: u64,
    ) -> Result<Self, KeyError> {
        if not_before >= not_after {
            return Err(KeyError::Validity);
        }
        let public = PublicKeySet {
            ml_dsa_65: Box::new(fixed(&ml_dsa_65.public_key(), Family::MlDsa65)?),
            falcon_512: Box::new(fixed(&falcon_512.public_key(), Family::Falcon512)?),
            slh_dsa_sha2_128f: fixed(&slh_dsa_sha2_128f.public_key(), Family::SlhDsaSha2_128f)?,
            not_before,
            not_after,
        };
        let id = public.id();
        Ok(Self { ml_dsa_65, falcon_512, slh_dsa_sha2_128f, public, id, extent: Extent::default() })
    }

    /// The public keys.
    #[must_use]
    pub fn public(&self) -> &PublicKeySet {
        &self.public
    }

    /// The key-set id: what a seal header must name.
    #[must_use]
    pub fn id(&self) -> KeySetId {
        self.id
    }

    /// The same keys with the same precomputation, for one more signer. The secret bytes are a copy.
    ///
    /// # Errors
    /// A library that refused its own key: memory was damaged.
    pub fn duplicate(&self) -> Result<Self, KeyError> {
        let copy = Self::assemble(
            MlDsa65::from_secret_bytes(&self.ml_dsa_65.to_secret_bytes())?,
            Falcon512::from_secret_bytes(&self.falcon_512.to_secret_bytes())?,
            self.slh_dsa_sha2_128f.copy(),
            self.public.not_before,
            self.public.not_after,
        )?;
        Ok(Self { extent: self.extent, ..copy })
    }

    /// The precomputation that makes these keys sign faster, to be done once on any thread. The signatures are the same.
    #[must_use]
    pub fn precomputation(&self) -> Precomputation {
        self.slh_dsa_sha2_128f.precomputation(self.extent)
    }

    /// Lets [`Self::precomputation`] use an extent other than the usual one.
    pub fn precompute_to(&mut self, extent: Extent) {
        self.extent = extent;
    }

    /// Signs a header with all three families. Each signature is verified before any is returned.
    ///
    /// # Errors
    /// A header that is not for these keys, or a signature that was not released.
    pub fn sign_seal(&mut self, header: SealHeader, rng: &mut impl CryptoRng) -> Result<Seal, SignError> {
        let unchecked = self.sign_seal_unchecked(header, rng)?;
        self.checker().check(unchecked)
    }

    /// The first half of [`Self::sign_seal`]: its result cannot be read. The second half is
    /// [`SealChecker::check`], on another thread if the next header is to be signed meanwhile.
    ///
    /// # Errors
    /// A header that is not for these keys, or a library that refused to sign.
    pub fn sign_seal_unchecked(
        &mut self,
        header: SealHeader,
        rng: &mut impl CryptoRng,
    ) -> Result<UncheckedSeal, SignError> {
        header.check().map_err(SignError::Header)?;
        if header.key_set_id != self.id {
            return Err(SignError::OtherKeySet(header.key_set_id));
        }
        if !self.public.is_valid_at(header.time) {
            return Err(SignError::OutsideValidity { time: header.time });
        }
        let signatures = self.sign_all(&Family::ALL.map(|family| header.to_be_signed(family)), rng)?;
        Ok(UncheckedSeal { header, signatures })
    }

    /// The checker of these keys' seals. It has its own copy of the keys.
    #[must_use]
    pub fn checker(&self) -> SealChecker {
        SealChecker { public: self.public.clone(), slh_dsa_sha2_128f: self.slh_dsa_sha2_128f.copy() }
    }

    /// Signs a version of a trust root that lists these keys, or that replaces one in which they were active, with all
    /// three families. Each signature is verified before any is returned. Validity plays no part: keys that ran out can
    /// still name their successor.
    ///
    /// # Errors
    /// A signature that was not released.
    pub fn cosign(&mut self, root: &TrustRoot, rng: &mut impl CryptoRng) -> Result<Cosignature, SignError> {
        let key_set_id = self.id;
        let messages = Family::ALL.map(|family| root.to_be_signed(&key_set_id, family));
        let unchecked = self.sign_all(&messages, rng)?;
        let signatures = self.checker().released(&messages, unchecked)?;
        Ok(Cosignature { key_set_id, signatures })
    }

    fn sign_all(
        &mut self,
        [ml_dsa_65, falcon_512, slh_dsa_sha2_128f]: &[Vec<u8>; 3],
        rng: &mut impl CryptoRng,
    ) -> Result<UncheckedSignatures, SignError> {
        Ok(UncheckedSignatures {
            ml_dsa_65: self.ml_dsa_65.sign_unverified(ml_dsa_65, rng)?,
            falcon_512: self.falcon_512.sign_unverified(falcon_512, rng)?,
            slh_dsa_sha2_128f: self.slh_dsa_sha2_128f.sign_once(slh_dsa_sha2_128f, rng)?,
        })
    }

    /// The stored form, [`SECRET_BYTES`] bytes, for a file that only the signer can read. Not encrypted.
    #[must_use]
    pub fn to_secret_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(Vec::with_capacity(SECRET_BYTES));
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&self.public.not_before.to_be_bytes());
        out.extend_from_slice(&self.public.not_after.to_be_bytes());
        out.extend_from_slice(&self.ml_dsa_65.to_secret_bytes());
        out.extend_from_slice(&self.falcon_512.to_secret_bytes());
        out.extend_from_slice(&self.slh_dsa_sha2_128f.to_secret_bytes());
        let digest = digest(&out);
        out.extend_from_slice(&digest);
        out
    }

    /// Reads the stored form. The digest at its end is recomputed, so that a damaged file is refused rather than used
    /// to sign: a damaged SLH-DSA or Falcon key still signs, and its signatures can reveal the key.
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn from_secret_bytes(bytes: &[u8]) -> Result<Self, KeyError> {
        if bytes.len() != SECRET_BYTES {
            return Err(KeyError::Length);
        }
        let (bytes, stored) = bytes.split_at(SECRET_BYTES - 32);
        let (magic, rest) = bytes.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(KeyError::Format);
        }
        if !bool::from(digest(bytes)[..].ct_eq(stored)) {
            return Err(KeyError::Damaged);
        }
        let (not_before, rest) = rest.split_at(8);
        let (not_after, rest) = rest.split_at(8);
        let (ml_dsa_65, rest) = rest.split_at(MlDsa65::SECRET_KEY_BYTES);
        let (falcon_512, slh_dsa_sha2_128f) = rest.split_at(Falcon512::SECRET_KEY_BYTES);
        Self::assemble(
            MlDsa65::from_secret_bytes(ml_dsa_65)?,
            Falcon512::from_secret_bytes(falcon_512)?,
            SlhDsaSha2_128f::from_secret_bytes(slh_dsa_sha2_128f)?,
            seconds(not_before),
            seconds(not_after),
        )
    }
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha3_256::new().chain_update(DOMAIN).chain_update(bytes).finalize().into()
}

fn fixed<const N: usize>(public_key: &[u8], family: Family) -> Result<[u8; N], KeyError> {
    public_key.try_into().map_err(|_| KeyError::Secret(family))
}

fn seconds(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |seconds, &byte| seconds << 8 | u64::from(byte))
}

#[cfg(test)]
mod faults;
#[cfg(test)]
mod tests;
