//! The trait of the three families.

use rand::CryptoRng;
use trefoil_attest::Family;
use zeroize::Zeroizing;

use crate::error::{KeyError, SignError};

/// One family's signing key. Sealed: the set of families is a suite, and a suite never changes.
pub trait SignatureFamily: sealed::Sign + Sized {
    /// Which family, with its sizes and identifiers.
    const FAMILY: Family;
    /// Bytes of the stored secret key.
    const SECRET_KEY_BYTES: usize;

    /// A new key pair.
    ///
    /// # Errors
    /// The library refused the seed it was given.
    fn generate(rng: &mut impl CryptoRng) -> Result<Self, KeyError>;

    /// The key pair stored as `secret`, [`Self::SECRET_KEY_BYTES`] bytes.
    ///
    /// # Errors
    /// The bytes are not a secret key of this family.
    fn from_secret_bytes(secret: &[u8]) -> Result<Self, KeyError>;

    /// The bytes to store, zeroised on drop.
    fn to_secret_bytes(&self) -> Zeroizing<Vec<u8>>;

    /// The public key, `FAMILY.public_key_bytes()` bytes.
    fn public_key(&self) -> Vec<u8>;

    /// Whether `signature` over `message` verifies under `public_key`, by the library that signs.
    fn verify(public_key: &[u8], message: &[u8], signature: &[u8]) -> bool;

    /// A hedged signature over `message`, verified before it is returned.
    ///
    /// # Errors
    /// [`SignError::Refused`] or [`SignError::Fault`]; nothing is released then.
    fn sign(&mut self, message: &[u8], rng: &mut impl CryptoRng) -> Result<Vec<u8>, SignError> {
        let public_key = self.public_key();
        self.sign_under(&public_key, message, rng)
    }

    /// As [`Self::sign`], verified under the key that was published: it may not be this one any more, if memory was
    /// damaged.
    ///
    /// # Errors
    /// As [`Self::sign`].
    fn sign_under(
        &mut self,
        public_key: &[u8],
        message: &[u8],
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<u8>, SignError> {
        let unverified = self.sign_unverified(message, rng)?;
        released::<Self>(public_key, message, unverified)
    }
}

/// The signature, if it verifies.
pub(crate) fn released<F: SignatureFamily>(
    public_key: &[u8],
    message: &[u8],
    mut unverified: Zeroizing<Vec<u8>>,
) -> Result<Vec<u8>, SignError> {
    match F::verify(public_key, message, &unverified) {
        true => Ok(core::mem::take(&mut *unverified)),
        false => Err(SignError::Fault(F::FAMILY)),
    }
}

pub(crate) mod sealed {
    use rand::CryptoRng;
    use zeroize::Zeroizing;

    use crate::error::SignError;

    /// Signing without the check. Private to the crate, so that no unverified signature can leave it.
    pub trait Sign {
        /// A hedged signature, or why there is none. Zeroised if it is not released: a faulty one may reveal the key.
        fn sign_unverified(
            &mut self,
            message: &[u8],
            rng: &mut impl CryptoRng,
        ) -> Result<Zeroizing<Vec<u8>>, SignError>;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::Falcon512;

    /// A family whose signer is broken: it flips a bit of each signature, or refuses if it has no key.
    struct Broken(Option<Box<Falcon512>>);

    impl sealed::Sign for Broken {
        fn sign_unverified(
            &mut self,
            message: &[u8],
            rng: &mut impl CryptoRng,
        ) -> Result<Zeroizing<Vec<u8>>, SignError> {
            let key = self.0.as_mut().ok_or(SignError::Refused(Self::FAMILY))?;
            let mut signature = key.sign_unverified(message, rng)?;
            signature[300] ^= 1;
            Ok(signature)
        }
    }

    impl SignatureFamily for Broken {
        const FAMILY: Family = Family::Falcon512;
        const SECRET_KEY_BYTES: usize = 0;

        fn generate(rng: &mut impl CryptoRng) -> Result<Self, KeyError> {
            Falcon512::generate(rng).map(|key| Self(Some(Box::new(key))))
        }

        fn from_secret_bytes(_: &[u8]) -> Result<Self, KeyError> {
            Ok(Self(None))
        }

        fn to_secret_bytes(&self) -> Zeroizing<Vec<u8>> {
            Zeroizing::new(Vec::new())
        }

        fn public_key(&self) -> Vec<u8> {
            self.0.as_ref().map(|key| key.public_key()).unwrap_or_default()
        }

        fn verify(public_key: &[u8], message: &[u8], signature: &[u8]) -> bool {
            Falcon512::verify(public_key, message, signature)
        }
    }

    /// Claim S12: No signature is released unverified, and keys other than the published ones sign no seal.
    #[test]
    fn a_signature_that_does_not_verify_is_not_released() {
        let mut rng = rand::rng();
        let mut faulty = Broken::generate(&mut rng).unwrap();
        assert_eq!(faulty.sign(b"message", &mut rng), Err(SignError::Fault(Family::Falcon512)));
        let mut refusing = Broken::from_secret_bytes(&[]).unwrap();
        assert_eq!(refusing.sign(b"message", &mut rng), Err(SignError::Refused(Family::Falcon512)));
    }
}
