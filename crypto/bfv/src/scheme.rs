//! A parameter set with everything precomputed.

use crate::lanes::Lanes;
use crate::ring::Limb;
use crate::{LANES, N, Params, Shape};
use std::sync::{Arc, LazyLock};
use trefoil_kernels::{Cpu, Tier, packed};

/// A parameter set, its transforms and the processor tier to use. Made once, shared by reference count.
///
/// The tier governs this project's kernels; the NTT library makes its own choice among equal results.
pub struct Scheme {
    params: Params,
    cpu: Cpu,
    limbs: Vec<Limb>,
    lanes: Lanes,
}

impl Scheme {
    /// The scheme of `params`, on `tier` or the best below it that the machine has.
    pub fn new(params: Params, tier: Tier) -> Arc<Scheme> {
        let cpu = Cpu::at_most(tier);
        let limbs = Limb::all(&params, cpu);
        Arc::new(Scheme { params, cpu, limbs, lanes: Lanes::new(cpu) })
    }

    /// The scheme in use, on the detected tier.
    pub fn shared() -> &'static Arc<Scheme> {
        static SHARED: LazyLock<Arc<Scheme>> =
            LazyLock::new(|| Scheme::new(Params::lanes94(), Tier::detected()));
        &SHARED
    }

    /// The parameter set.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Bytes of a template ciphertext: one packed polynomial per prime. 49,152 with two primes.
    pub fn template_bytes(&self) -> usize {
        packed::RESIDUE_BYTES * self.polynomial_words()
    }

    /// Bytes of an encoded masked batch: per prime 32 coefficients, and a polynomial for each ciphertext. 49,536 with two primes and one
    /// ciphertext.
    pub fn masked_bytes(&self, shape: Shape) -> usize {
        packed::RESIDUE_BYTES * (shape.count() * self.polynomial_words() + self.folded_words())
    }

    pub(crate) fn cpu(&self) -> Cpu {
        self.cpu
    }

    pub(crate) fn limbs(&self) -> &[Limb] {
        &self.limbs
    }

    pub(crate) fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    /// Residues of one polynomial modulo all primes.
    pub(crate) fn polynomial_words(&self) -> usize {
        self.limbs.len() * N
    }

    /// Residues of 32 coefficients modulo all primes.
    pub(crate) fn folded_words(&self) -> usize {
        self.limbs.len() * LANES
    }
}
