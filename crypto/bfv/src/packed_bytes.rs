//! The bytes of a ciphertext, shared by clones: on the heap, or in a slot of an arena.

use crate::arena::{Arena, Slot};
use crate::ciphertext::{CiphertextError, check_reduced};
use crate::lines::Lines;
use crate::{Cpu, N, Scheme};
use std::sync::Arc;
use trefoil_kernels::packed::{self, RESIDUE_BYTES};

/// Polynomials in the NTT domain, 48 bits per residue.
#[derive(Clone)]
pub(crate) struct PackedBytes {
    place: Arc<Place>,
}

enum Place {
    Heap(Lines<u8>),
    Arena(Slot),
}

impl PackedBytes {
    /// Packs reduced residues.
    pub(crate) fn pack(values: &[u64]) -> PackedBytes {
        let mut bytes = Lines::new(RESIDUE_BYTES * values.len());
        packed::pack(Cpu::detected(), values, &mut bytes);
        PackedBytes::on_heap(bytes)
    }

    /// Reads exactly `polynomials` polynomials.
    pub(crate) fn read(
        scheme: &Scheme,
        polynomials: usize,
        bytes: &[u8],
    ) -> Result<PackedBytes, CiphertextError> {
        let expected = polynomials * scheme.template_bytes();
        if bytes.len() != expected {
            return Err(CiphertextError::Length { found: bytes.len(), expected });
        }
        let words = scheme.polynomial_words();
        let mut values = vec![0; words];
        for (i, polynomial) in bytes.chunks_exact(scheme.template_bytes()).enumerate() {
            packed::unpack(scheme.cpu(), polynomial, &mut values);
            check_reduced(scheme, &values, N).map_err(|at| CiphertextError::NotReduced(i * words + at))?;
        }
        Ok(PackedBytes::on_heap(Lines::of(bytes)))
    }

    fn on_heap(bytes: Lines<u8>) -> PackedBytes {
        PackedBytes { place: Arc::new(Place::Heap(bytes)) }
    }

    /// The same bytes in a slot of `arena`, if it has room.
    pub(crate) fn stored_in(&self, arena: &Arena) -> Option<PackedBytes> {
        let slot = arena.store(self.as_bytes())?;
        Some(PackedBytes { place: Arc::new(Place::Arena(slot)) })
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &*self.place {
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
}

impl PartialEq for PackedBytes {
    fn eq(&self, other: &PackedBytes) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for PackedBytes {}
