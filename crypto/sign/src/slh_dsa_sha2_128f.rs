//! SLH-DSA-SHA2-128f (FIPS 205, pure), empty context: signed by the modules below on many-lane SHA-256, verified by
//! the slh-dsa crate.

mod address;
mod fors;
mod hypertree;
mod signer;
#[cfg(test)]
mod tests;
mod top_layers;
mod tweaked_hash;
mod wots;

use std::sync::{Arc, OnceLock, Weak};

use rand::CryptoRng;
use slh_dsa::signature::Verifier as _;
use slh_dsa::{Sha2_128f, Signature, SigningKey, VerifyingKey};
use subtle::ConstantTimeEq as _;
use trefoil_attest::Family;
use trefoil_kernels::{Cpu, Tier};
use zeroize::Zeroizing;

use crate::error::{KeyError, SignError};
use crate::family::{SignatureFamily, sealed};
use top_layers::{TopLayers, Unmade};
use tweaked_hash::Compression;

/// Bytes of SK.seed, SK.prf, PK.seed and PK.root, 16 each (FIPS 205 section 9.1).
const SECRET_KEY_BYTES: usize = 64;

/// What the pure interface puts before a message: its domain, and the length of the empty context (algorithm 22).
const EMPTY_CONTEXT: [u8; 2] = [0, 0];

/// An SLH-DSA-SHA2-128f signing key, stored in the 64-byte encoding of FIPS 205. Zeroised by the library.
pub struct SlhDsaSha2_128f {
    key: SigningKey<Sha2_128f>,
    cpu: Cpu,
    top: Top,
}

/// The key's top layers once somebody has computed them, or the fault that was met.
type Top = Arc<OnceLock<Result<TopLayers, ()>>>;

impl SlhDsaSha2_128f {
    /// The same key, signing with the instructions of `cpu`: for tests and benchmarks. The signatures are the same.
    #[must_use]
    pub fn on(self, cpu: Cpu) -> Self {
        Self { cpu, ..self }
    }

    /// The work that makes this key sign faster, to be done once on any thread.
    #[must_use]
    pub fn precomputation(&self) -> Precomputation {
        Precomputation { secret_key: self.secret_key(), cpu: self.cpu, top: Arc::downgrade(&self.top) }
    }

    /// One computation of a signature with the empty context, neither compared nor verified: what
    /// [`SignatureFamily::sign`] does twice. For benchmarks; what it returns must not be released.
    #[must_use]
    pub fn dangerous_sign_once(&self, message: &[u8], opt_rand: &[u8; 16]) -> Zeroizing<Vec<u8>> {
        let top = self.top.get().and_then(|top| top.as_ref().ok());
        let message: &[&[u8]] = &[&EMPTY_CONTEXT, message];
        Zeroizing::new(signer::sign_internal(self.cpu, &self.secret_key(), top, message, opt_rand))
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
        let top = match self.top.get() {
            Some(Err(())) => return Err(SignError::Fault(Self::FAMILY)),
            Some(Ok(top)) => Some(top),
            None => None,
        };
        agreed(compressions.map(|compression| {
            Zeroizing::new(signer::sign_internal(compression, &self.secret_key(), top, message, opt_rand))
        }))
    }

    fn secret_key(&self) -> Zeroizing<[u8; SECRET_KEY_BYTES]> {
        Zeroizing::new(self.key.to_bytes().into())
    }

    /// As [`Self::sign_twice`], by the slh-dsa crate: faster than this signer's portable kernel, because it uses
    /// the SHA instructions of processors that the kernels have none for.
    fn sign_twice_by_crate(&self, message: &[&[u8]], opt_rand: &[u8; 16]) -> Result<Vec<u8>, SignError> {
        agreed([(); 2].map(|()| {
            Zeroizing::new(self.key.slh_sign_internal(message, Some(opt_rand)).to_bytes().to_vec())
        }))
    }
}

/// Computes the part of a signature that is the same in all of a key: 22 % of the signing time, for 3.7 MB. Takes about
/// as long as 400 signatures. Ends early when the key is dropped, and does nothing where it was done already or the
/// processor lacks fast lanes.
pub struct Precomputation {
    secret_key: Zeroizing<[u8; SECRET_KEY_BYTES]>,
    cpu: Cpu,
    top: Weak<OnceLock<Result<TopLayers, ()>>>,
}

impl Precomputation {
    /// Does it.
    ///
    /// # Errors
    /// [`SignError::Fault`] where the processor computed wrongly, or the key is damaged. The key then refuses to sign.
    pub fn run(self) -> Result<(), SignError> {
        let Self { secret_key, cpu, top } = self;
        let wanted = || top.upgrade().is_some_and(|top| top.get().is_none());
        if !has_fast_lanes(cpu) || !wanted() {
            return Ok(());
        }
        let made = match TopLayers::new([cpu; 2], &secret_key, wanted) {
            Err(Unmade::Unwanted) => return Ok(()),
            Err(Unmade::Fault) => Err(()),
            Ok(made) => Ok(made),
        };
        let kept = made.is_ok();
        if let Some(top) = top.upgrade() {
            // Whoever was first has computed the same.
            top.get_or_init(|| made);
        }
        if kept { Ok(()) } else { Err(SignError::Fault(Family::SlhDsaSha2_128f)) }
    }
}

/// Whether this signer is faster than the slh-dsa crate.
fn has_fast_lanes(cpu: Cpu) -> bool {
    cpu.tier() == Tier::Avx512 || cpu.has_sha_ni()
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
        Ok(Self { key: SigningKey::new(rng), cpu: Cpu::detected(), top: Top::default() })
    }

    fn from_secret_bytes(secret: &[u8]) -> Result<Self, KeyError> {
        let key = SigningKey::try_from(secret).map_err(|_| KeyError::Secret(Family::SlhDsaSha2_128f))?;
        Ok(Self { key, cpu: Cpu::detected(), top: Top::default() })
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
        if has_fast_lanes(self.cpu) {
            self.sign_twice([self.cpu, self.cpu], message, &opt_rand)
        } else {
            self.sign_twice_by_crate(message, &opt_rand)
        }
    }
}
