//! SHA-256 compression by the SHA extensions: several streams interleaved, because a round instruction takes several
//! cycles and depends on the one before.

use crate::sha256::{CHAIN_BITS, CHAIN_PADDING, ROUND_CONSTANTS, Words};
use std::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_alignr_epi8, _mm_loadu_si128, _mm_or_si128, _mm_set_epi32, _mm_setzero_si128,
    _mm_sha256msg1_epu32, _mm_sha256msg2_epu32, _mm_sha256rnds2_epu32, _mm_shuffle_epi32, _mm_slli_epi32,
    _mm_slli_si128, _mm_srli_epi32, _mm_srli_si128, _mm_storeu_si128, _mm_unpackhi_epi32, _mm_unpackhi_epi64,
    _mm_unpacklo_epi32, _mm_unpacklo_epi64,
};

/// Lanes that are loaded and stored together, one register for each value and lane. A compression takes all of them through
/// the rounds, a chain two and then two.
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

/// A value stays in one register per stream from step to step. The first four rounds depend on the address only, so
/// they are done once for all steps.
#[target_feature(enable = "sha,sse4.1,ssse3")]
pub(super) fn sha256_chain(midstate: &[Words; 8], address: &[Words; 6], values: &mut [[Words; 4]]) {
    let Some((first, later)) = values.split_first_mut() else { return };
    for lane in (0..address[0].len()).step_by(STREAMS) {
        let prefix = gather([&address[0], &address[1], &address[2], &address[3]], lane);
        let initial = ORDER.map(|[f, e, b, a]| [&midstate[f], &midstate[e], &midstate[b], &midstate[a]]);
        let initial = [gather(initial[0], lane), gather(initial[1], lane)];
        let (mut started, mut w) = (initial, [prefix; 4]);
        four_rounds::<false, 0, STREAMS>(&mut started, &mut w, &ROUND_CONSTANTS[0]);
        let mut value = gather(first.each_ref(), lane);
        for (step, next) in later.iter_mut().enumerate() {
            let (mut v, mut w) = (started, [prefix; 4]);
            for i in 0..STREAMS {
                let word_5 = address[5][lane + i].wrapping_add((step as u32) << 16);
                [w[1][i], w[2][i], w[3][i]] = chain_block(address[4][lane + i], word_5, value[i]);
            }
            rounds_of_pair(&mut v, &w, 0);
            rounds_of_pair(&mut v, &w, 2);
            for i in 0..STREAMS {
                // F E B A and H G D C to A B C D.
                let [feba, hgdc] = [0, 1].map(|half| (v[half][i], initial[half][i]));
                let (feba, hgdc) = (_mm_add_epi32(feba.0, feba.1), _mm_add_epi32(hgdc.0, hgdc.1));
                value[i] = _mm_shuffle_epi32::<0x1b>(_mm_unpackhi_epi64(hgdc, feba));
            }
            for (words, row) in next.iter_mut().zip(transpose(value)) {
                store(words, lane, row);
            }
        }
    }
}

/// Rounds 4 to 63 of two streams. Two keep the unit busy, and their state, schedule and round constants fit the sixteen
/// registers; of four some are spilled. That tells in a chain, where step follows step; a single compression, which is
/// surrounded by loads and transposition, gains nothing from pairs and takes four.
#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn rounds_of_pair(v: &mut [Streams; 2], w: &[Streams; 4], first: usize) {
    let (one, two) = (first, first + 1);
    let mut pair = [[v[0][one], v[0][two]], [v[1][one], v[1][two]]];
    let mut words =
        [[w[0][one], w[0][two]], [w[1][one], w[1][two]], [w[2][one], w[2][two]], [w[3][one], w[3][two]]];
    four_rounds::<false, 1, 2>(&mut pair, &mut words, &ROUND_CONSTANTS[0]);
    four_rounds::<false, 2, 2>(&mut pair, &mut words, &ROUND_CONSTANTS[0]);
    four_rounds::<false, 3, 2>(&mut pair, &mut words, &ROUND_CONSTANTS[0]);
    for constants in &ROUND_CONSTANTS[1..] {
        four_rounds::<true, 0, 2>(&mut pair, &mut words, constants);
        four_rounds::<true, 1, 2>(&mut pair, &mut words, constants);
        four_rounds::<true, 2, 2>(&mut pair, &mut words, constants);
        four_rounds::<true, 3, 2>(&mut pair, &mut words, constants);
    }
    for half in 0..2 {
        v[half][one] = pair[half][0];
        v[half][two] = pair[half][1];
    }
}

/// Words 4 to 15 of a chain's block.
#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn chain_block(word_4: u32, word_5: u32, value: __m128i) -> [__m128i; 3] {
    let (high, low) = (_mm_srli_epi32::<16>(value), _mm_slli_epi32::<16>(value));
    // The value shifted by half a word takes five words: four of these, and the last of `low`.
    let shifted = _mm_or_si128(high, _mm_slli_si128::<4>(low));
    let rest = _mm_alignr_epi8::<12>(_mm_srli_si128::<12>(low), shifted);
    [
        _mm_or_si128(_mm_slli_si128::<4>(shifted), _mm_set_epi32(0, 0, word_5 as i32, word_4 as i32)),
        _mm_or_si128(rest, _mm_set_epi32(0, 0, CHAIN_PADDING as i32, 0)),
        _mm_set_epi32(CHAIN_BITS as i32, 0, 0, 0),
    ]
}

#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn rounds(v: &mut [Streams; 2], w: &mut [Streams; 4]) {
    four_rounds::<false, 0, STREAMS>(v, w, &ROUND_CONSTANTS[0]);
    four_rounds::<false, 1, STREAMS>(v, w, &ROUND_CONSTANTS[0]);
    four_rounds::<false, 2, STREAMS>(v, w, &ROUND_CONSTANTS[0]);
    four_rounds::<false, 3, STREAMS>(v, w, &ROUND_CONSTANTS[0]);
    expanded_rounds(v, w);
}

/// Rounds 16 to 63.
#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn expanded_rounds(v: &mut [Streams; 2], w: &mut [Streams; 4]) {
    for constants in &ROUND_CONSTANTS[1..] {
        four_rounds::<true, 0, STREAMS>(v, w, constants);
        four_rounds::<true, 1, STREAMS>(v, w, constants);
        four_rounds::<true, 2, STREAMS>(v, w, constants);
        four_rounds::<true, 3, STREAMS>(v, w, constants);
    }
}

/// Rounds `4 Q` to `4 Q + 3` of sixteen.
#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn four_rounds<const EXPAND: bool, const Q: usize, const N: usize>(
    v: &mut [[__m128i; N]; 2],
    w: &mut [[__m128i; N]; 4],
    constants: &[u32; 16],
) {
    let constants = load_4(constants[4 * Q..].first_chunk().expect("four of sixteen"));
    for i in 0..N {
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

/// Four words of the streams that begin at `lane`.
#[inline]
#[target_feature(enable = "sse4.1")]
fn gather([a, b, c, d]: [&Words; 4], lane: usize) -> Streams {
    transpose([load(a, lane), load(b, lane), load(c, lane), load(d, lane)])
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
