//! The transform for AVX-512 with IFMA: four passes of three stages, eight vectors in registers at a time.

use super::ask_ahead;
use super::avx512::{load, store};
use crate::ntt::{Ntt, POINTS};
use crate::packed::Ahead;
use std::arch::x86_64::{
    __m256i, __m512i, _mm256_loadu_si256, _mm512_add_epi64, _mm512_and_si512, _mm512_cvtepi32_epi64,
    _mm512_madd52hi_epu64, _mm512_madd52lo_epu64, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_shuffle_i64x2, _mm512_sub_epi64, _mm512_unpackhi_epi64, _mm512_unpacklo_epi64,
};

/// 4096 values as vectors.
type Vectors = [[u64; 8]; POINTS / 8];

/// A twiddle factor, and how often q goes into 2^52 times it.
type Twiddle = [__m512i; 2];

/// The constants of every butterfly besides its twiddle factor.
#[derive(Clone, Copy)]
struct Prime {
    one: __m512i,
    /// `2^52 - q`: its products have the low halves of those of `-q`.
    negative: __m512i,
    low_52: __m512i,
}

/// Multiples of q that are added to every coefficient, so that after twelve stages, each of which subtracts at most q,
/// values are not negative: a stage then need not add anything. Signed coefficients get one more.
const OFFSET: u64 = 12;

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn ntt_forward(ntt: &Ntt, x: &mut [u64; POINTS]) {
    let x = vectors(x);
    let (prime, w) = (Prime::new(ntt.q), twiddles(ntt, 0));
    let offset = _mm512_set1_epi64((OFFSET * ntt.q) as i64);
    for j in 0..64 {
        let mut v = gather(x, j, 64);
        for v in &mut v {
            *v = _mm512_add_epi64(*v, offset);
        }
        radix_8(&mut v, &w, prime);
        scatter(x, j, 64, &v);
    }
    later_passes(ntt, x, &mut Ahead::none());
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn ntt_forward_small(
    ntt: &Ntt,
    x: &[i32; POINTS],
    out: &mut [u64; POINTS],
    ahead: &mut Ahead<'_>,
) {
    let (small, out) = (x.as_chunks::<8>().0, vectors(out));
    let (prime, w) = (Prime::new(ntt.q), twiddles(ntt, 0));
    let offset = _mm512_set1_epi64(((OFFSET + 1) * ntt.q) as i64);
    for j in 0..64 {
        let mut v = [_mm512_setzero_si512(); 8];
        ask_ahead(ahead, 1);
        for (k, v) in v.iter_mut().enumerate() {
            *v = _mm512_add_epi64(_mm512_cvtepi32_epi64(load_half(&small[j + 64 * k])), offset);
        }
        radix_8(&mut v, &w, prime);
        scatter(out, j, 64, &v);
    }
    later_passes(ntt, out, ahead);
}

/// Stages 4 to 12: three with strides 256, 128, 64, three with 32, 16, 8, and three within vectors, after a transposition.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn later_passes(ntt: &Ntt, x: &mut Vectors, ahead: &mut Ahead<'_>) {
    let prime = Prime::new(ntt.q);
    for group in 0..8 {
        let w = twiddles(ntt, 8 + group);
        for j in 0..8 {
            ask_ahead(ahead, 1);
            let mut v = gather(x, 64 * group + j, 8);
            radix_8(&mut v, &w, prime);
            scatter(x, 64 * group + j, 8, &v);
        }
    }
    for (group, lanes) in ntt.lanes.iter().enumerate() {
        ask_ahead(ahead, 2);
        let mut v = gather(x, 8 * group, 1);
        radix_8(&mut v, &twiddles(ntt, 64 + group), prime);
        v = transposed(&v);
        let mut w = [[prime.one; 2]; 7];
        for (w, [factor, quotient]) in w.iter_mut().zip(lanes) {
            *w = [load(&factor.0), load(&quotient.0)];
        }
        radix_8(&mut v, &w, prime);
        for v in &mut v {
            *v = _mm512_and_si512(*v, prime.low_52);
        }
        scatter(x, 8 * group, 1, &v);
    }
}

/// The twiddle factors of three stages from node `k` of the first: k; 2k, 2k + 1; 4k .. 4k + 3.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn twiddles(ntt: &Ntt, k: usize) -> [Twiddle; 7] {
    // Node 0 stands for the first stage, whose only factor is number 1.
    let k = k.max(1);
    let mut w = [[_mm512_setzero_si512(); 2]; 7];
    for (w, index) in w.iter_mut().zip([k, 2 * k, 2 * k + 1, 4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3]) {
        *w = ntt.broadcast[index].map(|word| _mm512_set1_epi64(word as i64));
    }
    w
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn radix_8(v: &mut [__m512i; 8], w: &[Twiddle; 7], prime: Prime) {
    for k in 0..4 {
        butterfly(v, k, k + 4, &w[0], prime);
    }
    for k in 0..2 {
        butterfly(v, k, k + 2, &w[1], prime);
        butterfly(v, k + 4, k + 6, &w[2], prime);
    }
    for k in 0..4 {
        butterfly(v, 2 * k, 2 * k + 1, &w[3 + k], prime);
    }
}

/// `a + w b` and `a - w b`, of which only the low 52 bits count: the multiplier looks at no others, and the last pass clears
/// them. The estimate of the quotient `w b / q` is at most one above it and less than one below, because the factor's own is
/// short by less than one and `b` is below 2^52. So what remains of `w b` is in -q..q as it is.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn butterfly(v: &mut [__m512i; 8], a: usize, b: usize, [factor, quotient]: &Twiddle, prime: Prime) {
    let estimate = _mm512_madd52hi_epu64(prime.one, v[b], *quotient);
    let product = _mm512_madd52lo_epu64(v[a], v[b], *factor);
    let sum = _mm512_madd52lo_epu64(product, estimate, prime.negative);
    v[b] = _mm512_sub_epi64(_mm512_add_epi64(v[a], v[a]), sum);
    v[a] = sum;
}

impl Prime {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(q: u64) -> Prime {
        Prime {
            one: _mm512_set1_epi64(1),
            negative: _mm512_set1_epi64(((1 << 52) - q) as i64),
            low_52: _mm512_set1_epi64((1 << 52) - 1),
        }
    }
}

/// Rows to columns of an 8 by 8 matrix.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn transposed(v: &[__m512i; 8]) -> [__m512i; 8] {
    // Pairs of rows, then of pairs: x[i] and x[i + 4] end with the even and odd quarters of rows 0..4 and 4..8.
    let low = |i: usize| _mm512_unpacklo_epi64(v[i], v[i + 1]);
    let high = |i: usize| _mm512_unpackhi_epi64(v[i], v[i + 1]);
    let pairs = [[low(0), low(2), low(4), low(6)], [high(0), high(2), high(4), high(6)]];
    let mut columns = [v[0]; 8];
    for (odd, [a, b, c, d]) in pairs.into_iter().enumerate() {
        let (top_even, top_odd) = (_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0xdd>(a, b));
        let (low_even, low_odd) = (_mm512_shuffle_i64x2::<0x88>(c, d), _mm512_shuffle_i64x2::<0xdd>(c, d));
        columns[odd] = _mm512_shuffle_i64x2::<0x88>(top_even, low_even);
        columns[odd + 4] = _mm512_shuffle_i64x2::<0xdd>(top_even, low_even);
        columns[odd + 2] = _mm512_shuffle_i64x2::<0x88>(top_odd, low_odd);
        columns[odd + 6] = _mm512_shuffle_i64x2::<0xdd>(top_odd, low_odd);
    }
    columns
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn gather(x: &Vectors, first: usize, stride: usize) -> [__m512i; 8] {
    let mut v = [_mm512_setzero_si512(); 8];
    for (k, v) in v.iter_mut().enumerate() {
        *v = load(&x[first + stride * k]);
    }
    v
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn scatter(x: &mut Vectors, first: usize, stride: usize, v: &[__m512i; 8]) {
    for (k, v) in v.iter().enumerate() {
        store(&mut x[first + stride * k], *v);
    }
}

fn vectors(x: &mut [u64; POINTS]) -> &mut Vectors {
    x.as_chunks_mut().0.try_into().expect("512 vectors")
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_half(x: &[i32; 8]) -> __m256i {
    // SAFETY: the reference covers the 32 bytes read, and the load has no alignment requirement.
    unsafe { _mm256_loadu_si256(x.as_ptr().cast()) }
}
