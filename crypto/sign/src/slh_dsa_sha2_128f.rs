//! SLH-DSA-SHA2-128f (FIPS 205, pure), empty context: signed by the modules below on many-lane SHA-256, verified by
//! the slh-dsa crate.

mod address;
mod fors;
mod hypertree;
mod signer;
#[cfg(test)]
mod tests;
mod tweaked_hash;
mod wots;

use rand::CryptoRng;
use slh_dsa::signature::Verifier as _;
use slh_dsa::{Sha2_128f, Signature, SigningKey, VerifyingKey};
use subtle::ConstantTimeEq as _;
use trefoil_attest::Family;
use trefoil_kernels::{Cpu, Tier};
use zeroize::Zeroizing;

use crate::error::{KeyError, SignError};
use crate::family::{SignatureFamily, sealed};
use tweaked_hash::Compression;

/// Bytes of SK.seed, SK.prf, PK.seed and PK.root, 16 each (FIPS 205 section 9.1).
const SECRET_KEY_BYTES: usize = 64;

/// What the pure interface puts before a message: its domain, and the length of the empty context (algorithm 22).
const EMPTY_CONTEXT: [u8; 2] = [0, 0];

/// An SLH-DSA-SHA2-128f signing key, stored in the 64-byte encoding of FIPS 205. Zeroised by the library.
pub struct SlhDsaSha2_128f {
    key: SigningKey<Sha2_128f>,
    cpu: Cpu,
}

impl SlhDsaSha2_128f {
    /// The same key, signing with the instructions of `cpu`: for tests and benchmarks. The signatures are the same.
    #[must_use]
    pub fn on(self, cpu: Cpu) -> Self {
        Self { cpu, ..self }
    }

    /// Algorithm 19 of FIPS 205, the interface that test vectors are published for: a signature over the
    /// concatenation of `message`, without a context, deterministic where `opt_rand` is PK.seed. Computed twice and
    /// verified before it is returned.
    ///
    /// # Errors
    /// [`SignError::Fault`]; nothing is released then.
    pub fn sign_internal(&self, message: &[&[u8]], opt_rand: &[u8; 16]) -> Result<Vec<u8>, SignError> {
        self.sign_checked([self.cpu, self.cpu], message, opt_rand)
    }

    fn sign_checked<C: Compression>(
        &self,
        compressions: [C; 2],
        message: &[&[u8]],
        opt_rand: &[u8; 16],
    ) -> Result<Vec<u8>, SignError> {
        let signature = self.sign_twice(compressions, message, opt_rand)?;
        let key: &VerifyingKey<Sha2_128f> = self.key.as_ref();
        let verifies = Signature::try_from(&signature[..])
            .is_ok_and(|signature| key.slh_verify_internal(message, &signature).is_ok());
        verifies.then_some(signature).ok_or(SignError::Fault(Self::FAMILY))
    }

    /// The signature, where two computations agree. Verification alone would not do: it accepts a signature in which
    /// an upper layer has signed a faulty tree below, and such a signature gives away one-time keys.
    fn sign_twice<C: Compression>(
        &self,
        compressions: [C; 2],
        message: &[&[u8]],
        opt_rand: &[u8; 16],
    ) -> Result<Vec<u8>, SignError> {
        agreed(compressions.map(|compression| {
            let secret_key = Zeroizing::new(self.key.to_bytes().into());
            Zeroizing::new(signer::sign_internal(compression, &secret_key, message, opt_rand))
        }))
    }

    /// As [`Self::sign_twice`], by the slh-dsa crate: faster than this signer's portable kernel, because it uses
    /// the SHA instructions of processors that the kernels have none for.
    fn sign_twice_by_crate(&self, message: &[&[u8]], opt_rand: &[u8; 16]) -> Result<Vec<u8>, SignError> {
        agreed([(); 2].map(|()| {
            Zeroizing::new(self.key.slh_sign_internal(message, Some(opt_rand)).to_bytes().to_vec())
        }))
    }
}

/// The signature, where two computations agree.
fn agreed([first, second]: [Zeroizing<Vec<u8>>; 2]) -> Result<Vec<u8>, SignError> {
    match bool::from(first.ct_eq(&second)) {
        true => Ok(first.to_vec()),
        false => Err(SignError::Fault(Family::SlhDsaSha2_128f)),
    }
}

impl SignatureFamily for SlhDsaSha2_128f {
    const FAMILY: Family = Family::SlhDsaSha2_128f;
    const SECRET_KEY_BYTES: usize = SECRET_KEY_BYTES;

    fn generate(rng: &mut impl CryptoRng) -> Result<Self, KeyError> {
        Ok(Self { key: SigningKey::new(rng), cpu: Cpu::detected() })
    }

    fn from_secret_bytes(secret: &[u8]) -> Result<Self, KeyError> {
        let key = SigningKey::try_from(secret).map_err(|_| KeyError::Secret(Family::SlhDsaSha2_128f))?;
        Ok(Self { key, cpu: Cpu::detected() })
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
    fn sign_unverified(&mut self, message: &[u8], rng: &mut impl CryptoRng) -> Result<Vec<u8>, SignError> {
        let mut opt_rand = [0; 16];
        rng.fill_bytes(&mut opt_rand);
        let message: &[&[u8]] = &[&EMPTY_CONTEXT, message];
        if self.cpu.tier() == Tier::Avx512 || self.cpu.has_sha_ni() {
            self.sign_twice([self.cpu, self.cpu], message, &opt_rand)
        } else {
            self.sign_twice_by_crate(message, &opt_rand)
        }
    }
}
