//! The matcher's computation: multiply, re-randomise, flood.

use crate::ciphertext::TemplateCiphertext;
use crate::masked::MaskedBatch;
use crate::sample::{ErrorSampler, TernarySampler, flood};
use crate::{Basis, Drbg, Embedding, LANES, N, Scheme, T};
use std::sync::Arc;
use trefoil_kernels::packed;
use zeroize::Zeroize;

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
    scheme: Arc<Scheme>,
    drbg: Drbg,
    ternary: TernarySampler,
    errors: ErrorSampler,
    /// The multiplier `p + t * r`, then the error of `c1`.
    small: Vec<i32>,
    multiplier: Vec<u64>,
    sum: Vec<u64>,
}

impl Masker {
    /// A masker whose generator starts from `seed`, which no other generator may share.
    pub fn new(scheme: &Arc<Scheme>, seed: [u8; 32]) -> Masker {
        let words = scheme.polynomial_words();
        Masker {
            scheme: Arc::clone(scheme),
            drbg: Drbg::from_seed(seed),
            ternary: TernarySampler::new(scheme.cpu()),
            errors: ErrorSampler::new(scheme.cpu()),
            small: vec![0; N],
            multiplier: vec![0; words],
            sum: vec![0; words],
        }
    }

    /// Multiplies the sum of the templates by the probes in their lanes and masks the product. Allocates its result only.
    ///
    /// # Panics
    /// If there are more than 32 requests, or a lane repeats or exceeds 31, or a ciphertext belongs to another scheme.
    pub fn mask(&mut self, basis: &Basis, placed: &[Placed<'_>]) -> MaskedBatch {
        assert!(placed.len() <= LANES, "a batch has at most {LANES} requests");
        let mut sources: [&[u8]; LANES] = [&[]; LANES];
        let mut taken = 0u32;
        for (source, request) in sources.iter_mut().zip(placed) {
            assert!(
                request.lane < LANES && taken >> request.lane & 1 == 0,
                "lanes are distinct and below {LANES}"
            );
            taken |= 1 << request.lane;
            *source = request.template.as_bytes();
        }
        packed::sum(self.scheme.cpu(), &sources[..placed.len()], &mut self.sum);
        self.prepare_multiplier(placed);
        let mut masked = MaskedBatch::zero(&self.scheme);
        let (c0, c1) = masked.parts_mut();
        self.write_c1(basis, c1);
        self.write_c0(c0);
        masked
    }

    /// The multiplier `p + t * r` of probes `p` and a fresh ternary `r`, transformed. The multiple of `t` does not change the
    /// message, and makes `c1 = a * (p + t * r) + e2` an LWE sample with secret `r`: it says nothing about `p`.
    fn prepare_multiplier(&mut self, placed: &[Placed<'_>]) {
        let probes = placed.iter().map(|request| (request.lane, request.probe));
        self.scheme.lanes().place_probes(probes, &mut self.small);
        self.ternary.add(&mut self.drbg, T as i32, &mut self.small);
        for (limb, out) in self.scheme.limbs().iter().zip(self.multiplier.chunks_exact_mut(N)) {
            limb.transform_small(&self.small, out);
        }
    }

    /// `c1 = a * multiplier + e2`.
    fn write_c1(&mut self, basis: &Basis, c1: &mut [u64]) {
        self.errors.fill(&mut self.drbg, &mut self.small);
        let multipliers = self.multiplier.chunks_exact(N);
        let limbs = self.scheme.limbs().iter().zip(basis.limbs());
        for ((out, multiplier), (limb, (a, quotients))) in c1.chunks_exact_mut(N).zip(multipliers).zip(limbs)
        {
            limb.transform_small(&self.small, out);
            limb.mul_add(a, quotients, multiplier, out);
        }
    }

    /// The 32 needed coefficients of `sum * multiplier`, flooded. The other 4064 never leave the matcher.
    fn write_c0(&mut self, c0: &mut [u64]) {
        let flooding = flood(&mut self.drbg);
        let products = self.sum.chunks_exact(N).zip(self.multiplier.chunks_exact(N));
        for ((out, (sum, multiplier)), limb) in
            c0.chunks_exact_mut(LANES).zip(products).zip(self.scheme.limbs())
        {
            let modulus = limb.modulus();
            for ((out, product), &flood) in
                out.iter_mut().zip(limb.fold(sum, multiplier)).zip(flooding.iter())
            {
                // Non-negative after adding a multiple of the modulus that exceeds the flood.
                let shifted = flood + (i128::from(modulus.value()) << 40);
                *out = modulus.add(product, modulus.reduce_wide(shifted as u128));
            }
        }
    }
}

impl Drop for Masker {
    fn drop(&mut self) {
        self.small.zeroize();
        self.multiplier.zeroize();
        self.sum.zeroize();
    }
}
