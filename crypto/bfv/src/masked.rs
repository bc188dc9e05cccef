//! The matcher's output: 32 flooded coefficients of `c0` and the re-randomised polynomial `c1`.

use crate::ciphertext::check_reduced;
use crate::lines::Lines;
use crate::{Cpu, LANES, N, Scheme};
use trefoil_kernels::packed;

/// 32 coefficients of `c0` for each prime, and `c1` with those after it, a polynomial in the NTT domain for each prime.
#[derive(Clone, PartialEq, Eq)]
pub struct Masked<const POLYNOMIALS: usize> {
    /// `c0`, then the others: one allocation.
    words: Lines<u64>,
    c0_words: usize,
}

/// A masked batch: `c0` and `c1`.
pub type MaskedBatch = Masked<1>;

/// The masked product of two ciphertexts: `c0`, `c1` and `c2`.
pub type MaskedProduct = Masked<2>;

/// Why bytes are not a masked batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaskedError {
    /// The length is not that of this kind of batch.
    #[error("a masked batch of this kind has exactly {expected} bytes, not {found}")]
    Length {
        /// Bytes given.
        found: usize,
        /// Bytes needed.
        expected: usize,
    },
    /// A residue is not below its prime.
    #[error("residue {0} of the masked batch is not below its prime")]
    NotReduced(usize),
    /// `c1` or `c2` is zero modulo a prime: the score would not be encrypted at all.
    #[error("a polynomial of the batch is zero modulo one of the primes")]
    Transparent,
}

impl<const POLYNOMIALS: usize> Masked<POLYNOMIALS> {
    pub(crate) fn zero(scheme: &Scheme) -> Self {
        let c0_words = scheme.folded_words();
        Masked { words: Lines::new(c0_words + POLYNOMIALS * scheme.polynomial_words()), c0_words }
    }

    /// The canonical encoding: every residue in six bytes, little-endian; `c0` first.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(&self.words)
    }

    /// Reads the canonical encoding and nothing else: each residue is reduced, and no polynomial is zero modulo a prime.
    ///
    /// # Errors
    /// [`MaskedError`] for any other bytes.
    pub fn from_bytes(scheme: &Scheme, bytes: &[u8]) -> Result<Self, MaskedError> {
        let mut masked = Self::zero(scheme);
        unpack(scheme, bytes, &mut masked.words)?;
        let (c0, rest) = masked.words.split_at(masked.c0_words);
        check_reduced(scheme, c0, LANES).map_err(MaskedError::NotReduced)?;
        for (i, polynomial) in rest.chunks_exact(scheme.polynomial_words()).enumerate() {
            let before = c0.len() + i * polynomial.len();
            check_reduced(scheme, polynomial, N).map_err(|at| MaskedError::NotReduced(before + at))?;
        }
        if rest.chunks_exact(N).any(|values| values.iter().all(|v| *v == 0)) {
            return Err(MaskedError::Transparent);
        }
        Ok(masked)
    }
}

impl MaskedBatch {
    /// `c0` and `c1`, to be written.
    pub(crate) fn parts_mut(&mut self) -> (&mut [u64], &mut [u64]) {
        self.words.split_at_mut(self.c0_words)
    }

    /// `c0` and `c1`.
    pub(crate) fn parts(&self) -> (&[u64], &[u64]) {
        self.words.split_at(self.c0_words)
    }

    /// The encoding of `c1` alone: [`Masked::to_bytes`] without the bytes of `c0`.
    pub fn c1_to_bytes(&self) -> Vec<u8> {
        to_bytes(self.parts().1)
    }

    /// Reads the encoding of `c1` alone; `c0` is zero.
    ///
    /// # Errors
    /// [`MaskedError`] for any other bytes.
    pub fn from_c1_bytes(scheme: &Scheme, bytes: &[u8]) -> Result<MaskedBatch, MaskedError> {
        let c0 = vec![0; packed::RESIDUE_BYTES * scheme.folded_words()];
        MaskedBatch::from_bytes(scheme, &[&c0, bytes].concat())
    }
}

impl MaskedProduct {
    /// `c0`, `c1` and `c2`, to be written.
    pub(crate) fn parts_mut(&mut self) -> [&mut [u64]; 3] {
        let (c0, rest) = self.words.split_at_mut(self.c0_words);
        let (c1, c2) = rest.split_at_mut(rest.len() / 2);
        [c0, c1, c2]
    }

    /// `c0`, `c1` and `c2`.
    pub(crate) fn parts(&self) -> [&[u64]; 3] {
        let (c0, rest) = self.words.split_at(self.c0_words);
        let (c1, c2) = rest.split_at(rest.len() / 2);
        [c0, c1, c2]
    }
}

/// Every residue in six bytes, little-endian.
pub(crate) fn to_bytes(words: &[u64]) -> Vec<u8> {
    let mut bytes = vec![0; packed::RESIDUE_BYTES * words.len()];
    packed::pack(Cpu::detected(), words, &mut bytes);
    bytes
}

/// Reads 32 reduced coefficients per prime into `words`, which has as many.
pub(crate) fn read_folded(scheme: &Scheme, bytes: &[u8], words: &mut [u64]) -> Result<(), MaskedError> {
    unpack(scheme, bytes, words)?;
    check_reduced(scheme, words, LANES).map_err(MaskedError::NotReduced)
}

/// Residues that fill `words` and need not be reduced.
fn unpack(scheme: &Scheme, bytes: &[u8], words: &mut [u64]) -> Result<(), MaskedError> {
    let expected = packed::RESIDUE_BYTES * words.len();
    if bytes.len() != expected {
        return Err(MaskedError::Length { found: bytes.len(), expected });
    }
    packed::unpack(scheme.cpu(), bytes, words);
    Ok(())
}
