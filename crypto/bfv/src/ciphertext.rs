//! Encrypted templates: one polynomial in the NTT domain, packed to 48 bits per residue.

use crate::{N, Scheme, Share};
use std::sync::Arc;
use trefoil_kernels::packed::{self, RESIDUE_BYTES};
use zeroize::Zeroizing;

/// The polynomial `c0` of one template, shared by clones. `c1` is the tenant's public basis.
#[derive(Clone, PartialEq, Eq)]
pub struct TemplateCiphertext {
    packed: Arc<[u8]>,
}

/// Why bytes are not a template ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CiphertextError {
    /// The length is not [`Scheme::template_bytes`].
    #[error("a template ciphertext has exactly {expected} bytes, not {found}")]
    Length {
        /// Bytes given.
        found: usize,
        /// Bytes needed.
        expected: usize,
    },
    /// A residue is not below its prime.
    #[error("residue {0} is not below its prime")]
    NotReduced(usize),
}

impl TemplateCiphertext {
    /// Packs reduced residues.
    pub(crate) fn pack(values: &[u64]) -> TemplateCiphertext {
        let mut bytes = vec![0; RESIDUE_BYTES * values.len()];
        packed::pack(values, &mut bytes);
        TemplateCiphertext { packed: bytes.into() }
    }

    /// The canonical encoding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.packed
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`CiphertextError`] for any other bytes.
    pub fn from_bytes(scheme: &Scheme, bytes: &[u8]) -> Result<TemplateCiphertext, CiphertextError> {
        let expected = scheme.template_bytes();
        if bytes.len() != expected {
            return Err(CiphertextError::Length { found: bytes.len(), expected });
        }
        let mut values = vec![0; scheme.polynomial_words()];
        packed::unpack(bytes, &mut values);
        check_reduced(scheme, &values, N).map_err(CiphertextError::NotReduced)?;
        Ok(TemplateCiphertext { packed: bytes.into() })
    }

    /// Subtracts a share from the encrypted template, which lives in `lane`. Adds no error beyond one unit per coefficient.
    ///
    /// # Panics
    /// If `lane` is above 31, or the ciphertext belongs to a scheme with other primes.
    pub fn subtract(&self, scheme: &Scheme, lane: usize, share: &Share) -> TemplateCiphertext {
        let mut message = Zeroizing::new(vec![0; N]);
        scheme.lanes().place_template(lane, share, &mut message);
        let mut values = vec![0; scheme.polynomial_words()];
        packed::unpack(&self.packed, &mut values);
        let no_error = vec![0; N];
        let mut scaled = Zeroizing::new(vec![0; N]);
        for (limb, values) in scheme.limbs().iter().zip(values.chunks_exact_mut(N)) {
            limb.transform_scaled(&message, &no_error, &mut scaled);
            for (value, &part) in values.iter_mut().zip(scaled.iter()) {
                *value = limb.modulus().sub(*value, limb.modulus().reduce(part));
            }
        }
        TemplateCiphertext::pack(&values)
    }
}

/// Checks residues, `per_prime` of them for each prime in turn; the error is the place of the first that is too large.
pub(crate) fn check_reduced(scheme: &Scheme, values: &[u64], per_prime: usize) -> Result<(), usize> {
    for (i, (limb, values)) in scheme.limbs().iter().zip(values.chunks_exact(per_prime)).enumerate() {
        let q = limb.modulus().value();
        if let Some(at) = values.iter().position(|v| *v >= q) {
            return Err(i * per_prime + at);
        }
    }
    Ok(())
}
