//! Textbook SHA-256 compression (FIPS 180-4, section 6.2.2), one word of several lanes at a time so that the compiler
//! can use whatever vectors it has.

use crate::sha256::{ROUND_CONSTANTS, Words};

/// Lanes that go through the rounds together: eight 32-bit words are one AVX2 vector or two of NEON.
const WIDTH: usize = 8;

type Vector = [u32; WIDTH];

#[inline(always)]
pub(crate) fn sha256_compress(state: &mut [Words; 8], block: &[Words; 16]) {
    for lane in (0..state[0].len()).step_by(WIDTH) {
        let at = |words: &Words| -> Vector { *words[lane..].first_chunk().expect("lanes are whole vectors") };
        let initial = state.each_ref().map(at);
        let rounds = rounds(initial, block.each_ref().map(at));
        for (words, (before, after)) in state.iter_mut().zip(initial.iter().zip(rounds)) {
            words[lane..lane + WIDTH].copy_from_slice(&each(|i| before[i].wrapping_add(after[i])));
        }
    }
}

#[inline(always)]
fn rounds(initial: [Vector; 8], block: [Vector; 16]) -> [Vector; 8] {
    let mut w = block;
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = initial;
    for (row, constants) in ROUND_CONSTANTS.iter().enumerate() {
        for (t, constant) in constants.iter().enumerate() {
            if row > 0 {
                let (w1, w9, w14) = (w[(t + 1) % 16], w[(t + 9) % 16], w[(t + 14) % 16]);
                w[t] = each(|i| {
                    let recent = small_sigma_1(w14[i]).wrapping_add(w9[i]);
                    recent.wrapping_add(small_sigma_0(w1[i])).wrapping_add(w[t][i])
                });
            }
            let t1: Vector = each(|i| {
                let choice = (e[i] & f[i]) ^ (!e[i] & g[i]);
                let sum = h[i].wrapping_add(big_sigma_1(e[i])).wrapping_add(choice);
                sum.wrapping_add(*constant).wrapping_add(w[t][i])
            });
            let t2: Vector = each(|i| {
                let majority = (a[i] & b[i]) ^ (a[i] & c[i]) ^ (b[i] & c[i]);
                big_sigma_0(a[i]).wrapping_add(majority)
            });
            (h, g, f, e) = (g, f, e, each(|i| d[i].wrapping_add(t1[i])));
            (d, c, b, a) = (c, b, a, each(|i| t1[i].wrapping_add(t2[i])));
        }
    }
    [a, b, c, d, e, f, g, h]
}

#[inline(always)]
fn each(f: impl Fn(usize) -> u32) -> Vector {
    let mut vector = [0; WIDTH];
    for (i, word) in vector.iter_mut().enumerate() {
        *word = f(i);
    }
    vector
}

#[inline(always)]
fn big_sigma_0(x: u32) -> u32 {
    x.rotate_right(2) ^ x.rotate_right(13) ^ x.rotate_right(22)
}

#[inline(always)]
fn big_sigma_1(x: u32) -> u32 {
    x.rotate_right(6) ^ x.rotate_right(11) ^ x.rotate_right(25)
}

#[inline(always)]
fn small_sigma_0(x: u32) -> u32 {
    x.rotate_right(7) ^ x.rotate_right(18) ^ (x >> 3)
}

#[inline(always)]
fn small_sigma_1(x: u32) -> u32 {
    x.rotate_right(17) ^ x.rotate_right(19) ^ (x >> 10)
}
