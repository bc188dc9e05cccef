//! The transform for AVX2 with FMA, where no instruction multiplies 64-bit integers: values are integers in doubles, four to
//! a vector, in four passes of three stages.
//!
//! A product `w b` is exact as the sum of its rounding `h` and the remainder `fma(w, b, -h)`. With `q < 2^47`, `|w| < q / 2`
//! and `|b| <= 11q < 2^51`, the double `b * (w / q)` is within 1/4 of the quotient, so rounding it leaves a product of at
//! most `3/4 q` in size, and every difference on the way is an integer below 2^53. A stage adds that much to a value,
//! and twelve stages at most `9q`. No step branches or reads memory by a value.

use super::avx2_residue::{real, word};
use crate::ntt::{Ntt, POINTS};
use std::arch::x86_64::{
    __m128i, __m256d, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm256_add_pd,
    _mm256_cvtepi32_pd, _mm256_fmsub_pd, _mm256_fnmadd_pd, _mm256_loadu_pd, _mm256_mul_pd,
    _mm256_permute2f128_pd, _mm256_round_pd, _mm256_set1_pd, _mm256_setzero_pd, _mm256_storeu_pd,
    _mm256_sub_pd, _mm256_unpackhi_pd, _mm256_unpacklo_pd,
};

/// 4096 values as vectors: words of integers at the ends, and of doubles in between.
type Vectors = [[u64; 4]; POINTS / 4];

/// A twiddle factor, at most `q / 2` in size, and its quotient by `q`.
type Twiddle = [__m256d; 2];

/// Multiples of q that make every result positive: nine for the stages, one for signed coefficients.
const OFFSET: f64 = 10.0;

#[target_feature(enable = "avx2,fma")]
pub(super) fn ntt_forward(ntt: &Ntt, x: &mut [u64; POINTS]) {
    let x = vectors(x);
    let (q, w) = (_mm256_set1_pd(ntt.q as f64), twiddles(ntt, 0));
    for j in 0..128 {
        let mut v = gather(x, j, 128);
        for v in &mut v {
            *v = real(*v);
        }
        radix_8(&mut v, &w, q);
        scatter(x, j, 128, &v);
    }
    later_passes(ntt, x);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn ntt_forward_small(ntt: &Ntt, x: &[i32; POINTS], out: &mut [u64; POINTS]) {
    let (small, out) = (x.as_chunks::<4>().0, vectors(out));
    let (q, w) = (_mm256_set1_pd(ntt.q as f64), twiddles(ntt, 0));
    for j in 0..128 {
        let mut v = [_mm256_setzero_pd(); 8];
        for (k, v) in v.iter_mut().enumerate() {
            *v = _mm256_cvtepi32_pd(load_small(&small[j + 128 * k]));
        }
        radix_8(&mut v, &w, q);
        scatter(out, j, 128, &v);
    }
    later_passes(ntt, out);
}

/// Stages 4 to 12: three with strides 256, 128, 64; then, within each group of 64, three with 32, 16, 8 and three on its
/// transpose.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn later_passes(ntt: &Ntt, x: &mut Vectors) {
    let q = _mm256_set1_pd(ntt.q as f64);
    for group in 0..8 {
        let w = twiddles(ntt, 8 + group);
        for j in 0..16 {
            let mut v = gather(x, 128 * group + j, 16);
            radix_8(&mut v, &w, q);
            scatter(x, 128 * group + j, 16, &v);
        }
    }
    for (group, x) in x.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        group_of_64(ntt, group, x, q);
    }
}

/// The last six stages of 64 adjacent values, eight rows of two vectors.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn group_of_64(ntt: &Ntt, group: usize, x: &mut [[u64; 4]; 16], q: __m256d) {
    let w = twiddles(ntt, 64 + group);
    let mut rows = [[0; 4]; 16];
    for j in 0..2 {
        let mut v = gather(x, j, 2);
        radix_8(&mut v, &w, q);
        scatter(&mut rows, j, 2, &v);
    }
    let offset = _mm256_set1_pd(OFFSET * ntt.q as f64);
    for half in 0..2 {
        // Lanes are rows from here on.
        let mut v = transposed(&rows, half);
        let mut w = [[q; 2]; 7];
        for (w, pair) in w.iter_mut().zip(&ntt.lanes[group]) {
            for (w, line) in w.iter_mut().zip(pair) {
                *w = load(&line.0.as_chunks::<4>().0[half]);
            }
        }
        radix_8(&mut v, &w, q);
        for v in &mut v {
            *v = word(_mm256_add_pd(*v, offset));
        }
        scatter(x, half, 2, &v);
    }
}

/// The twiddle factors of three stages from node `k` of the first: k; 2k, 2k + 1; 4k .. 4k + 3.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn twiddles(ntt: &Ntt, k: usize) -> [Twiddle; 7] {
    // Node 0 stands for the first stage, whose only factor is number 1.
    let k = k.max(1);
    let mut w = [[_mm256_setzero_pd(); 2]; 7];
    for (w, index) in w.iter_mut().zip([k, 2 * k, 2 * k + 1, 4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3]) {
        *w = ntt.broadcast[index].map(|word| _mm256_set1_pd(f64::from_bits(word)));
    }
    w
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn radix_8(v: &mut [__m256d; 8], w: &[Twiddle; 7], q: __m256d) {
    for k in 0..4 {
        butterfly(v, k, k + 4, &w[0], q);
    }
    for k in 0..2 {
        butterfly(v, k, k + 2, &w[1], q);
        butterfly(v, k + 4, k + 6, &w[2], q);
    }
    for k in 0..4 {
        butterfly(v, 2 * k, 2 * k + 1, &w[3 + k], q);
    }
}

/// `a + w b` and `a - w b`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn butterfly(v: &mut [__m256d; 8], a: usize, b: usize, [factor, quotient]: &Twiddle, q: __m256d) {
    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    let estimate = _mm256_round_pd::<NEAREST>(_mm256_mul_pd(v[b], *quotient));
    let rounded = _mm256_mul_pd(v[b], *factor);
    let remainder = _mm256_fmsub_pd(v[b], *factor, rounded);
    let product = _mm256_add_pd(_mm256_fnmadd_pd(estimate, q, rounded), remainder);
    v[b] = _mm256_sub_pd(v[a], product);
    v[a] = _mm256_add_pd(v[a], product);
}

/// Columns 0 to 7 of rows `4 half` to `4 half + 3`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn transposed(rows: &[[u64; 4]; 16], half: usize) -> [__m256d; 8] {
    let mut columns = [_mm256_setzero_pd(); 8];
    for side in 0..2 {
        let row = |k: usize| load(&rows[8 * half + 2 * k + side]);
        let (a, b, c, d) = (row(0), row(1), row(2), row(3));
        let (low, high) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
        let (low_2, high_2) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
        columns[4 * side] = _mm256_permute2f128_pd::<0x20>(low, low_2);
        columns[4 * side + 1] = _mm256_permute2f128_pd::<0x20>(high, high_2);
        columns[4 * side + 2] = _mm256_permute2f128_pd::<0x31>(low, low_2);
        columns[4 * side + 3] = _mm256_permute2f128_pd::<0x31>(high, high_2);
    }
    columns
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn gather(x: &[[u64; 4]], first: usize, stride: usize) -> [__m256d; 8] {
    let mut v = [_mm256_setzero_pd(); 8];
    for (k, v) in v.iter_mut().enumerate() {
        *v = load(&x[first + stride * k]);
    }
    v
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn scatter(x: &mut [[u64; 4]], first: usize, stride: usize, v: &[__m256d; 8]) {
    for (k, v) in v.iter().enumerate() {
        store(&mut x[first + stride * k], *v);
    }
}

fn vectors(x: &mut [u64; POINTS]) -> &mut Vectors {
    x.as_chunks_mut().0.try_into().expect("1024 vectors")
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load(words: &[u64; 4]) -> __m256d {
    // SAFETY: the reference covers the 32 bytes read, and the load has no alignment requirement.
    unsafe { _mm256_loadu_pd(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store(words: &mut [u64; 4], value: __m256d) {
    // SAFETY: the reference covers the 32 bytes written, and the store has no alignment requirement.
    unsafe { _mm256_storeu_pd(words.as_mut_ptr().cast(), value) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_small(x: &[i32; 4]) -> __m128i {
    // SAFETY: the reference covers the 16 bytes read, and the load has no alignment requirement.
    unsafe { _mm_loadu_si128(x.as_ptr().cast()) }
}
