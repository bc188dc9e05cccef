//! The matcher's computation: multiply, re-randomise, flood.

use crate::ciphertext::TemplateCiphertext;
use crate::lines::Lines;
use crate::masked::MaskedBatch;
use crate::product;
use crate::ring::Limb;
use crate::sample::{ErrorSampler, TernarySampler, flood};
use crate::wipe::wipe;
use crate::{Basis, Drbg, Embedding, LANES, N, Scheme, T};
use std::sync::Arc;
use trefoil_kernels::packed::{self, Ahead};

/// Values of a product between prefetches of template lines.
const PIECE: usize = 256;
/// Lines of each of four templates that memory delivers in the time of a piece.
const PIECE_STEPS: usize = 4;

/// One template and one probe in a lane.
#[derive(Clone, Copy)]
pub struct Placed<'a> {
    /// The lane, 0..32, that the template was encrypted into.
    pub lane: usize,
    /// The encrypted template.
    pub template: &'a TemplateCiphertext,
    /// The probe.
    pub probe: &'a Embedding,
}

/// A generator and scratch memory for masking batches. Scratch is wiped on drop.
pub struct Masker {
    pub(crate) scheme: Arc<Scheme>,
    pub(crate) drbg: Drbg,
    pub(crate) ternary: TernarySampler,
    pub(crate) errors: ErrorSampler,
    /// The multiplier `p + t * r`, then the error of `c1`.
    pub(crate) small: Lines<i32>,
    pub(crate) multiplier: Lines<u64>,
    /// Sums of `c0`, then of `c1` where templates have one.
    pub(crate) sum: Lines<u64>,
    /// Scratch for products of ciphertexts only; made by the first product.
    pub(crate) product: Option<Box<product::Scratch>>,
}

impl Masker {
    /// A masker whose generator starts from `seed`, which no other generator may share.
    pub fn new(scheme: &Arc<Scheme>, seed: [u8; 32]) -> Masker {
        let words = scheme.polynomial_words();
        Masker {
            scheme: Arc::clone(scheme),
            drbg: Drbg::from_seed(seed).on(scheme.cpu()),
            ternary: TernarySampler::new(scheme.cpu()),
            errors: ErrorSampler::new(scheme.cpu()),
            small: Lines::new(N),
            multiplier: Lines::new(words),
            sum: Lines::new(2 * words),
            product: None,
        }
    }

    /// Mixes fresh randomness into the generator, see [`Drbg::reseed`].
    pub fn refresh(&mut self, fresh: &[u8; 32]) {
        self.drbg.reseed(fresh);
    }

    /// Multiplies the sum of the templates by the probes in their lanes and masks the product. Allocates its result only.
    ///
    /// # Panics
    /// If there are more than 32 requests, or a lane repeats or exceeds 31, or a ciphertext belongs to another scheme.
    pub fn mask(&mut self, basis: &Basis, placed: &[Placed<'_>]) -> MaskedBatch {
        let sources = Sources::of(placed.iter().map(|request| (request.lane, request.template.as_bytes())));
        self.masked(&sources, placed.iter().map(|request| (request.lane, request.probe)), basis)
    }

    /// The same for a block of previously summed templates ([`TemplateCiphertext::block`]), all of whose subjects'
    /// keys the decryption needs.
    ///
    /// # Panics
    /// If the ciphertext belongs to another scheme, or a lane exceeds 31.
    pub fn mask_block(
        &mut self,
        basis: &Basis,
        block: &TemplateCiphertext,
        probes: &[(usize, &Embedding)],
    ) -> MaskedBatch {
        let sources = Sources::of([(0, block.as_bytes())].into_iter());
        self.masked(&sources, probes.iter().copied(), basis)
    }

    /// Multiplies the sum of `sources` by the probes and masks the product.
    ///
    /// Reading the templates takes three times as long as everything else, so the rest comes first and prefetches them in
    /// passing.
    fn masked<'a>(
        &mut self,
        sources: &Sources<'_>,
        probes: impl Iterator<Item = (usize, &'a Embedding)>,
        basis: &Basis,
    ) -> MaskedBatch {
        let mut ahead = Ahead::of(self.scheme.cpu(), sources.get());
        self.prepare_multiplier(probes, &mut ahead);
        let mut masked = MaskedBatch::zero(&self.scheme);
        let (c0, c1) = masked.parts_mut();
        self.write_error(c1, &mut ahead);
        let flooding = flood(&mut self.drbg);
        self.add_basis(basis, c1, &mut ahead);
        self.sum(sources, 1);
        self.write_c0(&flooding, c0);
        masked
    }

    /// Sums ciphertexts of `polynomials` polynomials each.
    pub(crate) fn sum(&mut self, sources: &Sources<'_>, polynomials: usize) {
        let words = polynomials * self.scheme.polynomial_words();
        packed::sum(self.scheme.cpu(), sources.get(), &mut self.sum[..words]);
    }

    /// The multiplier `p + t * r` of probes `p` and a fresh ternary `r`, transformed. The multiple of `t` does not change the
    /// message, and makes `c1 = a * (p + t * r) + e2` an LWE sample with secret `r`, which reveals nothing about `p`.
    fn prepare_multiplier<'a>(
        &mut self,
        probes: impl Iterator<Item = (usize, &'a Embedding)>,
        ahead: &mut Ahead<'_>,
    ) {
        self.scheme.lanes().place_probes(probes, &mut self.small);
        self.hide_multiplier(ahead);
    }

    /// `small + t * r`, transformed.
    pub(crate) fn hide_multiplier(&mut self, ahead: &mut Ahead<'_>) {
        self.ternary.add(&mut self.drbg, T as i32, &mut self.small);
        for (limb, out) in self.scheme.limbs().iter().zip(self.multiplier.chunks_exact_mut(N)) {
            limb.transform_small_ahead(&self.small, out, ahead);
        }
    }

    /// `c1 = e2`, fresh and transformed.
    pub(crate) fn write_error(&mut self, c1: &mut [u64], ahead: &mut Ahead<'_>) {
        self.errors.fill_ahead(&mut self.drbg, &mut self.small, ahead);
        for (limb, out) in self.scheme.limbs().iter().zip(c1.chunks_exact_mut(N)) {
            limb.transform_small_ahead(&self.small, out, ahead);
        }
    }

    /// `c1 += a * multiplier` for the basis.
    pub(crate) fn add_basis(&self, basis: &Basis, c1: &mut [u64], ahead: &mut Ahead<'_>) {
        let cpu = self.scheme.cpu();
        let parts = c1.chunks_exact_mut(N).zip(self.multiplier.chunks_exact(N)).zip(basis.limbs());
        for (limb, ((out, multiplier), a)) in self.scheme.limbs().iter().zip(parts) {
            let pieces = out.chunks_mut(PIECE).zip(a.chunks(PIECE)).zip(multiplier.chunks(PIECE));
            for ((out, a), multiplier) in pieces {
                ahead.ask(cpu, PIECE_STEPS);
                limb.mul_add(a, multiplier, out);
            }
        }
    }

    /// The 32 needed coefficients of `sum * multiplier`, flooded. The other 4064 never leave the matcher.
    pub(crate) fn write_c0(&self, flooding: &[i128; LANES], c0: &mut [u64]) {
        let products = self.sum.chunks_exact(N).zip(self.multiplier.chunks_exact(N));
        for ((out, (sum, multiplier)), limb) in
            c0.chunks_exact_mut(LANES).zip(products).zip(self.scheme.limbs())
        {
            add_flood(limb, &limb.fold(sum, multiplier), flooding, out);
        }
    }
}

/// The ciphertexts of a batch.
pub(crate) struct Sources<'a> {
    bytes: [&'a [u8]; LANES],
    count: usize,
}

impl<'a> Sources<'a> {
    /// One ciphertext per lane.
    ///
    /// # Panics
    /// As [`Masker::mask`].
    pub(crate) fn of(placed: impl ExactSizeIterator<Item = (usize, &'a [u8])>) -> Sources<'a> {
        let count = placed.len();
        assert!(count <= LANES, "a batch has at most {LANES} requests");
        let mut bytes: [&[u8]; LANES] = [&[]; LANES];
        let mut taken = 0u32;
        for (source, (lane, bytes)) in bytes.iter_mut().zip(placed) {
            assert!(lane < LANES && taken >> lane & 1 == 0, "lanes are distinct and below {LANES}");
            taken |= 1 << lane;
            *source = bytes;
        }
        Sources { bytes, count }
    }

    pub(crate) fn get(&self) -> &[&'a [u8]] {
        &self.bytes[..self.count]
    }
}

/// `out = product + flooding`, modulo the limb's prime.
pub(crate) fn add_flood(limb: &Limb, product: &[u64; LANES], flooding: &[i128; LANES], out: &mut [u64]) {
    let modulus = limb.modulus();
    for ((out, &product), &flood) in out.iter_mut().zip(product).zip(flooding) {
        // Non-negative after adding a multiple of the modulus that exceeds the flood.
        let shifted = flood + (i128::from(modulus.value()) << 40);
        *out = modulus.add(product, modulus.reduce_wide(shifted as u128));
    }
}

impl Masker {
    fn wipe(&mut self) {
        wipe(&mut self.small);
        wipe(&mut self.multiplier);
        wipe(&mut self.sum);
        self.product = None;
    }
}

impl Drop for Masker {
    fn drop(&mut self) {
        self.wipe();
    }
}

#[cfg(test)]
mod tests;
