//! Four shared words in one vector. AVX2 is part of the floor that the program is compiled for.

use crate::cells::WORDS;
use std::arch::asm;
use std::arch::x86_64::*;
use std::sync::atomic::AtomicU64;

/// Makes each listed function callable from code compiled for the baseline only.
macro_rules! on_the_floor {
    ($($function:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            #[inline(always)]
            pub(crate) fn $function($($argument: $type),*) $(-> $result)? {
                // SAFETY: AVX2 is enabled wherever this is compiled.
                unsafe { avx2::$function($($argument),*) }
            }
        )*
    };
}
pub(super) use on_the_floor;

on_the_floor! {
    load(cells: &[AtomicU64; WORDS]) -> [u64; WORDS];
    store(cells: &[AtomicU64; WORDS], words: &[u64; WORDS]);
    are(cells: &[AtomicU64; WORDS], words: &[u64; WORDS]) -> bool;
    bytes_that_are(cells: &[AtomicU64; WORDS], byte: u8) -> u32;
}

pub(super) mod avx2 {
    use super::*;

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in crate::arch) fn vector(cells: &[AtomicU64; WORDS]) -> __m256i {
        let vector;
        // SAFETY: reads the 32 bytes of `cells` and nothing else; assembly, because these are four relaxed atomic loads:
        // processors read each aligned word of a vector at once.
        unsafe {
            asm!(
                "vmovdqu {vector}, [{cells}]",
                vector = lateout(ymm_reg) vector,
                cells = in(reg) cells,
                options(readonly, nostack, preserves_flags),
            );
        }
        vector
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in crate::arch) fn store_vector(cells: &[AtomicU64; WORDS], vector: __m256i) {
        // SAFETY: writes the 32 bytes of `cells` and nothing else, as four relaxed atomic stores would.
        unsafe {
            asm!(
                "vmovdqu [{cells}], {vector}",
                vector = in(ymm_reg) vector,
                cells = in(reg) cells,
                options(nostack, preserves_flags),
            );
        }
    }

    /// The words as a vector.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of_words(words: &[u64; WORDS]) -> __m256i {
        // SAFETY: both are 32 bytes of which every pattern is a value.
        unsafe { std::mem::transmute(*words) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn load(cells: &[AtomicU64; WORDS]) -> [u64; WORDS] {
        let vector = vector(cells);
        // SAFETY: both are 32 bytes of which every pattern is a value.
        unsafe { std::mem::transmute(vector) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn store(cells: &[AtomicU64; WORDS], words: &[u64; WORDS]) {
        store_vector(cells, of_words(words));
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn are(cells: &[AtomicU64; WORDS], words: &[u64; WORDS]) -> bool {
        equal_bytes(vector(cells), of_words(words)) == u32::MAX
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn bytes_that_are(cells: &[AtomicU64; WORDS], byte: u8) -> u32 {
        equal_bytes(vector(cells), _mm256_set1_epi8(byte as i8))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn equal_bytes(a: __m256i, b: __m256i) -> u32 {
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b)) as u32
    }
}
