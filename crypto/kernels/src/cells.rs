//! Words that threads share, read and written four at a time.
//!
//! Each function does what relaxed loads or stores of the four words would do, one by one and in no particular order, and
//! the portable twin is just that. Compilers do not join atomic accesses into vectors; here one instruction is for all
//! four, on processors where each aligned word of a vector is accessed at once.

use std::sync::atomic::AtomicU64;

/// Words that are read together.
pub const WORDS: usize = 4;

/// A copy of `cells`. Each word is one that was stored there; two may be of different stores.
#[inline(always)]
#[must_use]
pub fn load(cells: &[AtomicU64; WORDS]) -> [u64; WORDS] {
    #[cfg(all(target_arch = "x86_64", target_feature = "avx2", not(miri)))]
    return crate::arch::cells::load(cells);
    #[cfg(not(all(target_arch = "x86_64", target_feature = "avx2", not(miri))))]
    portable::load(cells)
}

/// Stores `words` in `cells`.
#[inline(always)]
pub fn store(cells: &[AtomicU64; WORDS], words: &[u64; WORDS]) {
    #[cfg(all(target_arch = "x86_64", target_feature = "avx2", not(miri)))]
    crate::arch::cells::store(cells, words);
    #[cfg(not(all(target_arch = "x86_64", target_feature = "avx2", not(miri))))]
    portable::store(cells, words);
}

/// Whether `cells` are `words`, read as [`load`] reads them.
#[inline(always)]
#[must_use]
pub fn are(cells: &[AtomicU64; WORDS], words: &[u64; WORDS]) -> bool {
    #[cfg(all(target_arch = "x86_64", target_feature = "avx2", not(miri)))]
    return crate::arch::cells::are(cells, words);
    #[cfg(not(all(target_arch = "x86_64", target_feature = "avx2", not(miri))))]
    portable::are(cells, words)
}

/// Which of the 32 bytes in `cells` are `byte`: bit `8w + i` stands for bits `8i` to `8i + 7` of word `w`.
#[inline(always)]
#[must_use]
pub fn bytes_that_are(cells: &[AtomicU64; WORDS], byte: u8) -> u32 {
    #[cfg(all(target_arch = "x86_64", target_feature = "avx2", not(miri)))]
    return crate::arch::cells::bytes_that_are(cells, byte);
    #[cfg(not(all(target_arch = "x86_64", target_feature = "avx2", not(miri))))]
    portable::bytes_that_are(cells, byte)
}

#[cfg_attr(all(target_arch = "x86_64", target_feature = "avx2", not(miri)), cfg(test))]
mod portable;

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(bytes: [u8; 32]) -> [AtomicU64; WORDS] {
        std::array::from_fn(|word| AtomicU64::new(u64::from_le_bytes(bytes.as_chunks::<8>().0[word])))
    }

    /// All positions, and bytes that differ from the wanted one in each single bit beside it.
    #[test]
    fn both_twins_find_a_byte_wherever_it_is() {
        let bytes: &[u8] = if cfg!(miri) { &[0, 0x80] } else { &[0, 1, 0x7F, 0x80, 0xFF, 0x5A] };
        for &byte in bytes {
            for bit in (0..8).step_by(if cfg!(miri) { 7 } else { 1 }) {
                for place in 0..32 {
                    let mut bytes = [byte ^ 1 << bit; 32];
                    bytes[place] = byte;
                    bytes[(place + 5) % 32] = byte;
                    let expected = 1 << place | 1 << ((place + 5) % 32);
                    let cells = cells(bytes);
                    assert_eq!(portable::bytes_that_are(&cells, byte), expected, "{byte} {bit} {place}");
                    assert_eq!(bytes_that_are(&cells, byte), expected, "{byte} {bit} {place}");
                }
            }
        }
    }

    #[test]
    fn both_twins_copy_and_compare_every_bit() {
        let bytes = std::array::from_fn(|i| (37 * i + 11) as u8);
        let (same, words) = (cells(bytes), portable::load(&cells(bytes)));
        assert_eq!(load(&same), words);
        let (copy, twin) = (cells([0; 32]), cells([0; 32]));
        store(&copy, &words);
        portable::store(&twin, &words);
        assert_eq!((portable::load(&copy), portable::load(&twin)), (words, words));
        assert!(are(&same, &words) && portable::are(&same, &words));
        for bit in (0..256).step_by(if cfg!(miri) { 15 } else { 1 }) {
            let mut other = bytes;
            other[bit / 8] ^= 1 << (bit % 8);
            let cells = cells(other);
            assert!(!are(&cells, &words) && !portable::are(&cells, &words), "{bit}");
            assert_eq!(load(&cells), portable::load(&cells));
        }
    }
}
