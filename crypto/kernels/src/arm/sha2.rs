//! SHA-256 compression by the instructions of Armv8-A: four streams interleaved, because a round instruction takes four
//! cycles on Neoverse and depends on the one before.

use crate::sha256::{CHAIN_BITS, CHAIN_PADDING, ROUND_CONSTANTS, Words};
use std::arch::aarch64::{
    uint32x4_t, vaddq_u32, vdupq_n_u32, vextq_u32, vld1q_u32, vorrq_u32, vreinterpretq_u32_u64,
    vreinterpretq_u64_u32, vsha256h2q_u32, vsha256hq_u32, vsha256su0q_u32, vsha256su1q_u32, vshlq_n_u32,
    vshrq_n_u32, vst1q_u32, vtrn1q_u32, vtrn1q_u64, vtrn2q_u32, vtrn2q_u64,
};

/// Lanes that go through the rounds together: their state and schedule take 24 of the 32 registers.
const STREAMS: usize = 4;

/// Four words of each stream.
type Streams = [uint32x4_t; STREAMS];

#[target_feature(enable = "sha2")]
pub(super) fn sha256_compress(state: &mut [Words; 8], block: &[Words; 16]) {
    for lane in (0..state[0].len()).step_by(STREAMS) {
        let mut w: [Streams; 4] = quarters(block, lane);
        let initial: [Streams; 2] = quarters(state, lane);
        let mut v = initial;
        rounds::<0>(&mut v, &mut w);
        for (rows, (v, initial)) in state.as_chunks_mut().0.iter_mut().zip(v.into_iter().zip(initial)) {
            store(rows, lane, add(v, initial));
        }
    }
}

/// A value stays in one register per stream from step to step. The first four rounds depend on the address only, so
/// they are done once for all steps.
#[target_feature(enable = "sha2")]
pub(super) fn sha256_chain(midstate: &[Words; 8], address: &[Words; 6], values: &mut [[Words; 4]]) {
    let Some((first, later)) = values.split_first_mut() else { return };
    for lane in (0..address[0].len()).step_by(STREAMS) {
        let [prefix] = quarters::<1>(&address[..4], lane);
        let initial: [Streams; 2] = quarters(midstate, lane);
        let (mut started, mut w) = (initial, [prefix; 4]);
        four_rounds::<false, 0>(&mut started, &mut w, &ROUND_CONSTANTS[0]);
        let [mut value] = quarters::<1>(first, lane);
        for (step, next) in later.iter_mut().enumerate() {
            let (mut v, mut w) = (started, [prefix; 4]);
            for i in 0..STREAMS {
                let word_5 = address[5][lane + i].wrapping_add((step as u32) << 16);
                [w[1][i], w[2][i], w[3][i]] = chain_block(address[4][lane + i], word_5, value[i]);
            }
            rounds::<1>(&mut v, &mut w);
            value = add(v[0], initial[0]);
            store(next, lane, value);
        }
    }
}

/// Words 4 to 15 of a chain's block.
#[inline]
#[target_feature(enable = "neon")]
fn chain_block(word_4: u32, word_5: u32, value: uint32x4_t) -> [uint32x4_t; 3] {
    let zero = vdupq_n_u32(0);
    let (high, low) = (vshrq_n_u32::<16>(value), vshlq_n_u32::<16>(value));
    // The value shifted by half a word takes five words: four of these, and the last of `low`.
    let shifted = vorrq_u32(high, vextq_u32::<3>(zero, low));
    let rest = vextq_u32::<3>(shifted, vextq_u32::<3>(low, zero));
    [
        vorrq_u32(vextq_u32::<3>(zero, shifted), load(&[word_4, word_5, 0, 0])),
        vorrq_u32(rest, load(&[0, CHAIN_PADDING, 0, 0])),
        load(&[0, 0, 0, CHAIN_BITS]),
    ]
}

/// Rounds `4 FROM` to 63.
#[inline]
#[target_feature(enable = "sha2")]
fn rounds<const FROM: usize>(v: &mut [Streams; 2], w: &mut [Streams; 4]) {
    if FROM == 0 {
        four_rounds::<false, 0>(v, w, &ROUND_CONSTANTS[0]);
    }
    four_rounds::<false, 1>(v, w, &ROUND_CONSTANTS[0]);
    four_rounds::<false, 2>(v, w, &ROUND_CONSTANTS[0]);
    four_rounds::<false, 3>(v, w, &ROUND_CONSTANTS[0]);
    for constants in &ROUND_CONSTANTS[1..] {
        four_rounds::<true, 0>(v, w, constants);
        four_rounds::<true, 1>(v, w, constants);
        four_rounds::<true, 2>(v, w, constants);
        four_rounds::<true, 3>(v, w, constants);
    }
}

/// Rounds `4 Q` to `4 Q + 3` of sixteen.
#[inline]
#[target_feature(enable = "sha2")]
fn four_rounds<const EXPAND: bool, const Q: usize>(
    v: &mut [Streams; 2],
    w: &mut [Streams; 4],
    constants: &[u32; 16],
) {
    let constants = load(constants[4 * Q..].first_chunk().expect("four of sixteen"));
    for i in 0..STREAMS {
        if EXPAND {
            let older = vsha256su0q_u32(w[Q][i], w[(Q + 1) % 4][i]);
            w[Q][i] = vsha256su1q_u32(older, w[(Q + 2) % 4][i], w[(Q + 3) % 4][i]);
        }
        let terms = vaddq_u32(w[Q][i], constants);
        let (abcd, efgh) = (v[0][i], v[1][i]);
        v[0][i] = vsha256hq_u32(abcd, efgh, terms);
        v[1][i] = vsha256h2q_u32(efgh, abcd, terms);
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn add(x: Streams, y: Streams) -> Streams {
    let mut sum = x;
    sum.iter_mut().zip(y).for_each(|(x, y)| *x = vaddq_u32(*x, y));
    sum
}

/// The streams that begin at `lane`, four rows to a register.
#[inline]
#[target_feature(enable = "neon")]
fn quarters<const Q: usize>(rows: &[Words], lane: usize) -> [Streams; Q] {
    let mut quarters = [[vdupq_n_u32(0); STREAMS]; Q];
    for (quarter, rows) in quarters.iter_mut().zip(rows.as_chunks::<4>().0) {
        for (stream, row) in quarter.iter_mut().zip(rows) {
            *stream = load(row[lane..].first_chunk().expect("lanes are whole vectors"));
        }
        *quarter = transpose(*quarter);
    }
    quarters
}

/// The opposite of [`quarters`], for one register.
#[inline]
#[target_feature(enable = "neon")]
fn store(rows: &mut [Words; 4], lane: usize, streams: Streams) {
    for (row, words) in rows.iter_mut().zip(transpose(streams)) {
        let row: &mut [u32; STREAMS] = row[lane..].first_chunk_mut().expect("lanes are whole vectors");
        // SAFETY: the reference covers the 16 bytes written.
        unsafe { vst1q_u32(row.as_mut_ptr(), words) }
    }
}

/// Element `j` of row `i` becomes element `i` of row `j`.
#[inline]
#[target_feature(enable = "neon")]
fn transpose([a, b, c, d]: Streams) -> Streams {
    let (even_ab, odd_ab) = (vtrn1q_u32(a, b), vtrn2q_u32(a, b));
    let (even_cd, odd_cd) = (vtrn1q_u32(c, d), vtrn2q_u32(c, d));
    let [even_ab, odd_ab, even_cd, odd_cd] =
        [even_ab, odd_ab, even_cd, odd_cd].map(|pairs| vreinterpretq_u64_u32(pairs));
    [
        vtrn1q_u64(even_ab, even_cd),
        vtrn1q_u64(odd_ab, odd_cd),
        vtrn2q_u64(even_ab, even_cd),
        vtrn2q_u64(odd_ab, odd_cd),
    ]
    .map(|row| vreinterpretq_u32_u64(row))
}

#[inline]
#[target_feature(enable = "neon")]
fn load(words: &[u32; 4]) -> uint32x4_t {
    // SAFETY: the reference covers the 16 bytes read.
    unsafe { vld1q_u32(words.as_ptr()) }
}
