//! The matcher's output: 32 flooded coefficients of `c0`, and the re-randomised polynomial `c1` of each ciphertext.

use crate::ciphertext::check_reduced;
use crate::lines::Lines;
use crate::{Cpu, LANES, N, Scheme, Shape};
use std::ops::Range;
use trefoil_kernels::packed;

/// 32 coefficients of `c0` for each prime, one for each lane, zero where there is no ciphertext; then for each ciphertext `c1` with those
/// after it, a polynomial in the NTT domain for each prime.
#[derive(Clone, PartialEq, Eq)]
pub struct Masked<const POLYNOMIALS: usize> {
    shape: Shape,
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
    /// A lane without a ciphertext has a coefficient.
    #[error("the masked batch has a coefficient for a ciphertext that it lacks")]
    Stray,
    /// `c1` or `c2` is zero modulo a prime: the score would not be encrypted at all.
    #[error("a polynomial of the batch is zero modulo one of the primes")]
    Transparent,
}

impl<const POLYNOMIALS: usize> Masked<POLYNOMIALS> {
    pub(crate) fn zero(scheme: &Scheme, shape: Shape) -> Self {
        let c0_words = scheme.folded_words();
        let rest = shape.count() * POLYNOMIALS * scheme.polynomial_words();
        Masked { shape, words: Lines::new(c0_words + rest), c0_words }
    }

    /// How its lanes are spread over ciphertexts.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The lanes of each ciphertext and, prime after prime, its polynomials, one after the other.
    pub(crate) fn ciphertexts(&self) -> impl Iterator<Item = (Range<usize>, &[u64])> {
        let rest = &self.words[self.c0_words..];
        self.shape.ciphertexts().enumerate().map(|(at, lanes)| {
            let words = rest.len() / self.shape.count();
            (lanes, &rest[words * at..words * (at + 1)])
        })
    }

    /// `c0`: 32 coefficients for each prime.
    pub(crate) fn c0(&self) -> &[u64] {
        &self.words[..self.c0_words]
    }

    /// `c0`, and the polynomials of ciphertext `at`, to be written.
    pub(crate) fn parts_mut(&mut self, at: usize) -> (&mut [u64], &mut [u64]) {
        let (c0, rest) = self.words.split_at_mut(self.c0_words);
        let words = rest.len() / self.shape.count();
        (c0, &mut rest[words * at..words * (at + 1)])
    }

    /// The canonical encoding: every residue in six bytes, little-endian; `c0` first.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(&self.words)
    }

    /// Reads the canonical encoding of a batch of this shape and nothing else: each residue is reduced, and no polynomial is zero modulo a prime.
    ///
    /// # Errors
    /// [`MaskedError`] for any other bytes.
    pub fn from_bytes(scheme: &Scheme, shape: Shape, bytes: &[u8]) -> Result<Self, MaskedError> {
        let mut masked = Self::zero(scheme, shape);
        unpack(scheme, bytes, &mut masked.words)?;
        let (c0, rest) = masked.words.split_at(masked.c0_words);
        check_reduced(scheme, c0, LANES).map_err(MaskedError::NotReduced)?;
        let exists = |lane: usize| shape.ciphertexts().any(|lanes| lanes.contains(&lane));
        if c0.iter().enumerate().any(|(at, value)| *value != 0 && !exists(at % LANES)) {
            return Err(MaskedError::Stray);
        }
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
    /// The encoding of `c1` alone: [`Masked::to_bytes`] without the bytes of `c0`.
    pub fn c1_to_bytes(&self) -> Vec<u8> {
        to_bytes(&self.words[self.c0_words..])
    }

    /// Reads the encoding of `c1` alone; `c0` is zero.
    ///
    /// # Errors
    /// [`MaskedError`] for any other bytes.
    pub fn from_c1_bytes(scheme: &Scheme, shape: Shape, bytes: &[u8]) -> Result<MaskedBatch, MaskedError> {
        let c0 = vec![0; packed::RESIDUE_BYTES * scheme.folded_words()];
        MaskedBatch::from_bytes(scheme, shape, &[&c0, bytes].concat())
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
