//! Values the cache can hold: plain data with a fixed encoding in 64-bit words.
//!
//! The engine reads a value while another thread may be overwriting it, and discards what it read
//! when that happened (a sequence lock). In safe Rust such a read is possible only if every word is
//! an atomic, so a value says how it maps to words. The size is part of the type: a value and its
//! storage cannot disagree about it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use trefoil_kernels::cells;

/// Plain data with a fixed-size encoding.
///
/// `from_words(&v.to_words())` must equal `v`. `from_words` is only ever given words that one
/// `to_words` call produced, never a mixture of two.
pub trait Value: Copy + Send + Sync + 'static {
    /// The encoding: `[u64; N]`.
    type Words: Words;

    /// Encodes the value.
    fn to_words(&self) -> Self::Words;

    /// Decodes what [`Value::to_words`] produced.
    fn from_words(words: &Self::Words) -> Self;
}

/// An array `[u64; N]`, and the array of atomics that stores it.
pub trait Words: Copy + Send + Sync + 'static + sealed::Sealed {
    /// `[AtomicU64; N]`.
    #[doc(hidden)]
    type Cells: Send + Sync + 'static;

    /// Zeroed storage.
    #[doc(hidden)]
    fn zeroed() -> Self::Cells;

    /// Copies the words out with relaxed loads.
    #[doc(hidden)]
    fn load(cells: &Self::Cells) -> Self;

    /// Reads one word of each cache line of storage that begins with a line.
    #[doc(hidden)]
    fn touch(cells: &Self::Cells) -> u64;

    /// Copies the words in with relaxed stores.
    #[doc(hidden)]
    fn store(&self, cells: &Self::Cells);

    /// Overwrites the storage with zeros.
    #[doc(hidden)]
    fn wipe(cells: &Self::Cells);
}

const WORDS_PER_LINE: usize = 8;

mod sealed {
    #[allow(unreachable_pub, reason = "names a supertrait of a public trait")]
    pub trait Sealed {}
    impl<const N: usize> Sealed for [u64; N] {}
}

impl<const N: usize> Words for [u64; N] {
    type Cells = [AtomicU64; N];

    fn zeroed() -> Self::Cells {
        std::array::from_fn(|_| AtomicU64::new(0))
    }

    #[inline(always)]
    fn load(cells: &Self::Cells) -> Self {
        let mut words = [0; N];
        let (fours, rest) = words.as_chunks_mut::<{ cells::WORDS }>();
        let (cell_fours, cell_rest) = cells.as_chunks::<{ cells::WORDS }>();
        for (words, cells) in fours.iter_mut().zip(cell_fours) {
            *words = cells::load(cells);
        }
        for (word, cell) in rest.iter_mut().zip(cell_rest) {
            *word = cell.load(Relaxed);
        }
        words
    }

    #[inline(always)]
    fn touch(cells: &Self::Cells) -> u64 {
        cells.iter().step_by(WORDS_PER_LINE).fold(0, |sum, cell| sum ^ cell.load(Relaxed))
    }

    #[inline(always)]
    fn store(&self, cells: &Self::Cells) {
        for (cell, word) in cells.iter().zip(self) {
            cell.store(*word, Relaxed);
        }
    }

    fn wipe(cells: &Self::Cells) {
        for cell in cells {
            cell.store(0, Relaxed);
        }
    }
}

/// Packs bytes into little-endian words; the unused tail is zero.
///
/// A value with byte-array fields lays them out in one buffer and packs that.
///
/// # Panics
/// If `bytes` is longer than `8 * N`: the encoding's size was declared too small.
#[must_use]
#[inline(always)]
pub fn pack<const N: usize>(bytes: &[u8]) -> [u64; N] {
    assert!(bytes.len() <= 8 * N, "{} bytes do not fit {N} words", bytes.len());
    let mut words = [0; N];
    for (word, chunk) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut le = [0; 8];
        le[..chunk.len()].copy_from_slice(chunk);
        *word = u64::from_le_bytes(le);
    }
    words
}

/// Unpacks what [`pack`] packed.
///
/// # Panics
/// If `B > 8 * N`.
#[must_use]
#[inline]
pub fn unpack<const N: usize, const B: usize>(words: &[u64; N]) -> [u8; B] {
    assert!(B <= 8 * N, "{B} bytes are more than {N} words hold");
    let mut bytes = [0; B];
    for (chunk, word) in bytes.chunks_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_reversible_at_every_tail_length() {
        let bytes: [u8; 16] = std::array::from_fn(|i| i as u8 + 1);
        assert_eq!(unpack::<2, 16>(&pack(&bytes)), bytes);
        assert_eq!(unpack::<2, 9>(&pack(&bytes[..9])), bytes[..9]);
        assert_eq!(pack::<2>(&bytes[..3]), [0x0003_0201, 0]);
        assert_eq!(pack::<1>(&[]), [0]);
    }

    #[test]
    #[should_panic(expected = "9 bytes do not fit 1 words")]
    fn packing_refuses_a_short_encoding() {
        let _ = pack::<1>(&[0; 9]);
    }
}
