//! The public polynomial over which a tenant's templates are encrypted.

use crate::ciphertext::TemplateCiphertext;
use crate::keys::SubjectKey;
use crate::lines::Lines;
use crate::sample::{ErrorSampler, TernarySampler};
use crate::{Drbg, N, Scheme, Share};
use rand::CryptoRng;
use sha3::Shake256;
use sha3::digest::{ExtendableOutput, Update, XofReader};
use std::sync::Arc;
use trefoil_kernels::packed;
use zeroize::Zeroizing;

/// Domain prefix of the expansion of a basis.
const DOMAIN: &[u8] = b"trefoil/bfv/basis/1";

/// A public uniform polynomial `a`, expanded from a seed, in the form that products take: 64 KiB.
pub struct Basis {
    scheme: Arc<Scheme>,
    seed: [u8; 32],
    scaled: Lines<u64>,
}

impl Basis {
    /// Expands `seed` with SHAKE256 into uniform values in the NTT domain: for each prime in turn, 4096 little-endian
    /// words of six bytes, cut to the prime's length in bits, of which those not below the prime are skipped.
    pub fn from_seed(scheme: &Arc<Scheme>, seed: [u8; 32]) -> Basis {
        let scaled = scaled(scheme, &expand(scheme, DOMAIN, &seed));
        Basis { scheme: Arc::clone(scheme), seed, scaled }
    }

    /// The seed. Public.
    pub fn seed(&self) -> [u8; 32] {
        self.seed
    }

    /// The scheme that the basis was expanded for.
    pub fn scheme(&self) -> &Arc<Scheme> {
        &self.scheme
    }

    /// Encrypts a template into `lane` under a subject's key: `-a * s + Delta * m + e`, in the NTT domain.
    ///
    /// A key encrypts once: two ciphertexts under one key and basis differ by the difference of their messages and errors.
    ///
    /// # Panics
    /// If `lane` is above 31.
    pub fn encrypt_lane(
        &self,
        key: &SubjectKey,
        lane: usize,
        template: &Share,
        rng: &mut impl CryptoRng,
    ) -> TemplateCiphertext {
        let scheme = &self.scheme;
        let mut message = Zeroizing::new(vec![0; N]);
        scheme.lanes().place_template(lane, template, &mut message);
        let mut error = Zeroizing::new(vec![0; N]);
        ErrorSampler::new(scheme.cpu()).fill(&mut Drbg::from_rng(rng), &mut error);
        let mut minus_s = Zeroizing::new(vec![0; N]);
        key.add_to(&mut TernarySampler::new(scheme.cpu()), -1, &mut minus_s);
        let mut minus_s_hat = Zeroizing::new(vec![0; N]);
        let mut values = vec![0; scheme.polynomial_words()];
        for ((limb, out), a) in scheme.limbs().iter().zip(values.chunks_exact_mut(N)).zip(self.limbs()) {
            limb.transform_scaled(&message, &error, out);
            limb.transform_small(&minus_s, &mut minus_s_hat);
            limb.mul_add(a, &minus_s_hat, out);
        }
        TemplateCiphertext::pack(&values)
    }

    /// The values of `a`, scaled, prime by prime.
    pub(crate) fn limbs(&self) -> impl Iterator<Item = &[u64]> {
        self.scaled.chunks_exact(N)
    }

    /// The values of `a`.
    #[cfg(test)]
    pub(crate) fn values(&self) -> Vec<u64> {
        expand(&self.scheme, DOMAIN, &self.seed)
    }
}

/// A uniform polynomial in the NTT domain, from SHAKE256 of a domain string and a seed; see [`Basis::from_seed`].
pub(crate) fn expand(scheme: &Scheme, domain: &[u8], seed: &[u8; 32]) -> Vec<u64> {
    let mut hasher = Shake256::default();
    hasher.update(domain);
    hasher.update(seed);
    let mut reader = hasher.finalize_xof();
    uniform(scheme, |word| reader.read(word))
}

/// A uniform polynomial in the NTT domain: for each prime in turn, 4096 little-endian words of six bytes, cut to the prime's
/// length in bits, of which those not below the prime are skipped.
pub(crate) fn uniform(scheme: &Scheme, mut read: impl FnMut(&mut [u8])) -> Vec<u64> {
    /// Read at once.
    const WORDS: usize = 512;
    let (mut drawn, mut words) = ([0; packed::RESIDUE_BYTES * WORDS], [0; WORDS]);
    let mut values = Vec::with_capacity(scheme.polynomial_words());
    for limb in scheme.limbs() {
        let q = limb.modulus().value();
        let mask = q.next_power_of_two() - 1;
        let end = values.len() + N;
        while values.len() < end {
            let missing = WORDS.min(end - values.len());
            read(&mut drawn[..packed::RESIDUE_BYTES * missing]);
            packed::unpack(scheme.cpu(), &drawn[..packed::RESIDUE_BYTES * missing], &mut words[..missing]);
            let words = &mut words[..missing];
            words.iter_mut().for_each(|word| *word &= mask);
            // Rejection is rare: usually one read suffices.
            if words.iter().fold(0, |largest, word| largest.max(*word)) < q {
                values.extend_from_slice(words);
            } else {
                values.extend(words.iter().filter(|word| **word < q));
            }
        }
    }
    values
}

/// A fixed polynomial in the form that products take.
pub(crate) fn scaled(scheme: &Scheme, values: &[u64]) -> Lines<u64> {
    let mut scaled = Lines::new(values.len());
    let limbs = scheme.limbs().iter().zip(values.chunks_exact(N)).zip(scaled.chunks_exact_mut(N));
    limbs.for_each(|((limb, values), scaled)| limb.scale(values, scaled));
    scaled
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first and the last value modulo the first prime and the last modulo the second, for a seed of ones.
    /// Computed independently of this crate, with SHAKE256 of Python.
    const PINNED_VALUES: (u64, u64, u64) = (103_616_085_655_992, 77_305_685_915_775, 117_414_986_395_283);

    #[test]
    fn the_expansion_is_reduced_uniform_and_depends_on_the_seed() {
        let scheme = Scheme::shared();
        let (a, b) = (Basis::from_seed(scheme, [1; 32]), Basis::from_seed(scheme, [2; 32]));
        assert!(a.values() != b.values());
        // Stored templates depend on it.
        let values = a.values();
        assert_eq!((values[0], values[4095], values[8191]), PINNED_VALUES);
        assert!(values == Basis::from_seed(scheme, a.seed()).values());
        for (limb, values) in scheme.limbs().iter().zip(values.chunks_exact(N)) {
            let q = limb.modulus().value();
            assert!(values.iter().all(|v| *v < q));
            let mean = values.iter().map(|v| *v as f64 / q as f64).sum::<f64>() / N as f64;
            // Five standard deviations of the mean of 4096 uniform values.
            assert!((mean - 0.5).abs() < 5.0 * (1.0 / 12.0f64).sqrt() / 64.0, "{mean}");
        }
    }
}
