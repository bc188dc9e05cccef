//! SLH-DSA-SHA2-128f (FIPS 205, pure), empty context: signed by the modules below on many-lane SHA-256, verified by
//! the slh-dsa crate.

mod address;
mod fors;
mod hypertree;
mod message;
mod parameters;
mod signer;
#[cfg(test)]
mod tests;
mod top_layers;
mod tree;
mod tweaked_hash;
mod verifier;
mod wipe;
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
use parameters::{LAYERS, PUBLIC_KEY_BYTES, SECRET_KEY_BYTES};
use signer::Signed;
use top_layers::{KEPT_FROM, Kept, LeafLayer, TopLayers, Unmade};
use tweaked_hash::{Compression, Node};

/// The prefix that the pure interface puts before a message: its domain, and the length of the empty context (algorithm 22).
const EMPTY_CONTEXT: [u8; 2] = [0, 0];

/// An SLH-DSA-SHA2-128f signing key, stored in the 64-byte encoding of FIPS 205. Zeroised by the library.
pub struct SlhDsaSha2_128f {
    key: SigningKey<Sha2_128f>,
    cpu: Cpu,
    upper: Arc<Upper>,
    /// Signatures use no more than this, even if there is more.
    most: Extent,
}

/// The precomputation for all signatures of a key, or the fault that it met.
#[derive(Default)]
struct Upper {
    /// The top layers from each layer of [`KEPT_FROM`] up.
    top: [OnceLock<Result<TopLayers, ()>>; KEPT_FROM.len()],
    /// The layer below the last of these.
    leaf_layer: OnceLock<Result<LeafLayer, ()>>,
}

/// How much of a key's hypertree is computed once instead of in each signature. More takes more memory and saves time;
/// the signatures are the same. Each extent comes after the smaller ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// Saves 21 % of the hashing, for 4 MB and the work of 500 signatures.
    Brief,
    /// Saves 25 %, for 34 MB and the work of 4,000 signatures.
    #[default]
    Usual,
    /// Saves 29 %, for 71 MB and the work of 35,000 signatures: for a signer that is busy.
    Large,
}

impl SlhDsaSha2_128f {
    /// The same key with the same precomputation, signing with the instructions of `cpu`: for tests and benchmarks. The
    /// signatures are the same.
    #[must_use]
    pub fn on(&self, cpu: Cpu) -> Self {
        Self { key: self.key.clone(), cpu, upper: Arc::clone(&self.upper), most: self.most }
    }

    /// The same key with the same precomputation. The secret bytes are a copy.
    pub(crate) fn copy(&self) -> Self {
        self.on(self.cpu)
    }

    /// The same key with the same precomputation, of which signatures use no more than `extent`: for benchmarks. The
    /// signatures are the same.
    #[must_use]
    pub fn using_at_most(&self, extent: Extent) -> Self {
        Self { most: extent, ..self.on(self.cpu) }
    }

    /// The precomputation that makes this key sign faster, to be done once on any thread.
    #[must_use]
    pub fn precomputation(&self, extent: Extent) -> Precomputation {
        let (secret_key, upper) = (self.secret_key(), Arc::downgrade(&self.upper));
        Precomputation { secret_key, cpu: self.cpu, upper, extent }
    }

    /// One computation of a signature with the empty context, neither compared nor verified: what
    /// [`SignatureFamily::sign`] does twice. For benchmarks; the result must not be released.
    #[must_use]
    pub fn dangerous_sign_once(&self, message: &[u8], opt_rand: &[u8; 16]) -> Zeroizing<Vec<u8>> {
        let kept = self.kept().unwrap_or_default();
        let message: &[&[u8]] = &[&EMPTY_CONTEXT, message];
        Zeroizing::new(signer::sign_internal(self.cpu, &self.secret_key(), kept, message, opt_rand).bytes)
    }

    /// Algorithm 19 of FIPS 205, the interface that test vectors are published for: a signature over the
    /// concatenation of `message`, without a context, deterministic where `opt_rand` is PK.seed. Computed twice and
    /// verified before it is returned.
    ///
    /// # Errors
    /// [`SignError::Fault`]; nothing is released then.
    pub fn sign_internal(&self, message: &[&[u8]], opt_rand: &[u8; 16]) -> Result<Vec<u8>, SignError> {
        let (bytes, _) = self.sign_by(self.cpu, message, opt_rand)?;
        let unchecked = UncheckedSignature { bytes, opt_rand: *opt_rand };
        self.check_by([self.cpu; 2], &self.verifying_key(), message, unchecked)
    }

    /// The first computation of a hedged signature, by the faster signer.
    pub(crate) fn sign_once(
        &self,
        message: &[u8],
        rng: &mut impl CryptoRng,
    ) -> Result<UncheckedSignature, SignError> {
        let mut opt_rand = [0; 16];
        rng.fill_bytes(&mut opt_rand);
        self.sign_hedged(message, opt_rand)
    }

    /// Not generic, so that the signer is compiled here and not once more in every crate that signs.
    fn sign_hedged(&self, message: &[u8], opt_rand: [u8; 16]) -> Result<UncheckedSignature, SignError> {
        let message: &[&[u8]] = &[&EMPTY_CONTEXT, message];
        let bytes = match has_fast_lanes(self.cpu) {
            true => self.sign_by(self.cpu, message, &opt_rand)?.0,
            false => self.sign_by_crate(message, &opt_rand),
        };
        Ok(UncheckedSignature { bytes, opt_rand })
    }

    /// The signature, if it is correct. A copy of the key may check a signature of the key itself.
    pub(crate) fn check(
        &self,
        public_key: &[u8],
        message: &[u8],
        unchecked: UncheckedSignature,
    ) -> Result<Vec<u8>, SignError> {
        let parts: &[&[u8]] = &[&EMPTY_CONTEXT, message];
        if has_fast_lanes(self.cpu) {
            let public_key = public_key.try_into().map_err(|_| SignError::Fault(Self::FAMILY))?;
            return self.check_by([self.cpu; 2], public_key, parts, unchecked);
        }
        let second = self.sign_by_crate(parts, &unchecked.opt_rand);
        unchecked.released(&second, |bytes| Self::verify(public_key, message, bytes))
    }

    /// One computation, with the root of each layer's tree.
    fn sign_by(
        &self,
        compression: impl Compression,
        message: &[&[u8]],
        opt_rand: &[u8; 16],
    ) -> Result<(Zeroizing<Vec<u8>>, [Node; LAYERS]), SignError> {
        let kept = self.kept()?;
        let Signed { bytes, roots } =
            signer::sign_internal(compression, &self.secret_key(), kept, message, opt_rand);
        Ok((Zeroizing::new(bytes), roots))
    }

    /// The signature, if the second computation agrees and the verification passes. Verification alone would not
    /// suffice: it accepts a signature in which an upper layer has signed a faulty tree below, and such a signature gives
    /// away one-time keys.
    fn check_by<C: Compression>(
        &self,
        [second, third]: [C; 2],
        public_key: &[u8; PUBLIC_KEY_BYTES],
        message: &[&[u8]],
        unchecked: UncheckedSignature,
    ) -> Result<Vec<u8>, SignError> {
        let (bytes, roots) = self.sign_by(second, message, &unchecked.opt_rand)?;
        unchecked.released(&bytes, |bytes| verifier::verifies(third, public_key, message, bytes, &roots))
    }

    /// The most precomputation available, or the fault that was met while making it.
    fn kept(&self) -> Result<Kept<'_>, SignError> {
        let fault = |&()| SignError::Fault(Self::FAMILY);
        // In this order: where the leaf layer is, the top layers above it are there too.
        let leaf_layer = self.upper.leaf_layer.get().filter(|_| self.most == Extent::Large);
        let top = self.upper.top.iter().take(1 + self.most as usize).rev().find_map(OnceLock::get);
        Ok(Kept {
            top: top.map(Result::as_ref).transpose().map_err(fault)?,
            leaf_layer: leaf_layer.map(Result::as_ref).transpose().map_err(fault)?,
        })
    }

    fn secret_key(&self) -> Zeroizing<[u8; SECRET_KEY_BYTES]> {
        Zeroizing::new(self.key.to_bytes().into())
    }

    fn verifying_key(&self) -> [u8; PUBLIC_KEY_BYTES] {
        let key: &VerifyingKey<Sha2_128f> = self.key.as_ref();
        key.to_bytes().into()
    }

    /// By the slh-dsa crate: faster than this signer's portable kernel, because it uses the SHA instructions of
    /// processors that the kernels have none for.
    fn sign_by_crate(&self, message: &[&[u8]], opt_rand: &[u8; 16]) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.key.slh_sign_internal(message, Some(opt_rand)).to_bytes().to_vec())
    }
}

/// A signature that was computed once. It must not be released: it may be faulty, and a faulty one gives away one-time
/// keys.
pub(crate) struct UncheckedSignature {
    bytes: Zeroizing<Vec<u8>>,
    /// The inputs for a second computation of the same bytes.
    opt_rand: [u8; 16],
}

impl UncheckedSignature {
    /// Flips a bit, as a fault would.
    #[cfg(test)]
    pub(crate) fn flip(&mut self, bit: usize) {
        let mut bytes = self.bytes.iter_mut().chain(&mut self.opt_rand);
        *bytes.nth(bit / 8).expect("a bit of the signature or its randomness") ^= 1 << (bit % 8);
    }

    /// The signature, if a second computation gave the same bytes and they verify.
    fn released(mut self, second: &[u8], verifies: impl FnOnce(&[u8]) -> bool) -> Result<Vec<u8>, SignError> {
        let agreed = bool::from(self.bytes.ct_eq(second));
        match agreed && verifies(&self.bytes) {
            true => Ok(core::mem::take(&mut *self.bytes)),
            false => Err(SignError::Fault(Family::SlhDsaSha2_128f)),
        }
    }
}

impl Extent {
    /// All of them, smallest first.
    pub const ALL: [Extent; 3] = [Extent::Brief, Extent::Usual, Extent::Large];

    /// The name that configurations use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Extent::Brief => "brief",
            Extent::Usual => "usual",
            Extent::Large => "large",
        }
    }

    /// Memory that is held once everything up to this extent is computed.
    #[must_use]
    pub fn memory_bytes(self) -> usize {
        let top = KEPT_FROM.iter().take(1 + self as usize).map(|&from| TopLayers::bytes(from)).sum::<usize>();
        let below = KEPT_FROM[KEPT_FROM.len() - 1];
        top + if self == Extent::Large { LeafLayer::bytes(below) } else { 0 }
    }
}

/// Computes the part that all signatures of a key share. Signatures use what is ready so far, and are the
/// same without it. Ends early when the key is dropped, and does nothing if it was done already or the processor lacks
/// fast lanes.
pub struct Precomputation {
    secret_key: Zeroizing<[u8; SECRET_KEY_BYTES]>,
    cpu: Cpu,
    upper: Weak<Upper>,
    extent: Extent,
}

impl Precomputation {
    /// All of it, the smaller extents first.
    ///
    /// # Errors
    /// [`SignError::Fault`] if the processor computed wrongly or the key is damaged. The key then refuses to sign.
    pub fn run(self) -> Result<(), SignError> {
        if !has_fast_lanes(self.cpu) {
            return Ok(());
        }
        let (cpus, key) = ([self.cpu; 2], &self.secret_key);
        for (index, from) in KEPT_FROM.into_iter().enumerate().take(1 + self.extent as usize) {
            self.make(|upper| &upper.top[index], |wanted| TopLayers::new(cpus, key, from, wanted))?;
        }
        if self.extent == Extent::Large {
            let below = KEPT_FROM[Extent::Usual as usize];
            self.make(|upper| &upper.leaf_layer, |wanted| LeafLayer::new(cpus, key, below, wanted))?;
        }
        Ok(())
    }

    /// Computes one part, unless it is ready.
    fn make<T>(
        &self,
        place: impl Fn(&Upper) -> &OnceLock<Result<T, ()>>,
        compute: impl FnOnce(&dyn Fn() -> bool) -> Result<T, Unmade>,
    ) -> Result<(), SignError> {
        let wanted = || self.upper.upgrade().is_some_and(|upper| place(&upper).get().is_none());
        if !wanted() {
            return Ok(());
        }
        let made = match compute(&wanted) {
            Err(Unmade::Unwanted) => return Ok(()),
            Err(Unmade::Fault) => Err(()),
            Ok(made) => Ok(made),
        };
        let kept = made.is_ok();
        if let Some(upper) = self.upper.upgrade() {
            // The first has computed the same.
            place(&upper).get_or_init(|| made);
        }
        if kept { Ok(()) } else { Err(SignError::Fault(Family::SlhDsaSha2_128f)) }
    }
}

/// Whether this signer is faster than the slh-dsa crate.
fn has_fast_lanes(cpu: Cpu) -> bool {
    cpu.tier() == Tier::Avx512 || cpu.has_sha()
}

/// Not generic, for the reason of [`SlhDsaSha2_128f::sign_hedged`].
fn new_key(rng: &mut dyn CryptoRng) -> SigningKey<Sha2_128f> {
    SigningKey::new(rng)
}

impl SignatureFamily for SlhDsaSha2_128f {
    const FAMILY: Family = Family::SlhDsaSha2_128f;
    const SECRET_KEY_BYTES: usize = SECRET_KEY_BYTES;

    fn generate(rng: &mut impl CryptoRng) -> Result<Self, KeyError> {
        Ok(Self { key: new_key(rng), cpu: Cpu::detected(), upper: Arc::default(), most: Extent::Large })
    }

    fn from_secret_bytes(secret: &[u8]) -> Result<Self, KeyError> {
        let key = SigningKey::try_from(secret).map_err(|_| KeyError::Secret(Family::SlhDsaSha2_128f))?;
        Ok(Self { key, cpu: Cpu::detected(), upper: Arc::default(), most: Extent::Large })
    }

    fn to_secret_bytes(&self) -> Zeroizing<Vec<u8>> {
        let bytes = Zeroizing::new(<[u8; SECRET_KEY_BYTES]>::from(self.key.to_bytes()));
        Zeroizing::new(bytes.to_vec())
    }

    fn public_key(&self) -> Vec<u8> {
        self.verifying_key().to_vec()
    }

    fn verify(public_key: &[u8], message: &[u8], signature: &[u8]) -> bool {
        match (VerifyingKey::<Sha2_128f>::try_from(public_key), Signature::<Sha2_128f>::try_from(signature)) {
            (Ok(key), Ok(signature)) => key.verify(message, &signature).is_ok(),
            _ => false,
        }
    }

    /// Computed twice and verified.
    fn sign_under(
        &mut self,
        public_key: &[u8],
        message: &[u8],
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<u8>, SignError> {
        let unchecked = self.sign_once(message, rng)?;
        self.check(public_key, message, unchecked)
    }
}

impl sealed::Sign for SlhDsaSha2_128f {
    fn sign_unverified(
        &mut self,
        message: &[u8],
        rng: &mut impl CryptoRng,
    ) -> Result<Zeroizing<Vec<u8>>, SignError> {
        self.sign_once(message, rng).map(|unchecked| unchecked.bytes)
    }
}
