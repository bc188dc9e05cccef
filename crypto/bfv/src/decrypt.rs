//! The key-holder's computation: 32 scores from a masked batch.

use crate::keys::SubjectKey;
use crate::lines::Lines;
use crate::masked::{MaskedBatch, MaskedProduct};
use crate::noise::{BAND_MAX, BAND_MIN};
use crate::params::PRIMES_MAX;
use crate::sample::TernarySampler;
use crate::shape::within;
use crate::tenant_key::TenantKey;
use crate::wipe::wipe;
use crate::{LANES, N, Scheme, Shape, T};
use std::sync::Arc;
use trefoil_kernels::sample::{self, TritBytes};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// Scratch memory for decryption. Wiped after each batch.
pub struct Decryptor {
    pub(crate) scheme: Arc<Scheme>,
    ternary: TernarySampler,
    digits: Lines<u8>,
    /// Sum of the keys.
    pub(crate) key: Box<[i32; N]>,
    pub(crate) key_hat: Lines<u64>,
}

/// A decrypted batch. Only the key-holder may hold one: scores and noise both help an attacker. Wiped on drop, and neither
/// printed nor compared.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Opened {
    #[zeroize(skip)]
    shape: Shape,
    scores: [i32; LANES],
    /// Errors in units of `Q / t * 2^-64`.
    errors: [i64; LANES],
    /// `Q / t` in those units of 1, for conversion.
    scale: f64,
}

impl Decryptor {
    /// Scratch memory for `scheme`.
    ///
    /// # Panics
    /// Never: the slice has the length of the array.
    pub fn new(scheme: &Arc<Scheme>) -> Decryptor {
        Decryptor {
            scheme: Arc::clone(scheme),
            ternary: TernarySampler::new(scheme.cpu()),
            digits: Lines::new(LANES * size_of::<TritBytes>()),
            key: vec![0; N].try_into().expect("N coefficients"),
            key_hat: Lines::new(N),
        }
    }

    /// Decrypts a batch under the keys of its lanes' subjects, which each ciphertext needs the sum of: folds `c1 * s`, adds `c0`, scales
    /// down to residues modulo t, and evaluates them in the lanes. A lane without a subject has score 0 if the batch is honest.
    ///
    /// # Panics
    /// If a ciphertext has more than 32 keys.
    pub fn decrypt<'a>(
        &mut self,
        keys: impl IntoIterator<Item = (usize, &'a SubjectKey)> + Clone,
        masked: &MaskedBatch,
    ) -> Opened {
        let mut folded = Folded::default();
        for (lanes, c1) in masked.ciphertexts() {
            self.sum_keys(within(&lanes, keys.clone().into_iter()).map(|(_, key)| key));
            let parts = c1.chunks_exact(N).zip(folded.limbs());
            for (limb, (c1, folded)) in self.scheme.limbs().iter().zip(parts) {
                limb.transform_small(&*self.key, &mut self.key_hat);
                limb.fold(c1, &self.key_hat, &mut folded[lanes.clone()]);
            }
        }
        self.wipe();
        folded.open(&self.scheme, masked.shape(), masked.c0())
    }

    /// Expands keys and adds them up.
    pub(crate) fn sum_keys<'a>(&mut self, keys: impl IntoIterator<Item = &'a SubjectKey>) {
        let mut seeds = Seeds([[0; 32]; LANES]);
        let mut count = 0;
        for key in keys {
            seeds.0[count] = *key.seed();
            count += 1;
        }
        let digits = &mut self.digits.as_chunks_mut::<{ size_of::<TritBytes>() }>().0[..count];
        self.ternary.expand(&seeds.0[..count], digits);
        sample::sum_ternary(self.scheme.cpu(), digits, &mut self.key);
    }

    /// Decrypts the product of a batch of templates and encrypted probes: `c0 + c1 s + c2 s^2`.
    pub fn decrypt_product(&self, key: &TenantKey, masked: &MaskedProduct) -> Opened {
        let (mut linear, mut square) = (Folded::default(), Folded::default());
        for (lanes, polynomials) in masked.ciphertexts() {
            let (c1, c2) = polynomials.split_at(polynomials.len() / 2);
            let operands = c1.chunks_exact(N).zip(c2.chunks_exact(N)).zip(key.limbs());
            let parts = operands.zip(linear.limbs().zip(square.limbs()));
            for (limb, (((c1, c2), (s, s_squared)), (linear, square))) in
                self.scheme.limbs().iter().zip(parts)
            {
                let (linear, square) = (&mut linear[lanes.clone()], &mut square[lanes.clone()]);
                limb.fold(c1, s, linear);
                limb.fold(c2, s_squared, square);
                linear.iter_mut().zip(square).for_each(|(x, y)| *x = limb.modulus().add(*x, *y));
            }
        }
        linear.open(&self.scheme, masked.shape(), masked.c0())
    }

    pub(crate) fn wipe(&mut self) {
        wipe(&mut self.digits);
        wipe(&mut self.key[..]);
        wipe(&mut self.key_hat);
    }
}

/// 32 coefficients of products with keys for each prime, one for each lane, zero where there is no ciphertext. Wiped on drop.
#[derive(Default, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Folded([[u64; LANES]; PRIMES_MAX]);

impl Folded {
    /// Prime by prime.
    pub(crate) fn limbs(&mut self) -> impl Iterator<Item = &mut [u64; LANES]> {
        self.0.iter_mut()
    }

    /// Adds `c0`, 32 coefficients for each prime, scales down to `t * v / Q` and rounds to residues modulo t; the rounding remainder is the
    /// error. Sums over the primes: integers, and fractions in units of 2^-64.
    pub(crate) fn open(&self, scheme: &Scheme, shape: Shape, c0: &[u64]) -> Opened {
        let (mut wholes, mut fractions) = (Zeroizing::new([0; LANES]), Zeroizing::new([0u128; LANES]));
        for (limb, (c0, folded)) in scheme.limbs().iter().zip(c0.chunks_exact(LANES).zip(&self.0)) {
            for (k, (&c0, &product)) in c0.iter().zip(folded).enumerate() {
                let (whole, fraction) = limb.scale_down(limb.modulus().add(c0, product));
                wholes[k] += whole;
                fractions[k] += u128::from(fraction);
            }
        }
        let mut residues = Zeroizing::new([0u64; LANES]);
        let mut errors = [0i64; LANES];
        for (k, (&whole, &fraction)) in wholes.iter().zip(fractions.iter()).enumerate() {
            let rounded = fraction + (1 << 63);
            residues[k] = (whole + (rounded >> 64) as u64) % T;
            // Low word of the sum, back around zero: the distance from the nearest integer.
            errors[k] = (rounded as u64 ^ (1 << 63)) as i64;
        }
        let scale = scheme.params().modulus() as f64 / T as f64 / 2f64.powi(64);
        Opened { shape, scores: scheme.lanes().read_constants(shape.width(), &mut residues), errors, scale }
    }
}

/// The seeds of a batch's keys. Wiped on drop.
struct Seeds([[u8; 32]; LANES]);

impl Drop for Seeds {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl Drop for Decryptor {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl Opened {
    /// The scores of the 32 lanes.
    pub fn scores(&self) -> &[i32; LANES] {
        &self.scores
    }

    /// The errors of the 32 decrypted coefficients, in absolute units, flooding included.
    pub fn errors(&self) -> [f64; LANES] {
        self.errors.map(|error| error as f64 * self.scale)
    }

    /// Whether the errors are those of an honest matcher: none above [`BAND_MAX`], in each ciphertext one at least [`BAND_MIN`].
    pub fn within_band(&self) -> bool {
        self.within(BAND_MIN, BAND_MAX)
    }

    /// Whether the largest error of each ciphertext is within these bounds.
    pub(crate) fn within(&self, smallest: u128, largest_allowed: u128) -> bool {
        let bound = |size: u128| (size as f64 / self.scale) as u64;
        self.shape.ciphertexts().fold(true, |all, lanes| {
            let largest = self.errors[lanes].iter().map(|error| error.unsigned_abs()).max().unwrap_or(0);
            all & (bound(smallest)..=bound(largest_allowed)).contains(&largest)
        })
    }
}

#[cfg(test)]
impl Opened {
    /// Whether no two errors are closer than 2^40, which those of two lanes are that have the same flooding.
    pub(crate) fn flooded_independently(&self) -> bool {
        let errors = self.errors();
        let far = |i: usize| errors[..i].iter().all(|error| (error - errors[i]).abs() > 2f64.powi(40));
        (0..LANES).all(far)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Drbg, Handle, MasterKey, Salt, Width};

    #[test]
    fn the_expanded_key_does_not_outlive_the_batch() {
        let mut rng = Drbg::from_seed([1; 32]);
        let key = MasterKey::random(&mut rng).subject_key(&Handle::new([0; 32]), 0, &Salt::random(&mut rng));
        let scheme = Scheme::shared();
        let mut decryptor = Decryptor::new(scheme);
        let mut batch = MaskedBatch::zero(scheme, Shape::of(Width::W128, 1));
        batch.parts_mut(0).1.fill(1);
        // With c1 = 1 and c0 = 0 the error is the key itself, far below the band: the key was used, and is gone.
        let opened = decryptor.decrypt([(0, &key)], &batch);
        assert!(!opened.within_band());
        assert!(decryptor.key.iter().all(|x| *x == 0) && decryptor.key_hat.iter().all(|x| *x == 0));
        assert!(decryptor.digits.iter().all(|x| *x == 0));
        assert_eq!((decryptor.key.len(), decryptor.key_hat.len()), (N, N));
    }

    #[test]
    fn a_message_in_the_clear_is_read_but_outside_the_band() {
        let scheme = Scheme::shared();
        let mut batch = MaskedBatch::zero(scheme, Shape::of(Width::W128, 1));
        let delta = (scheme.params().modulus() - 1) / u128::from(T);
        let (c0, _) = batch.parts_mut(0);
        for (limb, c0) in scheme.limbs().iter().zip(c0.chunks_exact_mut(LANES)) {
            c0[0] = limb.modulus().reduce_wide(delta * 1234);
        }
        let opened = Decryptor::new(scheme).decrypt([], &batch);
        assert_eq!(opened.scores(), &[1234; LANES]);
        assert!(opened.errors().iter().all(|e| e.abs() < 2f64.powi(17)));
        assert!(!opened.within_band());
    }
}
