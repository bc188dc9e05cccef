//! Residues below 2^48 packed into six bytes each, little-endian.

use crate::{Cpu, dispatch};

/// Bytes per packed residue.
pub const RESIDUE_BYTES: usize = 6;

/// Most sources of one [`sum`]: 32 residues below 2^47 stay below 2^52, which [`crate::residue::fold`] takes.
pub const SOURCES_MAX: usize = 32;

/// Sources that are read at the same time.
pub(crate) const STREAMS: usize = 4;

/// Packs `values`, each below 2^48 (higher bits are lost), into `bytes`.
///
/// # Panics
/// Unless `bytes` is six times as long as `values`.
pub fn pack(values: &[u64], bytes: &mut [u8]) {
    assert_eq!(bytes.len(), RESIDUE_BYTES * values.len());
    for (six, value) in bytes.as_chunks_mut::<RESIDUE_BYTES>().0.iter_mut().zip(values) {
        debug_assert!(*value < 1 << 48);
        six.copy_from_slice(&value.to_le_bytes()[..RESIDUE_BYTES]);
    }
}

/// Unpacks `bytes` into `values`.
///
/// # Panics
/// Unless `bytes` is six times as long as `values`.
pub fn unpack(bytes: &[u8], values: &mut [u64]) {
    assert_eq!(bytes.len(), RESIDUE_BYTES * values.len());
    for (value, six) in values.iter_mut().zip(bytes.as_chunks().0) {
        *value = crate::portable::residue(six);
    }
}

/// Words of a tile of [`sum`]: their sums (16 KiB) and four pieces of sources (12 KiB each) fit the first two levels of
/// the cache, so that only sources move.
const TILE: usize = 2048;

/// Sums packed polynomials without reduction: `acc[i] = sum over s of sources[s][i]`.
///
/// Memory-bound when the sources are in main memory, so it reads four of them at a time: the prefetchers follow
/// four streams well, one leaves bandwidth unused and 32 are more than they track. The vector tiers also ask for lines
/// ahead of use, across pages and from each group of four to the next, where the processor's own prefetchers stop.
///
/// # Panics
/// Unless there are at most [`SOURCES_MAX`] sources, each six times as long as `acc`, whose length is a multiple of 8.
pub fn sum(cpu: Cpu, sources: &[&[u8]], acc: &mut [u64]) {
    assert!(sources.len() <= SOURCES_MAX);
    assert!(acc.len().is_multiple_of(8));
    assert!(sources.iter().all(|source| source.len() == RESIDUE_BYTES * acc.len()));
    let (groups, rest) = sources.as_chunks::<STREAMS>();
    for (tile, acc) in acc.chunks_mut(TILE).enumerate() {
        let start = tile * TILE * RESIDUE_BYTES;
        let bytes = start..start + RESIDUE_BYTES * acc.len();
        acc.fill(0);
        for (i, group) in groups.iter().enumerate() {
            // After the last group the next tile of the first one.
            let coming = match groups.get(i + 1) {
                Some(next) => next.map(|source| &source[bytes.clone()]),
                None => groups[0].map(|source| &source[bytes.end..]),
            };
            dispatch!(cpu, add_packed(group.map(|source| &source[bytes.clone()]), coming, acc));
        }
        rest.iter().for_each(|source| dispatch!(cpu, add_packed_1(&source[bytes.clone()], acc)));
    }
}
