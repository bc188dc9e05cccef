//! Ciphertexts at rest, packed to 48 bits per residue, in the NTT domain.

use crate::arena::Slot;
use crate::lines::Lines;
use crate::{Arena, Cpu, N, Scheme, Share};
use std::sync::Arc;
use trefoil_kernels::packed::{self, RESIDUE_BYTES};
use zeroize::Zeroizing;

/// The polynomials of a ciphertext, `c0` first, shared by clones: on the heap, or in a slot of an arena.
#[derive(Clone)]
pub struct Ciphertext<const POLYNOMIALS: usize>(Arc<Place>);

/// A template under a key of its own: the polynomial `c0`. `c1` is the tenant's public basis.
pub type TemplateCiphertext = Ciphertext<1>;

/// A template, or the key-holder's share of a batch of probes, under the tenant's key: `c0` and `c1`.
pub type PairCiphertext = Ciphertext<2>;

enum Place {
    Heap(Lines<u8>),
    Arena(Slot),
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

impl<const POLYNOMIALS: usize> Ciphertext<POLYNOMIALS> {
    /// Packs reduced residues.
    pub(crate) fn pack(values: &[u64]) -> Self {
        let mut bytes = Lines::new(RESIDUE_BYTES * values.len());
        packed::pack(Cpu::detected(), values, &mut bytes);
        Ciphertext(Arc::new(Place::Heap(bytes)))
    }

    /// The canonical encoding: [`Scheme::template_bytes`] for each polynomial.
    pub fn as_bytes(&self) -> &[u8] {
        match &*self.0 {
            Place::Heap(bytes) => bytes,
            Place::Arena(slot) => slot.bytes(),
        }
    }

    /// The residues.
    pub(crate) fn unpacked(&self) -> Vec<u64> {
        let mut values = vec![0; self.as_bytes().len() / RESIDUE_BYTES];
        packed::unpack(Cpu::detected(), self.as_bytes(), &mut values);
        values
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`CiphertextError`] for any other bytes.
    pub fn from_bytes(scheme: &Scheme, bytes: &[u8]) -> Result<Self, CiphertextError> {
        let expected = POLYNOMIALS * scheme.template_bytes();
        if bytes.len() != expected {
            return Err(CiphertextError::Length { found: bytes.len(), expected });
        }
        let words = scheme.polynomial_words();
        let mut values = vec![0; words];
        for (i, polynomial) in bytes.chunks_exact(scheme.template_bytes()).enumerate() {
            packed::unpack(scheme.cpu(), polynomial, &mut values);
            check_reduced(scheme, &values, N).map_err(|at| CiphertextError::NotReduced(i * words + at))?;
        }
        Ok(Ciphertext(Arc::new(Place::Heap(Lines::of(bytes)))))
    }

    /// The same ciphertext in a slot of `arena`, whose slots are as long as it; none when it is full.
    pub fn stored_in(&self, arena: &Arena) -> Option<Self> {
        arena.store(self.as_bytes()).map(|slot| Ciphertext(Arc::new(Place::Arena(slot))))
    }

    /// Subtracts a share from the encrypted template, which lives in `lane`. Adds no error beyond one unit per coefficient.
    ///
    /// # Panics
    /// If `lane` is above 31, or the ciphertext belongs to a scheme with other primes.
    #[must_use]
    pub fn subtract(&self, scheme: &Scheme, lane: usize, share: &Share) -> Self {
        let mut values = self.unpacked();
        let mut message = Zeroizing::new(vec![0; N]);
        scheme.lanes().place_template(lane, share, &mut message);
        let no_error = vec![0; N];
        let mut scaled = Zeroizing::new(vec![0; N]);
        for (limb, values) in scheme.limbs().iter().zip(values.chunks_exact_mut(N)) {
            limb.transform_scaled(&message, &no_error, &mut scaled);
            for (value, &part) in values.iter_mut().zip(scaled.iter()) {
                *value = limb.modulus().sub(*value, limb.modulus().reduce(part));
            }
        }
        Self::pack(&values)
    }
}

impl<const POLYNOMIALS: usize> PartialEq for Ciphertext<POLYNOMIALS> {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl<const POLYNOMIALS: usize> Eq for Ciphertext<POLYNOMIALS> {}

impl TemplateCiphertext {
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
