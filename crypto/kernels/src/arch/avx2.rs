//! Kernels for AVX2.

pub(super) use super::avx2_residue::{mul_add, mul_add_variable};
use super::{PREFETCH_STEP, prefetch_ahead, recompiled};
use crate::sample::{TRIT_POLYNOMIAL, TritBytes};
use crate::sha256::Words;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm256_add_epi64, _mm256_loadu_si256, _mm256_set_m128i,
    _mm256_setr_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_storeu_si256,
};

recompiled! { "avx2":
    pack(values: &[u64], bytes: &mut [u8]);
    unpack(bytes: &[u8], values: &mut [u64]);
    lift(q: u64, x: &[i32], out: &mut [u64]);
    fold(x: &[u64], y: &[u64], out: &mut [u128]);
    centred_binomial_21(random: &[u8], out: &mut [i32]);
    accept_trits(drawn: &[u8], out: &mut [u8]) -> usize;
    add_ternary(bytes: &[u8], scale: i32, acc: &mut [i32]);
    sum_ternary(polynomials: &[TritBytes], sum: &mut [i32; TRIT_POLYNOMIAL]);
    interpolate_columns(matrix: &mut [i32]);
}

#[target_feature(enable = "avx2")]
pub(super) fn add_packed(sources: &[&[u8]], coming: Option<&[&[u8]]>, more: bool, acc: &mut [u64]) {
    match coming {
        Some(coming) => add_streams::<true>(sources, coming, more, acc),
        None => add_streams::<false>(sources, &[], more, acc),
    }
}

#[target_feature(enable = "avx2")]
fn add_streams<const ASKS: bool>(sources: &[&[u8]], coming: &[&[u8]], more: bool, acc: &mut [u64]) {
    // Eight vectors at a time: whole lines of the sources.
    let (steps, rest) = acc.as_chunks_mut::<32>();
    for (i, sums) in steps.iter_mut().enumerate() {
        let sums = sums.as_chunks_mut::<4>().0;
        let mut totals = [_mm256_setzero_si256(); 8];
        if more {
            for (total, sum) in totals.iter_mut().zip(sums.iter()) {
                *total = load(sum);
            }
        }
        for (k, source) in sources.iter().enumerate() {
            if ASKS {
                prefetch_ahead(source, coming.get(k), PREFETCH_STEP * i);
            }
            let step: &[u8; PREFETCH_STEP] =
                source[PREFETCH_STEP * i..].first_chunk().expect("sources are as long as the sums");
            for (total, packed) in totals.iter_mut().zip(step.as_chunks().0) {
                *total = _mm256_add_epi64(*total, spread(packed));
            }
        }
        for (total, sum) in totals.into_iter().zip(sums) {
            store(sum, total);
        }
    }
    let done = PREFETCH_STEP * steps.len();
    if !more {
        rest.fill(0);
    }
    for source in sources {
        add_packed_1(&source[done..], rest);
    }
}

#[target_feature(enable = "avx2")]
fn add_packed_1(source: &[u8], acc: &mut [u64]) {
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
fn load(words: &[u64; 4]) -> __m256i {
    // SAFETY: the reference covers the 32 bytes read, and the load has no alignment requirement.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(words: &mut [u64; 4], value: __m256i) {
    // SAFETY: the reference covers the 32 bytes written, and the store has no alignment requirement.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), value) }
}
