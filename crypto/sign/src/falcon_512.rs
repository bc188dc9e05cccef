//! Falcon-512 of the round-3 submission, padded 666-byte signatures, by fn-dsa 0.3.0.
//!
//! Not FN-DSA: FIPS 206 is unpublished, and drafts hash the message differently. The identifier is
//! `falcon-512-padded-r3`.

use fn_dsa::{
    CryptoRng as OldCryptoRng, DOMAIN_NONE, FN_DSA_LOGN_512, HASH_ID_ORIGINAL_FALCON, KeyPairGenerator as _,
    KeyPairGenerator512, RngCore, RngError, SigningKey as _, SigningKey512, VerifyingKey as _,
    VerifyingKey512, sign_key_size,
};
use rand::CryptoRng;
use sha3::{Digest as _, Sha3_256};
use subtle::ConstantTimeEq as _;
use trefoil_attest::{FALCON_512_PUBLIC_KEY_BYTES, FALCON_512_SIGNATURE_BYTES, Family};
use zeroize::Zeroizing;

use crate::error::{KeyError, SignError};
use crate::family::{SignatureFamily, sealed};

const SECRET_KEY_BYTES: usize = sign_key_size(FN_DSA_LOGN_512);

/// A Falcon-512 signing key, stored in the 1281-byte encoding of the round-3 submission.
///
/// It is kept in that encoding with its digest, and decoded for each signature: with a damaged key the library's
/// sampler can draw forever, so damage must be detected before it signs, not by verification.
pub struct Falcon512 {
    encoded: Zeroizing<Vec<u8>>,
    digest: [u8; 32],
}

impl Falcon512 {
    fn key(&self) -> Result<SigningKey512, SignError> {
        let sound = bool::from(digest(&self.encoded).ct_eq(&self.digest));
        let key = if sound { SigningKey512::decode(&self.encoded) } else { None };
        key.ok_or(SignError::Fault(Family::Falcon512))
    }

    /// Flips a bit of the kept encoding, as a fault would.
    #[cfg(test)]
    pub(crate) fn flip(&mut self, bit: usize) {
        let mut bytes = self.encoded.iter_mut().chain(&mut self.digest);
        *bytes.nth(bit / 8).expect("a bit of the key or its digest") ^= 1 << (bit % 8);
    }

    /// Flips a bit of the key and computes its digest again: the fault reaches the library.
    #[cfg(test)]
    pub(crate) fn flip_unnoticed(&mut self, bit: usize) {
        self.flip(bit);
        self.digest = digest(&self.encoded);
    }
}

fn digest(encoded: &[u8]) -> [u8; 32] {
    Sha3_256::digest(encoded).into()
}

/// The generator as the older trait that fn-dsa takes.
struct OldRng<'a, R>(&'a mut R);

impl<R: CryptoRng> RngCore for OldRng<'_, R> {
    fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        self.0.fill_bytes(out);
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), RngError> {
        self.0.fill_bytes(out);
        Ok(())
    }
}

impl<R: CryptoRng> OldCryptoRng for OldRng<'_, R> {}

impl SignatureFamily for Falcon512 {
    const FAMILY: Family = Family::Falcon512;
    const SECRET_KEY_BYTES: usize = SECRET_KEY_BYTES;

    fn generate(rng: &mut impl CryptoRng) -> Result<Self, KeyError> {
        let mut secret = Zeroizing::new(vec![0; SECRET_KEY_BYTES]);
        let mut public = [0; FALCON_512_PUBLIC_KEY_BYTES];
        KeyPairGenerator512::default().keygen(FN_DSA_LOGN_512, &mut OldRng(rng), &mut secret, &mut public);
        Self::from_secret_bytes(&secret)
    }

    fn from_secret_bytes(secret: &[u8]) -> Result<Self, KeyError> {
        SigningKey512::decode(secret).ok_or(KeyError::Secret(Family::Falcon512))?;
        Ok(Self { encoded: Zeroizing::new(secret.to_vec()), digest: digest(secret) })
    }

    fn to_secret_bytes(&self) -> Zeroizing<Vec<u8>> {
        self.encoded.clone()
    }

    fn public_key(&self) -> Vec<u8> {
        let mut public = vec![0; FALCON_512_PUBLIC_KEY_BYTES];
        // A damaged key makes no signature that verifies.
        if let Ok(key) = self.key() {
            key.to_verifying_key(&mut public);
        }
        public
    }

    fn verify(public_key: &[u8], message: &[u8], signature: &[u8]) -> bool {
        VerifyingKey512::decode(public_key)
            .is_some_and(|key| key.verify(signature, &DOMAIN_NONE, &HASH_ID_ORIGINAL_FALCON, message))
    }
}

impl sealed::Sign for Falcon512 {
    /// A fresh 40-byte salt and sampler seed for every signature: never derandomised.
    fn sign_unverified(
        &mut self,
        message: &[u8],
        rng: &mut impl CryptoRng,
    ) -> Result<Zeroizing<Vec<u8>>, SignError> {
        let mut signature = Zeroizing::new(vec![0; FALCON_512_SIGNATURE_BYTES]);
        self.key()?.sign(&mut OldRng(rng), &DOMAIN_NONE, &HASH_ID_ORIGINAL_FALCON, message, &mut signature);
        Ok(signature)
    }
}
