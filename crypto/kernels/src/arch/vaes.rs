//! AES-256 with VAES: four blocks to a vector.

use super::avx512::{load, store};
use crate::aes::{BLOCK_BYTES, KEY_BYTES, KEYS};
use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_aesenc_epi128, _mm512_aesenclast_epi128, _mm512_bslli_epi128,
    _mm512_ror_epi32, _mm512_set_epi64, _mm512_set1_epi32, _mm512_setzero_si512, _mm512_shuffle_epi32,
    _mm512_xor_si512,
};

const ROUNDS: usize = 14;

/// A round key for each block of a vector.
type RoundKeys = [__m512i; ROUNDS + 1];

/// Vectors that are encrypted at the same time: enough to hide the latency of a round.
const ABREAST: usize = 8;

const VECTOR_BYTES: usize = KEYS * BLOCK_BYTES;

#[target_feature(enable = "avx512f,avx512bw,vaes")]
pub(super) fn aes_stream(key: &[u8; KEY_BYTES], first: u128, out: &mut [u8]) {
    let keys = round_keys(&[*key; KEYS]);
    let (high, low) = ((first >> 64) as i64, first as i64);
    let mut counters = _mm512_set_epi64(high, low + 3, high, low + 2, high, low + 1, high, low);
    let step = _mm512_set_epi64(0, 4, 0, 4, 0, 4, 0, 4);
    let mut next = || {
        let current = counters;
        counters = _mm512_add_epi64(counters, step);
        current
    };
    let (groups, rest) = out.as_chunks_mut::<{ ABREAST * VECTOR_BYTES }>();
    for group in groups {
        let mut blocks = [_mm512_setzero_si512(); ABREAST];
        for block in &mut blocks {
            *block = next();
        }
        encrypt(&keys, &mut blocks);
        for (bytes, block) in group.as_chunks_mut().0.iter_mut().zip(blocks) {
            *bytes = to_bytes(block);
        }
    }
    for bytes in rest.chunks_mut(VECTOR_BYTES) {
        let mut blocks = [next()];
        encrypt(&keys, &mut blocks);
        bytes.copy_from_slice(&to_bytes(blocks[0])[..bytes.len()]);
    }
}

#[target_feature(enable = "avx512f,avx512bw,vaes")]
pub(super) fn aes_streams(keys: &[[u8; KEY_BYTES]; KEYS], mut out: [&mut [u8]; KEYS]) {
    let keys = round_keys(keys);
    for group in 0..out[0].len() / VECTOR_BYTES {
        // Four counters, each for the four keys.
        let mut blocks = [_mm512_setzero_si512(); KEYS];
        for (i, block) in blocks.iter_mut().enumerate() {
            let counter = (KEYS * group + i) as i64;
            *block = _mm512_set_epi64(0, counter, 0, counter, 0, counter, 0, counter);
        }
        encrypt(&keys, &mut blocks);
        for (i, block) in blocks.into_iter().enumerate() {
            let at = VECTOR_BYTES * group + BLOCK_BYTES * i;
            for (out, bytes) in out.iter_mut().zip(to_bytes(block).as_chunks::<BLOCK_BYTES>().0) {
                out[at..at + BLOCK_BYTES].copy_from_slice(bytes);
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn encrypt<const B: usize>(keys: &RoundKeys, blocks: &mut [__m512i; B]) {
    for block in &mut *blocks {
        *block = _mm512_xor_si512(*block, keys[0]);
    }
    for key in &keys[1..ROUNDS] {
        for block in &mut *blocks {
            *block = _mm512_aesenc_epi128(*block, *key);
        }
    }
    for block in &mut *blocks {
        *block = _mm512_aesenclast_epi128(*block, keys[ROUNDS]);
    }
}

/// The key schedule (FIPS 197, section 5.2) of four keys.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn round_keys(keys: &[[u8; KEY_BYTES]; KEYS]) -> RoundKeys {
    let half = |at: usize| {
        let mut words = [0; 8];
        for (words, key) in words.as_chunks_mut::<2>().0.iter_mut().zip(keys) {
            let bytes: &[[u8; 8]; 2] = key[at..at + 16].as_chunks().0.try_into().expect("two words");
            *words = bytes.map(u64::from_le_bytes);
        }
        load(&words)
    };
    let (mut even, mut odd) = (half(0), half(16));
    let mut schedule = [even; ROUNDS + 1];
    schedule[1] = odd;
    for round in 1..=ROUNDS / 2 {
        let constant = _mm512_set1_epi32(1 << (round - 1));
        even = _mm512_xor_si512(prefixes(even), _mm512_xor_si512(rotated(substituted(odd)), constant));
        schedule[2 * round] = even;
        if 2 * round < ROUNDS {
            odd = _mm512_xor_si512(prefixes(odd), substituted(even));
            schedule[2 * round + 1] = odd;
        }
    }
    schedule
}

/// The S-box of the last word of each block, four times. With equal columns the last round's shift of rows does nothing.
#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn substituted(block: __m512i) -> __m512i {
    _mm512_aesenclast_epi128(_mm512_shuffle_epi32::<0xff>(block), _mm512_setzero_si512())
}

#[inline]
#[target_feature(enable = "avx512f")]
fn rotated(words: __m512i) -> __m512i {
    _mm512_ror_epi32::<8>(words)
}

/// Word k of each block becomes the sum of words 0..=k.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn prefixes(block: __m512i) -> __m512i {
    let pairs = _mm512_xor_si512(block, _mm512_bslli_epi128::<4>(block));
    _mm512_xor_si512(pairs, _mm512_bslli_epi128::<8>(pairs))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn to_bytes(block: __m512i) -> [u8; VECTOR_BYTES] {
    let mut words = [0u64; 8];
    store(&mut words, block);
    let mut bytes = [0; VECTOR_BYTES];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    bytes
}
