//! Kernels for AVX2.

use super::{prefetch_ahead, recompiled};
use crate::packed::STREAMS;
use crate::sample::{TRIT_POLYNOMIAL, TritBytes};
use crate::sha256::Words;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm256_add_epi64, _mm256_loadu_si256, _mm256_set_m128i,
    _mm256_setr_epi8, _mm256_shuffle_epi8, _mm256_storeu_si256,
};

recompiled! { "avx2":
    lift(q: u64, x: &[i32], out: &mut [u64]);
    fold(x: &[u64], y: &[u64], out: &mut [u128]);
    mul_add(q: u64, factor: &[u64], quotient: &[u64], x: &[u64], acc: &mut [u64]);
    mul_add_variable(q: u64, x: &[u64], y: &[u64], acc: &mut [u64]);
    centred_binomial_21(random: &[u8], out: &mut [i32]);
    accept_trits(drawn: &[u8], out: &mut [u8]) -> usize;
    add_ternary(bytes: &[u8], scale: i32, acc: &mut [i32]);
    sum_ternary(polynomials: &[TritBytes], sum: &mut [i32; TRIT_POLYNOMIAL]);
    interpolate_columns(matrix: &mut [i32]);
}

#[target_feature(enable = "avx2")]
pub(super) fn add_packed(sources: [&[u8]; STREAMS], coming: [&[u8]; STREAMS], acc: &mut [u64]) {
    // Two steps to a prefetch: 48 bytes, less than a line.
    let acc = acc.as_chunks_mut::<8>().0;
    let sources = sources.map(|source| &source.as_chunks::<48>().0[..acc.len()]);
    for (i, sum) in acc.iter_mut().enumerate() {
        let [mut low, mut high] = [load(&sum[..4]), load(&sum[4..])];
        for (source, coming) in sources.iter().zip(coming) {
            prefetch_ahead(source.as_flattened(), coming, 48 * i);
            low = _mm256_add_epi64(low, spread(source[i].first_chunk().expect("24 of 48")));
            high = _mm256_add_epi64(high, spread(source[i].last_chunk().expect("24 of 48")));
        }
        store(&mut sum[..4], low);
        store(&mut sum[4..], high);
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn add_packed_1(source: &[u8], acc: &mut [u64]) {
    for (sum, source) in acc.as_chunks_mut::<4>().0.iter_mut().zip(source.as_chunks().0) {
        let total = _mm256_add_epi64(load(sum), spread(source));
        store(sum, total);
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn sha256_compress(state: &mut [Words; 8], block: &[Words; 16]) {
    crate::portable_sha256::sha256_compress(state, block);
}

/// Four packed residues to four words.
#[inline]
#[target_feature(enable = "avx2")]
fn spread(packed: &[u8; 24]) -> __m256i {
    // The two loads overlap in bytes 8..16, so that neither reads past the 24 bytes; -1 makes a zero byte.
    let order = _mm256_setr_epi8(
        0, 1, 2, 3, 4, 5, -1, -1, 6, 7, 8, 9, 10, 11, -1, -1, //
        4, 5, 6, 7, 8, 9, -1, -1, 10, 11, 12, 13, 14, 15, -1, -1,
    );
    let low = load_half(packed.first_chunk().expect("16 of 24"));
    let high = load_half(packed.last_chunk().expect("16 of 24"));
    _mm256_shuffle_epi8(_mm256_set_m128i(high, low), order)
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_half(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the reference covers the 16 bytes read, and the load has no alignment requirement.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(words: &[u64]) -> __m256i {
    let words: &[u64; 4] = words.try_into().expect("four words");
    // SAFETY: the reference covers the 32 bytes read, and the load has no alignment requirement.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(words: &mut [u64], value: __m256i) {
    let words: &mut [u64; 4] = words.try_into().expect("four words");
    // SAFETY: the reference covers the 32 bytes written, and the store has no alignment requirement.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), value) }
}
