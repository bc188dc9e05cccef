//! ML-DSA-65 (FIPS 204) by aws-lc-rs, empty context.

use aws_lc_rs::signature::{KeyPair as _, ML_DSA_65, ML_DSA_65_SIGNING, PqdsaKeyPair, UnparsedPublicKey};
use rand::CryptoRng;
use trefoil_attest::{Family, ML_DSA_65_SIGNATURE_BYTES};
use zeroize::Zeroizing;

use crate::error::{KeyError, SignError};
use crate::family::{SignatureFamily, sealed};

const SEED_BYTES: usize = 32;

/// An ML-DSA-65 signing key, stored as the 32-byte seed (the private form of RFC 9964). The library expands it and
/// cleanses the expansion.
pub struct MlDsa65 {
    seed: Zeroizing<[u8; SEED_BYTES]>,
    key: PqdsaKeyPair,
}

impl MlDsa65 {
    fn from_seed(seed: Zeroizing<[u8; SEED_BYTES]>) -> Result<Self, KeyError> {
        let key = PqdsaKeyPair::from_seed(&ML_DSA_65_SIGNING, &seed[..])
            .map_err(|_| KeyError::Secret(Family::MlDsa65))?;
        Ok(Self { seed, key })
    }

    /// The expanded key, 4,032 bytes: the library's working key.
    #[cfg(test)]
    pub(crate) fn expanded(&self) -> Zeroizing<Vec<u8>> {
        use aws_lc_rs::encoding::AsRawBytes as _;
        let key = self.key.private_key().as_raw_bytes().expect("a key that was expanded");
        Zeroizing::new(key.as_ref().to_vec())
    }

    /// This key with another expansion, if the library accepts it.
    #[cfg(test)]
    pub(crate) fn with_expanded(&self, expanded: &[u8]) -> Option<Self> {
        let key = PqdsaKeyPair::from_raw_private_key(&ML_DSA_65_SIGNING, expanded).ok()?;
        Some(Self { seed: self.seed.clone(), key })
    }
}

impl SignatureFamily for MlDsa65 {
    const FAMILY: Family = Family::MlDsa65;
    const SECRET_KEY_BYTES: usize = SEED_BYTES;

    fn generate(rng: &mut impl CryptoRng) -> Result<Self, KeyError> {
        let mut seed = Zeroizing::new([0; SEED_BYTES]);
        rng.fill_bytes(&mut seed[..]);
        Self::from_seed(seed)
    }

    fn from_secret_bytes(secret: &[u8]) -> Result<Self, KeyError> {
        let mut seed = Zeroizing::new([0; SEED_BYTES]);
        if secret.len() != SEED_BYTES {
            return Err(KeyError::Secret(Family::MlDsa65));
        }
        seed.copy_from_slice(secret);
        Self::from_seed(seed)
    }

    fn to_secret_bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.seed.to_vec())
    }

    fn public_key(&self) -> Vec<u8> {
        self.key.public_key().as_ref().to_vec()
    }

    fn verify(public_key: &[u8], message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ML_DSA_65, public_key).verify(message, signature).is_ok()
    }
}

impl sealed::Sign for MlDsa65 {
    /// The library draws `rnd` from its own generator (hedged, FIPS 204 algorithm 2); it accepts none from outside.
    fn sign_unverified(
        &mut self,
        message: &[u8],
        _rng: &mut impl CryptoRng,
    ) -> Result<Zeroizing<Vec<u8>>, SignError> {
        let mut signature = Zeroizing::new(vec![0; ML_DSA_65_SIGNATURE_BYTES]);
        match self.key.sign(message, &mut signature) {
            Ok(length) if length == signature.len() => Ok(signature),
            _ => Err(SignError::Refused(Family::MlDsa65)),
        }
    }
}
