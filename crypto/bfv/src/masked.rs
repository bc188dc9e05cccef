//! The matcher's output: 32 flooded coefficients of `c0` and the re-randomised polynomial `c1`.

use crate::ciphertext::check_reduced;
use crate::lines::Lines;
use crate::{Cpu, LANES, N, Scheme};
use trefoil_kernels::packed;

/// A masked batch. `c0` holds 32 coefficients per prime, `c1` one polynomial per prime in the NTT domain.
#[derive(Clone, PartialEq, Eq)]
pub struct MaskedBatch {
    /// `c0`, then `c1`: one allocation.
    words: Lines<u64>,
    c0_words: usize,
}

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

/// The masked product of two ciphertexts: `c0` holds 32 coefficients per prime, `c1` and `c2` one polynomial per prime each.
#[derive(Clone, PartialEq, Eq)]
pub struct MaskedProduct {
    /// `c0`, then `c1`, then `c2`.
    words: Lines<u64>,
    c0_words: usize,
}

impl MaskedBatch {
    pub(crate) fn zero(scheme: &Scheme) -> MaskedBatch {
        MaskedBatch { words: zeros(scheme, 1), c0_words: scheme.folded_words() }
    }

    /// `c0` and `c1`, to be written.
    pub(crate) fn parts_mut(&mut self) -> (&mut [u64], &mut [u64]) {
        self.words.split_at_mut(self.c0_words)
    }

    /// `c0` and `c1`.
    pub(crate) fn parts(&self) -> (&[u64], &[u64]) {
        self.words.split_at(self.c0_words)
    }

    /// The canonical encoding: every residue in six bytes, little-endian; `c0` first.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(&self.words)
    }

    /// The encoding of `c1` alone: [`MaskedBatch::to_bytes`] without the bytes of `c0`.
    pub fn c1_to_bytes(&self) -> Vec<u8> {
        to_bytes(self.parts().1)
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`MaskedError`] for any other bytes.
    pub fn from_bytes(scheme: &Scheme, bytes: &[u8]) -> Result<MaskedBatch, MaskedError> {
        Ok(MaskedBatch { words: read(scheme, 1, bytes)?, c0_words: scheme.folded_words() })
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
    pub(crate) fn zero(scheme: &Scheme) -> MaskedProduct {
        MaskedProduct { words: zeros(scheme, 2), c0_words: scheme.folded_words() }
    }

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

    /// The canonical encoding: every residue in six bytes, little-endian; `c0`, `c1`, `c2`.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(&self.words)
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`MaskedError`] for any other bytes.
    pub fn from_bytes(scheme: &Scheme, bytes: &[u8]) -> Result<MaskedProduct, MaskedError> {
        Ok(MaskedProduct { words: read(scheme, 2, bytes)?, c0_words: scheme.folded_words() })
    }
}

fn zeros(scheme: &Scheme, polynomials: usize) -> Lines<u64> {
    Lines::new(scheme.folded_words() + polynomials * scheme.polynomial_words())
}

/// Every residue in six bytes, little-endian.
pub(crate) fn to_bytes(words: &[u64]) -> Vec<u8> {
    let mut bytes = vec![0; packed::RESIDUE_BYTES * words.len()];
    packed::pack(Cpu::detected(), words, &mut bytes);
    bytes
}

/// Reads `c0` and `polynomials` polynomials, each reduced and none of them zero modulo a prime.
fn read(scheme: &Scheme, polynomials: usize, bytes: &[u8]) -> Result<Lines<u64>, MaskedError> {
    let mut words = zeros(scheme, polynomials);
    unpack(scheme, bytes, &mut words)?;
    let (c0, rest) = words.split_at(scheme.folded_words());
    check_reduced(scheme, c0, LANES).map_err(MaskedError::NotReduced)?;
    for (i, polynomial) in rest.chunks_exact(scheme.polynomial_words()).enumerate() {
        let before = c0.len() + i * polynomial.len();
        check_reduced(scheme, polynomial, N).map_err(|at| MaskedError::NotReduced(before + at))?;
    }
    if rest.chunks_exact(N).any(|values| values.iter().all(|v| *v == 0)) {
        return Err(MaskedError::Transparent);
    }
    Ok(words)
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
