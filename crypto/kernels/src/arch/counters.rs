//! Four rows of counters in the lanes of a vector. AVX2 is part of the floor that the program is compiled for.

use super::cells::on_the_floor;
use crate::counters::{COUNTERS, Line, MAX_COUNT};
use std::arch::x86_64::*;

on_the_floor! { raise(line: &Line, picks: u32, more: u8, floor: u8) -> u8; }

mod avx2 {
    use super::super::cells::avx2::{store_vector, vector};
    use super::*;

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn raise(line: &Line, picks: u32, more: u8, floor: u8) -> u8 {
        let byte = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(picks as i32));
        let [a, b, c, d] = COUNTERS.map(|counters| counters as i64 / 4);
        let counter = _mm256_srli_epi64::<6>(_mm256_mul_epu32(byte, _mm256_set_epi64x(d, c, b, a)));
        let second = _mm256_cmpgt_epi64(counter, _mm256_set1_epi64x(15));
        let shift = _mm256_and_si256(_mm256_slli_epi64::<2>(counter), _mm256_set1_epi64x(60));

        let [low, high] = [vector(&line.0[0]), vector(&line.0[1])];
        let word = _mm256_blendv_epi8(low, high, second);
        let count = _mm256_and_si256(_mm256_srlv_epi64(word, shift), _mm256_set1_epi64x(15));
        let least = _mm256_min_epu32(count, _mm256_permute4x64_epi64::<0b01_00_11_10>(count));
        let least = _mm256_min_epu32(least, _mm256_shuffle_epi32::<0b01_00_11_10>(least));
        let raised = _mm256_add_epi32(least, _mm256_set1_epi64x(more.into()));
        let raised = _mm256_max_epu32(raised, _mm256_set1_epi64x(floor.into()));
        let raised = _mm256_min_epu32(raised, _mm256_set1_epi64x(MAX_COUNT.into()));
        let rise = _mm256_sllv_epi64(_mm256_sub_epi64(_mm256_max_epu32(count, raised), count), shift);
        store_vector(&line.0[0], _mm256_add_epi64(low, _mm256_andnot_si256(second, rise)));
        store_vector(&line.0[1], _mm256_add_epi64(high, _mm256_and_si256(second, rise)));
        _mm_cvtsi128_si32(_mm256_castsi256_si128(raised)) as u8
    }
}
