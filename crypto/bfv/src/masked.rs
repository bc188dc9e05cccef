//! What leaves the matcher: 32 flooded coefficients of `c0` and the re-randomised polynomial `c1`.

use crate::ciphertext::check_reduced;
use crate::{LANES, N, Scheme};
use trefoil_kernels::packed;

/// A masked batch. `c0` holds 32 coefficients per prime, `c1` one polynomial per prime in the NTT domain.
#[derive(Clone, PartialEq, Eq)]
pub struct MaskedBatch {
    /// `c0`, then `c1`: one allocation.
    words: Box<[u64]>,
    c0_words: usize,
}

/// Why bytes are not a masked batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaskedError {
    /// The length is not [`Scheme::masked_bytes`].
    #[error("a masked batch has exactly {expected} bytes, not {found}")]
    Length {
        /// Bytes given.
        found: usize,
        /// Bytes needed.
        expected: usize,
    },
    /// A residue is not below its prime.
    #[error("residue {0} of the masked batch is not below its prime")]
    NotReduced(usize),
    /// `c1` is zero modulo a prime: the score would not be encrypted at all.
    #[error("c1 is zero modulo one of the primes")]
    Transparent,
}

impl MaskedBatch {
    pub(crate) fn zero(scheme: &Scheme) -> MaskedBatch {
        let c0_words = scheme.folded_words();
        MaskedBatch { words: vec![0; c0_words + scheme.polynomial_words()].into(), c0_words }
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
        let mut bytes = vec![0; packed::RESIDUE_BYTES * self.words.len()];
        packed::pack(&self.words, &mut bytes);
        bytes
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`MaskedError`] for any other bytes.
    pub fn from_bytes(scheme: &Scheme, bytes: &[u8]) -> Result<MaskedBatch, MaskedError> {
        let expected = scheme.masked_bytes();
        if bytes.len() != expected {
            return Err(MaskedError::Length { found: bytes.len(), expected });
        }
        let mut batch = MaskedBatch::zero(scheme);
        packed::unpack(bytes, &mut batch.words);
        let (c0, c1) = batch.parts();
        check_reduced(scheme, c0, LANES).map_err(MaskedError::NotReduced)?;
        check_reduced(scheme, c1, N).map_err(|at| MaskedError::NotReduced(c0.len() + at))?;
        if c1.chunks_exact(N).any(|values| values.iter().all(|v| *v == 0)) {
            return Err(MaskedError::Transparent);
        }
        Ok(batch)
    }
}
