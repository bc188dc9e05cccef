//! SHA-256 compression by the SHA extensions: four streams interleaved, because a round instruction takes several
//! cycles and depends on the one before.

use crate::sha256::{ROUND_CONSTANTS, Words};
use std::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_alignr_epi8, _mm_loadu_si128, _mm_setzero_si128, _mm_sha256msg1_epu32,
    _mm_sha256msg2_epu32, _mm_sha256rnds2_epu32, _mm_shuffle_epi32, _mm_storeu_si128, _mm_unpackhi_epi32,
    _mm_unpackhi_epi64, _mm_unpacklo_epi32, _mm_unpacklo_epi64,
};

/// Lanes that go through the rounds together.
const STREAMS: usize = 4;

/// Four words of each stream.
type Streams = [__m128i; STREAMS];

/// Order of the variables in the two registers that the round instruction takes, lowest element first: F E B A and
/// H G D C.
const ORDER: [[usize; 4]; 2] = [[5, 4, 1, 0], [7, 6, 3, 2]];

#[target_feature(enable = "sha,sse4.1,ssse3")]
pub(super) fn sha256_compress(state: &mut [Words; 8], block: &[Words; 16]) {
    for lane in (0..state[0].len()).step_by(STREAMS) {
        let mut w = [[_mm_setzero_si128(); STREAMS]; 4];
        for (quarter, w) in w.iter_mut().enumerate() {
            let rows = [0, 1, 2, 3].map(|i| &block[4 * quarter + i]);
            *w = transpose([
                load(rows[0], lane),
                load(rows[1], lane),
                load(rows[2], lane),
                load(rows[3], lane),
            ]);
        }
        let mut v = [[_mm_setzero_si128(); STREAMS]; 2];
        for (v, order) in v.iter_mut().zip(ORDER) {
            let rows = order.map(|i| &state[i]);
            *v = transpose([
                load(rows[0], lane),
                load(rows[1], lane),
                load(rows[2], lane),
                load(rows[3], lane),
            ]);
        }
        rounds(&mut v, &mut w);
        for (v, order) in v.into_iter().zip(ORDER) {
            for (row, index) in transpose(v).into_iter().zip(order) {
                let sum = _mm_add_epi32(row, load(&state[index], lane));
                store(&mut state[index], lane, sum);
            }
        }
    }
}

#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn rounds(v: &mut [Streams; 2], w: &mut [Streams; 4]) {
    macro_rules! quarters {
        ($expand:literal, $constants:expr) => {
            four_rounds::<$expand, 0>(v, w, $constants);
            four_rounds::<$expand, 1>(v, w, $constants);
            four_rounds::<$expand, 2>(v, w, $constants);
            four_rounds::<$expand, 3>(v, w, $constants);
        };
    }
    quarters!(false, &ROUND_CONSTANTS[0]);
    for constants in &ROUND_CONSTANTS[1..] {
        quarters!(true, constants);
    }
}

/// Rounds `4 Q` to `4 Q + 3` of sixteen.
#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn four_rounds<const EXPAND: bool, const Q: usize>(
    v: &mut [Streams; 2],
    w: &mut [Streams; 4],
    constants: &[u32; 16],
) {
    let constants = load_4(constants[4 * Q..].first_chunk().expect("four of sixteen"));
    for i in 0..STREAMS {
        if EXPAND {
            let (w1, w2, w3) = (w[(Q + 1) % 4][i], w[(Q + 2) % 4][i], w[(Q + 3) % 4][i]);
            let older = _mm_add_epi32(_mm_sha256msg1_epu32(w[Q][i], w1), _mm_alignr_epi8::<4>(w3, w2));
            w[Q][i] = _mm_sha256msg2_epu32(older, w3);
        }
        let terms = _mm_add_epi32(w[Q][i], constants);
        v[1][i] = _mm_sha256rnds2_epu32(v[1][i], v[0][i], terms);
        // The second instruction takes its two terms from the low half.
        v[0][i] = _mm_sha256rnds2_epu32(v[0][i], v[1][i], _mm_shuffle_epi32::<0x0e>(terms));
    }
}

/// Element `j` of row `i` becomes element `i` of row `j`.
#[inline]
#[target_feature(enable = "sse4.1")]
fn transpose([a, b, c, d]: Streams) -> Streams {
    let (ab_low, ab_high) = (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
    let (cd_low, cd_high) = (_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d));
    [
        _mm_unpacklo_epi64(ab_low, cd_low),
        _mm_unpackhi_epi64(ab_low, cd_low),
        _mm_unpacklo_epi64(ab_high, cd_high),
        _mm_unpackhi_epi64(ab_high, cd_high),
    ]
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn load(words: &Words, lane: usize) -> __m128i {
    load_4(words[lane..].first_chunk().expect("lanes are whole vectors"))
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn store(words: &mut Words, lane: usize, value: __m128i) {
    store_4(words[lane..].first_chunk_mut().expect("lanes are whole vectors"), value);
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn load_4(words: &[u32; 4]) -> __m128i {
    // SAFETY: the reference covers the 16 bytes read, and the load has no alignment requirement.
    unsafe { _mm_loadu_si128(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn store_4(words: &mut [u32; 4], value: __m128i) {
    // SAFETY: the reference covers the 16 bytes written, and the store has no alignment requirement.
    unsafe { _mm_storeu_si128(words.as_mut_ptr().cast(), value) }
}
