//! The matcher's computation: multiply, re-randomise, flood.

use crate::ciphertext::TemplateCiphertext;
use crate::lines::Lines;
use crate::masked::MaskedBatch;
use crate::product;
use crate::ring::Limb;
use crate::sample::{ErrorSampler, TernarySampler, flood};
use crate::shape::within;
use crate::wipe::wipe;
use crate::{Basis, Drbg, Embedding, LANES, N, Scheme, Shape, T, Width};
use std::ops::Range;
use std::sync::Arc;
use trefoil_kernels::packed::{self, Ahead};

/// Values of a product between prefetches of template lines.
const PIECE: usize = 256;
/// Lines of each of four templates that memory delivers in the time of a piece.
const PIECE_STEPS: usize = 4;

/// One template and one probe in a lane.
#[derive(Clone, Copy)]
pub struct Placed<'a> {
    /// The lane, 0..32, that the template was encrypted into. All templates and probes of a batch have one width.
    pub lane: usize,
    /// The encrypted template.
    pub template: &'a TemplateCiphertext,
    /// The probe.
    pub probe: &'a Embedding,
}

/// The factors of a product, transformed. Tags and witnesses need them again.
pub(crate) struct Factors {
    pub(crate) multiplier: Lines<u64>,
    /// Sums of `c0`, then of `c1` where templates have one.
    pub(crate) sum: Lines<u64>,
}

/// A generator and scratch memory for masking batches. Scratch is wiped on drop.
pub struct Masker {
    pub(crate) scheme: Arc<Scheme>,
    pub(crate) drbg: Drbg,
    pub(crate) ternary: TernarySampler,
    pub(crate) errors: ErrorSampler,
    /// The multiplier `p + t * r`, then the error of `c1`.
    pub(crate) small: Lines<i32>,
    /// Of each ciphertext of the batch that was masked last; as many as batches have had.
    pub(crate) factors: Vec<Factors>,
    pub(crate) shape: Shape,
    /// Scratch for products of ciphertexts only; made by the first product.
    pub(crate) product: Option<Box<product::Scratch>>,
}

impl Masker {
    /// A masker whose generator starts from `seed`, which no other generator may share.
    pub fn new(scheme: &Arc<Scheme>, seed: [u8; 32]) -> Masker {
        Masker {
            scheme: Arc::clone(scheme),
            drbg: Drbg::from_seed(seed).on(scheme.cpu()),
            ternary: TernarySampler::new(scheme.cpu()),
            errors: ErrorSampler::new(scheme.cpu()),
            small: Lines::new(N),
            factors: Vec::new(),
            shape: Shape::of(Width::W128, 0),
            product: None,
        }
    }

    /// Mixes fresh randomness into the generator, see [`Drbg::reseed`].
    pub fn refresh(&mut self, fresh: &[u8; 32]) {
        self.drbg.reseed(fresh);
    }

    /// Multiplies the sum of the templates by the probes in their lanes and masks the product. Allocates its result only, and scratch
    /// memory for the first batches.
    ///
    /// # Panics
    /// If there is no request or more than 32, or a lane repeats or exceeds 31, or probes have several widths, or a ciphertext belongs to
    /// another scheme.
    pub fn mask(&mut self, basis: &Basis, placed: &[Placed<'_>]) -> MaskedBatch {
        let sources = |lanes: &Range<usize>| {
            let within = placed.iter().filter(|request| lanes.contains(&request.lane));
            Sources::of(within.map(|request| request.template.as_bytes()))
        };
        self.masked(basis, sources, placed.iter().map(|request| (request.lane, request.probe)))
    }

    /// The same for previously summed templates ([`TemplateCiphertext::block`]), a block for each ciphertext of the batch, all of whose
    /// subjects' keys the decryption needs.
    ///
    /// # Panics
    /// As [`Masker::mask`], and if there are fewer blocks than ciphertexts.
    pub fn mask_blocks(
        &mut self,
        basis: &Basis,
        blocks: &[&TemplateCiphertext],
        probes: &[(usize, &Embedding)],
    ) -> MaskedBatch {
        let mut blocks = blocks.iter();
        let mut block = || blocks.next().expect("a block for each ciphertext").as_bytes();
        let sources = |_: &Range<usize>| Sources::of(std::iter::once(block()));
        self.masked(basis, sources, probes.iter().copied())
    }

    /// Multiplies, for each ciphertext, the sum of its `sources` by the probes and masks the product.
    ///
    /// Reading the templates takes three times as long as everything else, so the rest comes first and prefetches them in
    /// passing.
    fn masked<'a>(
        &mut self,
        basis: &Basis,
        mut sources: impl FnMut(&Range<usize>) -> Sources<'a>,
        probes: impl Iterator<Item = (usize, &'a Embedding)> + Clone,
    ) -> MaskedBatch {
        self.begin(&probes);
        let mut masked = MaskedBatch::zero(&self.scheme, self.shape);
        let flooding = flood(&mut self.drbg);
        for (at, lanes) in self.shape.ciphertexts().enumerate() {
            let sources = sources(&lanes);
            let mut ahead = Ahead::of(self.scheme.cpu(), sources.get());
            let (c0, c1) = masked.parts_mut(at);
            self.prepare_multiplier(at, &lanes, probes.clone(), &mut ahead);
            self.write_error(c1, &mut ahead);
            self.add_basis(at, basis, c1, &mut ahead);
            self.sum(at, &sources, 1);
            self.write_c0(at, &lanes, &flooding, c0);
        }
        masked
    }

    /// Notes the shape of a batch with these probes, and makes room for its factors.
    fn begin<'a>(&mut self, probes: &(impl Iterator<Item = (usize, &'a Embedding)> + Clone)) {
        let width = probes.clone().next().expect("a batch has a request").1.width();
        assert!(probes.clone().all(|(_, probe)| probe.width() == width), "one width");
        self.shape = Shape::placed(width, probes.clone().map(|(lane, _)| lane));
        self.make_room();
    }

    /// Room for the factors of as many ciphertexts as the batch has.
    pub(crate) fn make_room(&mut self) {
        let words = self.scheme.polynomial_words();
        while self.factors.len() < self.shape.count() {
            self.factors.push(Factors { multiplier: Lines::new(words), sum: Lines::new(2 * words) });
        }
    }

    /// Sums ciphertexts of `polynomials` polynomials each.
    pub(crate) fn sum(&mut self, at: usize, sources: &Sources<'_>, polynomials: usize) {
        let words = polynomials * self.scheme.polynomial_words();
        packed::sum(self.scheme.cpu(), sources.get(), &mut self.factors[at].sum[..words]);
    }

    /// The multiplier `p + t * r` of the probes `p` in these lanes and a fresh ternary `r`, transformed. The multiple of `t` does not change the
    /// message, and makes `c1 = a * (p + t * r) + e2` an LWE sample with secret `r`, which reveals nothing about `p`.
    fn prepare_multiplier<'a>(
        &mut self,
        at: usize,
        lanes: &Range<usize>,
        probes: impl Iterator<Item = (usize, &'a Embedding)>,
        ahead: &mut Ahead<'_>,
    ) {
        self.scheme.lanes().place_probes(self.shape.width(), within(lanes, probes), &mut self.small);
        self.hide_multiplier(at, ahead);
    }

    /// `small + t * r`, transformed.
    pub(crate) fn hide_multiplier(&mut self, at: usize, ahead: &mut Ahead<'_>) {
        self.ternary.add(&mut self.drbg, T as i32, &mut self.small);
        let out = self.factors[at].multiplier.chunks_exact_mut(N);
        for (limb, out) in self.scheme.limbs().iter().zip(out) {
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
    pub(crate) fn add_basis(&self, at: usize, basis: &Basis, c1: &mut [u64], ahead: &mut Ahead<'_>) {
        let cpu = self.scheme.cpu();
        let multiplier = self.factors[at].multiplier.chunks_exact(N);
        let parts = c1.chunks_exact_mut(N).zip(multiplier).zip(basis.limbs());
        for (limb, ((out, multiplier), a)) in self.scheme.limbs().iter().zip(parts) {
            let pieces = out.chunks_mut(PIECE).zip(a.chunks(PIECE)).zip(multiplier.chunks(PIECE));
            for ((out, a), multiplier) in pieces {
                ahead.ask(cpu, PIECE_STEPS);
                limb.mul_add(a, multiplier, out);
            }
        }
    }

    /// The coefficients of `sum * multiplier` for these lanes, flooded. The others never leave the matcher.
    pub(crate) fn write_c0(&self, at: usize, lanes: &Range<usize>, flooding: &[i128; LANES], c0: &mut [u64]) {
        let Factors { multiplier, sum } = &self.factors[at];
        let products = sum.chunks_exact(N).zip(multiplier.chunks_exact(N));
        for ((out, (sum, multiplier)), limb) in
            c0.chunks_exact_mut(LANES).zip(products).zip(self.scheme.limbs())
        {
            let out = &mut out[lanes.clone()];
            limb.fold(sum, multiplier, out);
            add_flood(limb, &flooding[lanes.clone()], out);
        }
    }
}

/// The ciphertexts of a batch.
pub(crate) struct Sources<'a> {
    bytes: [&'a [u8]; LANES],
    count: usize,
}

impl<'a> Sources<'a> {
    /// At most as many as there are lanes.
    pub(crate) fn of(ciphertexts: impl Iterator<Item = &'a [u8]>) -> Sources<'a> {
        let mut sources = Sources { bytes: [&[]; LANES], count: 0 };
        for (place, bytes) in sources.bytes.iter_mut().zip(ciphertexts) {
            *place = bytes;
            sources.count += 1;
        }
        sources
    }

    pub(crate) fn get(&self) -> &[&'a [u8]] {
        &self.bytes[..self.count]
    }
}

/// `out += flooding`, modulo the limb's prime.
pub(crate) fn add_flood(limb: &Limb, flooding: &[i128], out: &mut [u64]) {
    let modulus = limb.modulus();
    for (out, &flood) in out.iter_mut().zip(flooding) {
        // Non-negative after adding a multiple of the modulus that exceeds the flood.
        let shifted = flood + (i128::from(modulus.value()) << 40);
        *out = modulus.add(*out, modulus.reduce_wide(shifted as u128));
    }
}

impl Masker {
    fn wipe(&mut self) {
        wipe(&mut self.small);
        for Factors { multiplier, sum } in &mut self.factors {
            wipe(multiplier);
            wipe(sum);
        }
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
