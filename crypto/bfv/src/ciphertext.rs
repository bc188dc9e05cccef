//! Encrypted templates, packed to 48 bits per residue, in the NTT domain.

use crate::packed_bytes::PackedBytes;
use crate::{Arena, N, Scheme, Share};
use trefoil_kernels::packed;
use zeroize::Zeroizing;

/// A template under a key of its own: the polynomial `c0`, shared by clones. `c1` is the tenant's public basis.
#[derive(Clone, PartialEq, Eq)]
pub struct TemplateCiphertext {
    packed: PackedBytes,
}

/// A template, or the key-holder's share of a batch of probes, under the tenant's key: `c0` and `c1`, shared by clones.
#[derive(Clone, PartialEq, Eq)]
pub struct PairCiphertext {
    packed: PackedBytes,
}

/// Why bytes are not a template ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CiphertextError {
    /// The length is not that of its polynomials, [`Scheme::template_bytes`] each.
    #[error("this kind of ciphertext has exactly {expected} bytes, not {found}")]
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
        TemplateCiphertext { packed: PackedBytes::pack(values) }
    }

    /// The canonical encoding.
    pub fn as_bytes(&self) -> &[u8] {
        self.packed.as_bytes()
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`CiphertextError`] for any other bytes.
    pub fn from_bytes(scheme: &Scheme, bytes: &[u8]) -> Result<TemplateCiphertext, CiphertextError> {
        PackedBytes::read(scheme, 1, bytes).map(|packed| TemplateCiphertext { packed })
    }

    /// The same ciphertext in a slot of `arena`, whose slots are [`Scheme::template_bytes`] long; none when it is full.
    pub fn stored_in(&self, arena: &Arena) -> Option<TemplateCiphertext> {
        self.packed.stored_in(arena).map(|packed| TemplateCiphertext { packed })
    }

    /// Subtracts a share from the encrypted template, which lives in `lane`. Adds no error beyond one unit per coefficient.
    ///
    /// # Panics
    /// If `lane` is above 31, or the ciphertext belongs to a scheme with other primes.
    pub fn subtract(&self, scheme: &Scheme, lane: usize, share: &Share) -> TemplateCiphertext {
        let mut values = self.packed.unpacked();
        subtract(scheme, lane, share, &mut values);
        TemplateCiphertext::pack(&values)
    }

    /// The sum of up to 32 ciphertexts, which replaces all of them in a batch with all of their subjects.
    ///
    /// # Panics
    /// If there are more than 32.
    pub fn block(scheme: &Scheme, ciphertexts: &[&TemplateCiphertext]) -> TemplateCiphertext {
        let sources: Vec<&[u8]> = ciphertexts.iter().map(|ciphertext| ciphertext.as_bytes()).collect();
        let mut sum = vec![0; scheme.polynomial_words()];
        packed::sum(scheme.cpu(), &sources, &mut sum);
        for (limb, values) in scheme.limbs().iter().zip(sum.chunks_exact_mut(N)) {
            values.iter_mut().for_each(|value| *value = limb.modulus().reduce(*value));
        }
        TemplateCiphertext::pack(&sum)
    }
}

impl PairCiphertext {
    /// Packs reduced residues, those of `c0` first.
    pub(crate) fn pack(values: &[u64]) -> PairCiphertext {
        PairCiphertext { packed: PackedBytes::pack(values) }
    }

    /// The canonical encoding: twice [`Scheme::template_bytes`].
    pub fn as_bytes(&self) -> &[u8] {
        self.packed.as_bytes()
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`CiphertextError`] for any other bytes.
    pub fn from_bytes(scheme: &Scheme, bytes: &[u8]) -> Result<PairCiphertext, CiphertextError> {
        PackedBytes::read(scheme, 2, bytes).map(|packed| PairCiphertext { packed })
    }

    /// The same ciphertext in a slot of `arena`, whose slots are twice [`Scheme::template_bytes`] long; none when it is
    /// full.
    pub fn stored_in(&self, arena: &Arena) -> Option<PairCiphertext> {
        self.packed.stored_in(arena).map(|packed| PairCiphertext { packed })
    }

    /// Subtracts a share from the encrypted template, which lives in `lane`. Adds no error beyond one unit per coefficient.
    ///
    /// # Panics
    /// If `lane` is above 31, or the ciphertext belongs to a scheme with other primes.
    pub fn subtract(&self, scheme: &Scheme, lane: usize, share: &Share) -> PairCiphertext {
        let mut values = self.packed.unpacked();
        subtract(scheme, lane, share, &mut values[..scheme.polynomial_words()]);
        PairCiphertext::pack(&values)
    }
}

/// Subtracts `Delta` times a share in `lane` from `c0`.
fn subtract(scheme: &Scheme, lane: usize, share: &Share, c0: &mut [u64]) {
    let mut message = Zeroizing::new(vec![0; N]);
    scheme.lanes().place_template(lane, share, &mut message);
    let no_error = vec![0; N];
    let mut scaled = Zeroizing::new(vec![0; N]);
    for (limb, values) in scheme.limbs().iter().zip(c0.chunks_exact_mut(N)) {
        limb.transform_scaled(&message, &no_error, &mut scaled);
        for (value, &part) in values.iter_mut().zip(scaled.iter()) {
            *value = limb.modulus().sub(*value, limb.modulus().reduce(part));
        }
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
