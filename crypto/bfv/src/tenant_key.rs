//! The second key structure: one secret for all templates of a tenant.
//!
//! A template is a pair `(c0, c1)` with a uniform `c1` of its own: twice the bytes of one under its own key, but products
//! with another ciphertext are possible, which the `shared` probe mode needs. Erasing one template's key is not.

use crate::basis::{expand, scaled, uniform};
use crate::ciphertext::PairCiphertext;
use crate::lines::{Lines, Secret};
use crate::masked::to_bytes;
use crate::sample::{ErrorSampler, TernarySampler};
use crate::shape::within;
use crate::wipe::wipe;
use crate::{Drbg, MasterKey, N, Scheme, Shape, Share, SubjectKey, T, Width};
use rand::CryptoRng;
use std::sync::Arc;
use trefoil_kernels::sample::{self, TritBytes};
use zeroize::Zeroizing;

/// A tenant's secret `s`, transformed, its opposite and its square: 192 KiB. Wiped on drop.
pub struct TenantKey {
    scheme: Arc<Scheme>,
    /// `s`, `-s` and `s^2`, reduced.
    s: Lines<u64>,
    minus_s: Lines<u64>,
    s_squared: Lines<u64>,
}

/// A public encryption of zero of degree 2, `(b0, b1, b2)` with `b0 + b1 s + b2 s^2` small: the matcher adds a random multiple
/// of it to a product, whose parts would otherwise reveal the operands to a party that knows `s`. 192 KiB.
pub struct Zero {
    seed: [u8; 32],
    b0: Lines<u64>,
    /// `b1` and `b2`, scaled for products.
    scaled: [Lines<u64>; 2],
}

impl MasterKey {
    /// The tenant's key: the ternary polynomial of SHA3-256 over a domain string and the master key.
    pub fn tenant_key(&self, scheme: &Arc<Scheme>) -> TenantKey {
        TenantKey::expand(scheme, &self.tenant_seed())
    }
}

impl TenantKey {
    fn expand(scheme: &Arc<Scheme>, seed: &[u8; 32]) -> TenantKey {
        let mut digits: Zeroizing<[TritBytes; 1]> = Zeroizing::new([[0; size_of::<TritBytes>()]]);
        TernarySampler::new(scheme.cpu()).expand(&[*seed], &mut *digits);
        let mut small = Zeroizing::new([0; N]);
        sample::sum_ternary(scheme.cpu(), &*digits, &mut small);
        TenantKey::of(scheme, &small)
    }

    /// The key whose secret has these coefficients.
    pub(crate) fn of(scheme: &Arc<Scheme>, small: &[i32; N]) -> TenantKey {
        let mut s = Lines::new(scheme.polynomial_words());
        let (mut minus_s, mut s_squared) = (s.clone(), s.clone());
        let parts = s.chunks_exact_mut(N).zip(minus_s.chunks_exact_mut(N)).zip(s_squared.chunks_exact_mut(N));
        for (limb, ((s, minus), square)) in scheme.limbs().iter().zip(parts) {
            limb.transform_small(small, s);
            for ((s, minus), square) in s.iter_mut().zip(minus).zip(square) {
                *s = limb.modulus().reduce(*s);
                *minus = limb.modulus().neg(*s);
                *square = limb.modulus().mul(*s, *s);
            }
        }
        TenantKey { scheme: Arc::clone(scheme), s, minus_s, s_squared }
    }

    /// Encrypts a template into `lane`: `c0 = -c1 * s + Delta * m + e` with a uniform `c1`.
    ///
    /// # Panics
    /// If `lane` is above 31.
    pub fn encrypt_lane(&self, lane: usize, template: &Share, rng: &mut impl CryptoRng) -> PairCiphertext {
        let mut drbg = Drbg::from_rng(rng);
        let c1 = self.uniform(&mut drbg);
        self.encrypt(&self.scaled(lane, template, &mut drbg), &c1)
    }

    /// As [`TenantKey::encrypt_lane`], with a `c1` expanded from a subject's key: a holder of that key knows which `c1` a
    /// template has, without trusting another party. Encrypts once per subject's key.
    ///
    /// # Panics
    /// If `lane` is above 31.
    pub fn encrypt_lane_of(
        &self,
        subject: &SubjectKey,
        lane: usize,
        template: &Share,
        rng: &mut impl CryptoRng,
    ) -> PairCiphertext {
        let hidden = self.scaled(lane, template, &mut Drbg::from_rng(rng));
        self.encrypt(&hidden, &subject.second_part(&self.scheme))
    }

    /// `Delta * m + e` for a template `m` in `lane` and a fresh error, transformed.
    fn scaled(&self, lane: usize, template: &Share, drbg: &mut Drbg) -> Zeroizing<Vec<u64>> {
        let mut message = Zeroizing::new(vec![0; N]);
        self.scheme.lanes().place_template(lane, template, &mut message);
        let mut error = Zeroizing::new(vec![0; N]);
        ErrorSampler::new(self.scheme.cpu()).fill(drbg, &mut error);
        let mut hidden = Zeroizing::new(vec![0; self.scheme.polynomial_words()]);
        for (limb, out) in self.scheme.limbs().iter().zip(hidden.chunks_exact_mut(N)) {
            limb.transform_scaled(&message, &error, out);
        }
        hidden
    }

    /// Encrypts the key-holder's shares of the probes of a batch of one width, at most one per lane, in as many ciphertexts as the batch has,
    /// with the message in the low bits: `c0 + c1 * s = x + t * e`. A product with a template is then a ciphertext of the usual form.
    ///
    /// # Panics
    /// If there is no share, or a lane is above 31, or the widths differ.
    pub fn encrypt_probes(
        &self,
        shares: &[(usize, &Share)],
        rng: &mut impl CryptoRng,
    ) -> Vec<PairCiphertext> {
        let width = shares.first().expect("a batch has a share").1.width();
        assert!(shares.iter().all(|(_, share)| share.width() == width), "one width");
        let shape = Shape::placed(width, shares.iter().map(|(lane, _)| *lane));
        let mut drbg = Drbg::from_rng(rng).on(self.scheme.cpu());
        let encrypted = shape.ciphertexts().map(|lanes| {
            let inside = within(&lanes, shares.iter().copied());
            self.encrypt_probes_of_one(width, inside, &mut drbg)
        });
        encrypted.collect()
    }

    fn encrypt_probes_of_one<'a>(
        &self,
        width: Width,
        shares: impl Iterator<Item = (usize, &'a Share)>,
        drbg: &mut Drbg,
    ) -> PairCiphertext {
        let mut small = Secret::new(N);
        self.scheme.lanes().place_shares(width, shares, &mut small);
        let mut error = Secret::new(N);
        ErrorSampler::new(self.scheme.cpu()).fill(drbg, &mut error);
        // At most 2^15 + 21 * 65537 in size.
        small.iter_mut().zip(error.iter()).for_each(|(x, e)| *x += T as i32 * e);
        let mut hidden = Secret::new(self.scheme.polynomial_words());
        for (limb, out) in self.scheme.limbs().iter().zip(hidden.chunks_exact_mut(N)) {
            limb.transform_small(&small, out);
        }
        let c1 = self.uniform(drbg);
        self.encrypt(&hidden, &c1)
    }

    /// `(hidden - c1 * s, c1)`; `hidden` need not be reduced.
    fn encrypt(&self, hidden: &[u64], second: &[u64]) -> PairCiphertext {
        let words = self.scheme.polynomial_words();
        let mut values = Lines::new(2 * words);
        let (c0, c1) = values.split_at_mut(words);
        c0.copy_from_slice(hidden);
        c1.copy_from_slice(second);
        let parts = c0.chunks_exact_mut(N).zip(c1.chunks_exact(N)).zip(self.minus_s.chunks_exact(N));
        for (limb, ((c0, c1), minus_s)) in self.scheme.limbs().iter().zip(parts) {
            limb.mul_add_variable(c1, minus_s, c0);
        }
        PairCiphertext::pack(&values)
    }

    fn uniform(&self, drbg: &mut Drbg) -> Vec<u64> {
        // Many words at once: the generator changes its key at every request.
        let mut drawn = vec![0u8; 6 << 12];
        let mut at = drawn.len();
        uniform(&self.scheme, |mut out| {
            while !out.is_empty() {
                if at == drawn.len() {
                    drbg.fill(&mut drawn);
                    at = 0;
                }
                let (now, later) = out.split_at_mut(out.len().min(drawn.len() - at));
                now.copy_from_slice(&drawn[at..at + now.len()]);
                at += now.len();
                out = later;
            }
        })
    }

    /// The public encryption of zero that belongs to a master key and a seed: the same at every call, so that it need
    /// not be kept, and never a second one with another error.
    pub fn zero_of(&self, master: &MasterKey, seed: [u8; 32]) -> Zero {
        self.zero(seed, &mut Drbg::from_seed(*master.zero_seed(&seed)))
    }

    /// A public encryption of zero of degree 2. `b1` and `b2` are expanded from `seed` as a basis is, so that the matcher
    /// need not trust the key-holder to have drawn them at random.
    pub fn zero(&self, seed: [u8; 32], rng: &mut impl CryptoRng) -> Zero {
        let (b1, b2) = zero_parts(&self.scheme, &seed);
        let mut error = Zeroizing::new(vec![0; N]);
        ErrorSampler::new(self.scheme.cpu()).fill(&mut Drbg::from_rng(rng), &mut error);
        let mut b0 = vec![0; self.scheme.polynomial_words()];
        for (i, limb) in self.scheme.limbs().iter().enumerate() {
            let m = limb.modulus();
            let out = &mut b0[i * N..(i + 1) * N];
            limb.transform_small(&error, out);
            for (out, j) in out.iter_mut().zip(i * N..) {
                let rest = m.add(m.mul(b1[j], self.s[j]), m.mul(b2[j], self.s_squared[j]));
                *out = m.sub(m.reduce(*out), rest);
            }
        }
        Zero::new(&self.scheme, seed, b0)
    }

    /// The scheme of the key.
    pub fn scheme(&self) -> &Arc<Scheme> {
        &self.scheme
    }

    /// `s` and `s^2`, prime by prime.
    pub(crate) fn limbs(&self) -> impl Iterator<Item = (&[u64], &[u64])> {
        self.s.chunks_exact(N).zip(self.s_squared.chunks_exact(N))
    }
}

fn zero_parts(scheme: &Scheme, seed: &[u8; 32]) -> (Vec<u64>, Vec<u64>) {
    (expand(scheme, b"trefoil/bfv/zero/1/b1", seed), expand(scheme, b"trefoil/bfv/zero/1/b2", seed))
}

impl Zero {
    fn new(scheme: &Scheme, seed: [u8; 32], b0: Vec<u64>) -> Zero {
        let (b1, b2) = zero_parts(scheme, &seed);
        Zero { seed, b0: Lines::of(&b0), scaled: [scaled(scheme, &b1), scaled(scheme, &b2)] }
    }

    /// The canonical encoding: the seed, then `b0` packed.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.seed[..], &to_bytes(&self.b0)].concat()
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`crate::CiphertextError`] for any other bytes.
    pub fn from_bytes(scheme: &Scheme, bytes: &[u8]) -> Result<Zero, crate::CiphertextError> {
        let length =
            crate::CiphertextError::Length { found: bytes.len(), expected: 32 + scheme.template_bytes() };
        let (seed, b0) = bytes.split_first_chunk().ok_or(length)?;
        let b0 = crate::TemplateCiphertext::from_bytes(scheme, b0)
            .map_err(|error| if bytes.len() == 32 + scheme.template_bytes() { error } else { length })?;
        Ok(Zero::new(scheme, *seed, b0.unpacked()))
    }

    /// `b0` modulo prime number `i`, and `b1` and `b2` scaled.
    pub(crate) fn limb(&self, i: usize) -> [&[u64]; 3] {
        let [b1, b2] = &self.scaled;
        [&self.b0, b1, b2].map(|values| &values[i * N..(i + 1) * N])
    }
}

impl Drop for TenantKey {
    fn drop(&mut self) {
        wipe(&mut self.s);
        wipe(&mut self.minus_s);
        wipe(&mut self.s_squared);
    }
}
