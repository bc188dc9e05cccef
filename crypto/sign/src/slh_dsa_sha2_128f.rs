//! SLH-DSA-SHA2-128f (FIPS 205, pure) by the slh-dsa crate, empty context.

use rand::CryptoRng;
use slh_dsa::signature::{RandomizedSigner as _, Verifier as _};
use slh_dsa::{Sha2_128f, Signature, SigningKey, VerifyingKey};
use trefoil_attest::Family;
use zeroize::Zeroizing;

use crate::error::KeyError;
use crate::family::{SignatureFamily, sealed};

/// Bytes of SK.seed, SK.prf, PK.seed and PK.root, 16 each (FIPS 205 section 9.1).
const SECRET_KEY_BYTES: usize = 64;

/// An SLH-DSA-SHA2-128f signing key, stored in the 64-byte encoding of FIPS 205. Zeroised by the library.
pub struct SlhDsaSha2_128f {
    key: SigningKey<Sha2_128f>,
}

impl SignatureFamily for SlhDsaSha2_128f {
    const FAMILY: Family = Family::SlhDsaSha2_128f;
    const SECRET_KEY_BYTES: usize = SECRET_KEY_BYTES;

    fn generate(rng: &mut impl CryptoRng) -> Result<Self, KeyError> {
        Ok(Self { key: SigningKey::new(rng) })
    }

    fn from_secret_bytes(secret: &[u8]) -> Result<Self, KeyError> {
        let key = SigningKey::try_from(secret).map_err(|_| KeyError::Secret(Family::SlhDsaSha2_128f))?;
        Ok(Self { key })
    }

    fn to_secret_bytes(&self) -> Zeroizing<Vec<u8>> {
        let bytes = Zeroizing::new(<[u8; SECRET_KEY_BYTES]>::from(self.key.to_bytes()));
        Zeroizing::new(bytes.to_vec())
    }

    fn public_key(&self) -> Vec<u8> {
        let key: &VerifyingKey<Sha2_128f> = self.key.as_ref();
        key.to_bytes().to_vec()
    }

    fn verify(public_key: &[u8], message: &[u8], signature: &[u8]) -> bool {
        match (VerifyingKey::<Sha2_128f>::try_from(public_key), Signature::<Sha2_128f>::try_from(signature)) {
            (Ok(key), Ok(signature)) => key.verify(message, &signature).is_ok(),
            _ => false,
        }
    }
}

impl sealed::Sign for SlhDsaSha2_128f {
    fn sign_unverified(&mut self, message: &[u8], rng: &mut impl CryptoRng) -> Option<Vec<u8>> {
        let signature = self.key.try_sign_with_rng(rng, message).ok()?;
        Some(signature.to_bytes().to_vec())
    }
}
