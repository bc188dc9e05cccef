//! The transform modulo 65537 for AVX-512: sixteen columns in registers.
//!
//! Two of a vector's words are reduced and multiplied by one instruction. As `2^16 = -1`, an integer `h 2^16 + l`, with `l` a signed
//! half word, is congruent to `l - h`; so its product with `w` is `l w - h w`: a dot product of half words.

use crate::fermat::{CENTRED_MAX, MODULUS, POINTS};
use crate::portable::{self, INVERSE_OF_POINTS, INVERSE_TWIDDLES};
use std::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_and_si512, _mm512_cmpgt_epi32_mask, _mm512_loadu_si512,
    _mm512_madd_epi16, _mm512_mask_sub_epi32, _mm512_set1_epi32, _mm512_setzero_si512, _mm512_srai_epi32,
    _mm512_storeu_si512, _mm512_sub_epi32, _mm512_xor_si512,
};

/// Columns of a vector.
const COLUMNS: usize = 16;

#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn interpolate_columns(matrix: &mut [i32]) {
    let columns = matrix.len() / POINTS;
    if !columns.is_multiple_of(COLUMNS) {
        return portable::interpolate_columns(matrix);
    }
    for first in (0..columns).step_by(COLUMNS) {
        let mut x = [_mm512_setzero_si512(); POINTS];
        for (row, x) in x.iter_mut().enumerate() {
            *x = load(matrix[row * columns + first..].first_chunk().expect("a row is whole vectors"));
        }
        interpolate(&mut x);
        for (row, x) in x.into_iter().enumerate() {
            store(matrix[row * columns + first..].first_chunk_mut().expect("a row is whole vectors"), x);
        }
    }
}

/// The portable twin's butterflies: three stages on eight rows at a time, then two on four. A stage doubles the bound on sums,
/// and products are brought back below 2^17: sums stay below 2^22, whose high half words are small.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn interpolate(x: &mut [__m512i; POINTS]) {
    for (group, x) in x.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        for k in 0..4 {
            butterfly(x, 2 * k, 2 * k + 1, INVERSE_TWIDDLES[16 + 4 * group + k]);
        }
        for k in 0..2 {
            butterfly(x, 4 * k, 4 * k + 2, INVERSE_TWIDDLES[8 + 2 * group + k]);
            butterfly(x, 4 * k + 1, 4 * k + 3, INVERSE_TWIDDLES[8 + 2 * group + k]);
        }
        for k in 0..4 {
            butterfly(x, k, k + 4, INVERSE_TWIDDLES[4 + group]);
        }
    }
    for k in 0..8 {
        let mut rows = [x[k], x[k + 8], x[k + 16], x[k + 24]];
        butterfly(&mut rows, 0, 1, INVERSE_TWIDDLES[2]);
        butterfly(&mut rows, 2, 3, INVERSE_TWIDDLES[3]);
        butterfly(&mut rows, 0, 2, INVERSE_TWIDDLES[1]);
        butterfly(&mut rows, 1, 3, INVERSE_TWIDDLES[1]);
        for (i, row) in rows.into_iter().enumerate() {
            x[k + 8 * i] = centred(times(row, INVERSE_OF_POINTS));
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn butterfly(x: &mut [__m512i], a: usize, b: usize, factor: i32) {
    let difference = _mm512_sub_epi32(x[a], x[b]);
    x[a] = _mm512_add_epi32(x[a], x[b]);
    x[b] = folded(times(difference, factor));
}

/// A number of less than 2^31 congruent to `x * factor`, for `x` below 2^29 in size and a centred factor.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn times(x: __m512i, factor: i32) -> __m512i {
    // A half word holds every centred factor and its opposite but for 2^15.
    let (x, factor) =
        if factor.abs() == CENTRED_MAX { (_mm512_add_epi32(x, x), factor / 2) } else { (x, factor) };
    // Adding 2^15 carries into the high half exactly when the low one is negative as a signed number; the xor takes it out of
    // the low half again.
    let offset = _mm512_set1_epi32(1 << 15);
    let halves = _mm512_xor_si512(_mm512_add_epi32(x, offset), offset);
    let factors = (factor & 0xffff) | (factor.wrapping_neg() << 16);
    _mm512_madd_epi16(halves, _mm512_set1_epi32(factors))
}

/// A congruent number between -2^15 and 2^16 + 2^15.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn folded(x: __m512i) -> __m512i {
    _mm512_sub_epi32(_mm512_and_si512(x, _mm512_set1_epi32(0xffff)), _mm512_srai_epi32::<16>(x))
}

/// The centred residue.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn centred(x: __m512i) -> __m512i {
    let x = folded(x);
    let above = _mm512_cmpgt_epi32_mask(x, _mm512_set1_epi32(CENTRED_MAX));
    _mm512_mask_sub_epi32(x, above, x, _mm512_set1_epi32(MODULUS))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &[i32; COLUMNS]) -> __m512i {
    // SAFETY: the reference covers the 64 bytes read, and the load has no alignment requirement.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(words: &mut [i32; COLUMNS], value: __m512i) {
    // SAFETY: the reference covers the 64 bytes written, and the store has no alignment requirement.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), value) }
}
