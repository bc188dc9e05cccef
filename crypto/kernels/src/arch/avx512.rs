//! Kernels for AVX-512 with VBMI, VBMI2, IFMA and VPOPCNTDQ.

use super::recompiled;
use crate::sample::TRITS_BOUND;
use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_si512, _mm512_cmplt_epu8_mask, _mm512_loadu_si512,
    _mm512_madd52hi_epu64, _mm512_madd52lo_epu64, _mm512_maskz_compress_epi8, _mm512_maskz_loadu_epi8,
    _mm512_maskz_permutexvar_epi8, _mm512_min_epu64, _mm512_reduce_add_epi64, _mm512_set1_epi8,
    _mm512_set1_epi64, _mm512_setzero_si512, _mm512_storeu_si512, _mm512_sub_epi64,
};

recompiled! { "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq":
    lift(q: u64, x: &[i32], out: &mut [u64]);
    centred_binomial_21(random: &[u8], out: &mut [i32]);
    add_ternary(bytes: &[u8], scale: i32, acc: &mut [i32]);
    interpolate_columns(matrix: &mut [i32]);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn add_packed_4(sources: [&[u8]; 4], acc: &mut [u64]) {
    add_packed(sources, acc);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn add_packed_1(sources: [&[u8]; 1], acc: &mut [u64]) {
    add_packed(sources, acc);
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn add_packed<const STREAMS: usize>(sources: [&[u8]; STREAMS], acc: &mut [u64]) {
    let order = load_bytes(&SPREAD);
    let acc = acc.as_chunks_mut::<8>().0;
    let sources = sources.map(|source| &source.as_chunks::<48>().0[..acc.len()]);
    for (i, sum) in acc.iter_mut().enumerate() {
        let mut total = load(sum);
        for source in sources {
            // Bytes 6 and 7 of each word stay zero.
            let words = _mm512_maskz_permutexvar_epi8(0x3f3f_3f3f_3f3f_3f3f, order, load_48(&source[i]));
            total = _mm512_add_epi64(total, words);
        }
        store(sum, total);
    }
}

/// Byte `k` of word `e` comes from byte `6e + k` of the packed residues; places 6 and 7 are masked out.
const SPREAD: [u8; 64] = {
    let mut order = [0; 64];
    let mut place = 0;
    while place < 64 {
        if place % 8 < 6 {
            order[place] = (place / 8 * 6 + place % 8) as u8;
        }
        place += 1;
    }
    order
};

/// IFMA multiplies 52-bit operands and adds the low or high 52 bits of the product to a 64-bit word. A lane takes at
/// most 4096 / 8 products, so both sums stay below 2^61, also when the eight lanes are added.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn fold(x: &[u64], y: &[u64], out: &mut [u128]) {
    let block = x.len() / out.len();
    for ((sum, x), y) in out.iter_mut().zip(x.chunks_exact(block)).zip(y.chunks_exact(block)) {
        // Two pairs of accumulators hide half of the multiplier's latency.
        let mut low = [_mm512_setzero_si512(); 2];
        let mut high = [_mm512_setzero_si512(); 2];
        for (i, (x, y)) in x.as_chunks::<8>().0.iter().zip(y.as_chunks::<8>().0).enumerate() {
            let (x, y) = (load(x), load(y));
            low[i % 2] = _mm512_madd52lo_epu64(low[i % 2], x, y);
            high[i % 2] = _mm512_madd52hi_epu64(high[i % 2], x, y);
        }
        let low = _mm512_reduce_add_epi64(_mm512_add_epi64(low[0], low[1])) as u64;
        let high = _mm512_reduce_add_epi64(_mm512_add_epi64(high[0], high[1])) as u64;
        *sum = (u128::from(high) << 52) + u128::from(low);
    }
}

/// Compresses in a register and stores the whole vector: compressing to memory is microcoded on some processors.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
pub(super) fn accept_trits(drawn: &[u8], out: &mut [u8]) -> usize {
    let bound = _mm512_set1_epi8(TRITS_BOUND as i8);
    let mut count = 0;
    for bytes in drawn.as_chunks().0 {
        let bytes = load_bytes(bytes);
        let accepted = _mm512_cmplt_epu8_mask(bytes, bound);
        let place = out[count..].first_chunk_mut().expect("the slack is a vector long");
        store_bytes(place, _mm512_maskz_compress_epi8(accepted, bytes));
        count += accepted.count_ones() as usize;
    }
    count
}

/// Shoup's multiplication with 52-bit words; see the portable twin for the estimate.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn mul_add(q: u64, factor: &[u64], quotient: &[u64], x: &[u64], acc: &mut [u64]) {
    let modulus = _mm512_set1_epi64(q as i64);
    let low_52 = _mm512_set1_epi64((1 << 52) - 1);
    let zero = _mm512_setzero_si512();
    let terms = factor.as_chunks::<8>().0.iter().zip(quotient.as_chunks::<8>().0).zip(x.as_chunks::<8>().0);
    for (sum, ((a, a_over_q), x)) in acc.as_chunks_mut::<8>().0.iter_mut().zip(terms) {
        let x = load(x);
        let estimate = _mm512_madd52hi_epu64(zero, load(a_over_q), x);
        let product = _mm512_madd52lo_epu64(zero, load(a), x);
        let multiple = _mm512_madd52lo_epu64(zero, estimate, modulus);
        // The difference is below 2q < 2^48, so its low 52 bits are all of it.
        let product = _mm512_and_si512(_mm512_sub_epi64(product, multiple), low_52);
        let product = subtract_once(product, modulus);
        store(sum, subtract_once(_mm512_add_epi64(load(sum), product), modulus));
    }
}

/// `x mod q` for `x < 2q`: below `q` the difference wraps and is the larger of the two.
#[inline]
#[target_feature(enable = "avx512f")]
fn subtract_once(x: __m512i, q: __m512i) -> __m512i {
    _mm512_min_epu64(x, _mm512_sub_epi64(x, q))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_48(bytes: &[u8; 48]) -> __m512i {
    // SAFETY: the mask limits the load to the 48 bytes of the reference; masked bytes are not touched.
    unsafe { _mm512_maskz_loadu_epi8(0xffff_ffff_ffff, bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_bytes(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the reference covers the 64 bytes read, and the load has no alignment requirement.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_bytes(bytes: &mut [u8; 64], value: __m512i) {
    // SAFETY: the reference covers the 64 bytes written, and the store has no alignment requirement.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), value) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &[u64; 8]) -> __m512i {
    // SAFETY: the reference covers the 64 bytes read, and the load has no alignment requirement.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(words: &mut [u64; 8], value: __m512i) {
    // SAFETY: the reference covers the 64 bytes written, and the store has no alignment requirement.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), value) }
}
