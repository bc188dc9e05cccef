//! SHA-256 compression for AVX-512: sixteen lanes to a vector, two vectors interleaved, because the additions of one
//! round wait for each other.

use super::align_frame;
use crate::sha256::{CHAIN_BITS, CHAIN_PADDING, ROUND_CONSTANTS, Words};
use std::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_loadu_si512, _mm512_ror_epi32, _mm512_set1_epi32, _mm512_shldi_epi32,
    _mm512_srli_epi32, _mm512_storeu_si512, _mm512_ternarylogic_epi32,
};

/// Vectors that go through the rounds together. Two keep the 32 registers busy; three would spill.
const VECTORS: usize = 2;

/// Rounds of a row of constants; after sixteen, the variables are back in their places. A macro, because a function
/// that is too long to be inlined would pass all variables through memory.
macro_rules! rounds {
    ($v:ident, $w:ident, $expand:literal, $constants:expr, $($t:literal)*) => {
        $(round::<$expand, $t>(&mut $v, &mut $w, $constants[$t]);)*
    };
}

/// One word of all lanes.
type Lanes = [__m512i; VECTORS];

#[target_feature(enable = "avx512f")]
pub(super) fn sha256_compress(state: &mut [Words; 8], block: &[Words; 16]) {
    align_frame();
    let mut w = [load(&block[0]); 16];
    for (w, words) in w.iter_mut().zip(block) {
        *w = load(words);
    }
    let mut v = [load(&state[0]); 8];
    for (v, words) in v.iter_mut().zip(state.iter()) {
        *v = load(words);
    }
    rounds!(v, w, false, ROUND_CONSTANTS[0], 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    for constants in &ROUND_CONSTANTS[1..] {
        rounds!(v, w, true, constants, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    }
    for (words, v) in state.iter_mut().zip(v) {
        add_assign(words, v);
    }
}

/// The first five rounds depend on the address only, so they are done once for all steps.
#[target_feature(enable = "avx512f,avx512vbmi2")]
pub(super) fn sha256_chain(midstate: &[Words; 8], address: &[Words; 6], values: &mut [[Words; 4]]) {
    align_frame();
    let mut prefix = [[_mm512_set1_epi32(0); VECTORS]; 16];
    for (w, words) in prefix.iter_mut().zip(&address[..5]) {
        *w = load(words);
    }
    prefix[15] = [_mm512_set1_epi32(CHAIN_BITS as i32); VECTORS];
    let mut initial = [load(&midstate[0]); 8];
    for (v, words) in initial.iter_mut().zip(midstate) {
        *v = load(words);
    }
    let mut started = initial;
    rounds!(started, prefix, false, ROUND_CONSTANTS[0], 0 1 2 3 4);
    let mut counters = load(&address[5]);
    for counter in &mut counters {
        *counter = _mm512_srli_epi32::<16>(*counter);
    }
    for step in 1..values.len() {
        let (mut v, mut w) = (started, prefix);
        let mut half = counters;
        for counter in &mut counters {
            *counter = add(*counter, _mm512_set1_epi32(1));
        }
        for (words, w) in values[step - 1].iter().zip(&mut w[5..]) {
            let words = load(words);
            for i in 0..VECTORS {
                w[i] = _mm512_shldi_epi32::<16>(half[i], words[i]);
            }
            half = words;
        }
        for i in 0..VECTORS {
            w[9][i] = _mm512_shldi_epi32::<16>(half[i], _mm512_set1_epi32((CHAIN_PADDING << 16) as i32));
        }
        rounds!(v, w, false, ROUND_CONSTANTS[0], 5 6 7 8 9 10 11 12 13 14 15);
        // Apart from the loop: the compiler simplifies what is made of the constant words 10 to 15.
        rounds!(v, w, true, ROUND_CONSTANTS[1], 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        for constants in &ROUND_CONSTANTS[2..] {
            rounds!(v, w, true, constants, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        }
        for (words, (v, initial)) in values[step].iter_mut().zip(v.into_iter().zip(initial)) {
            for ((words, v), initial) in words.as_chunks_mut::<16>().0.iter_mut().zip(v).zip(initial) {
                store_16(words, add(v, initial));
            }
        }
    }
}

/// Round `T` of sixteen. Instead of moving the eight variables, their names move: variable `a` of round 0 is `b` of
/// round 1.
#[inline]
#[target_feature(enable = "avx512f")]
fn round<const EXPAND: bool, const T: usize>(v: &mut [Lanes; 8], w: &mut [Lanes; 16], constant: u32) {
    let constant = _mm512_set1_epi32(constant as i32);
    for i in 0..VECTORS {
        if EXPAND {
            let (w1, w9, w14) = (w[(T + 1) % 16][i], w[(T + 9) % 16][i], w[(T + 14) % 16][i]);
            w[T][i] = add(add(w[T][i], small_sigma_0(w1)), add(w9, small_sigma_1(w14)));
        }
        let [a, b, c, d] = [0, 1, 2, 3].map(|name| v[(16 + name - T) % 8][i]);
        let [e, f, g, h] = [4, 5, 6, 7].map(|name| v[(16 + name - T) % 8][i]);
        let t1 = add(add(add(h, add(constant, w[T][i])), choice(e, f, g)), big_sigma_1(e));
        v[(19 - T) % 8][i] = add(d, t1);
        v[(23 - T) % 8][i] = add(t1, add(big_sigma_0(a), majority(a, b, c)));
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn add(x: __m512i, y: __m512i) -> __m512i {
    _mm512_add_epi32(x, y)
}

/// Three-input functions are the truth table of the immediate: parity, `x ? y : z`, and the majority.
#[inline]
#[target_feature(enable = "avx512f")]
fn parity(x: __m512i, y: __m512i, z: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0x96>(x, y, z)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn choice(x: __m512i, y: __m512i, z: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0xca>(x, y, z)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn majority(x: __m512i, y: __m512i, z: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0xe8>(x, y, z)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn big_sigma_0(x: __m512i) -> __m512i {
    parity(_mm512_ror_epi32::<2>(x), _mm512_ror_epi32::<13>(x), _mm512_ror_epi32::<22>(x))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn big_sigma_1(x: __m512i) -> __m512i {
    parity(_mm512_ror_epi32::<6>(x), _mm512_ror_epi32::<11>(x), _mm512_ror_epi32::<25>(x))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn small_sigma_0(x: __m512i) -> __m512i {
    parity(_mm512_ror_epi32::<7>(x), _mm512_ror_epi32::<18>(x), _mm512_srli_epi32::<3>(x))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn small_sigma_1(x: __m512i) -> __m512i {
    parity(_mm512_ror_epi32::<17>(x), _mm512_ror_epi32::<19>(x), _mm512_srli_epi32::<10>(x))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &Words) -> Lanes {
    let [low, high] = words.as_chunks::<16>().0 else { unreachable!("two vectors of sixteen lanes") };
    [load_16(low), load_16(high)]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn add_assign(words: &mut Words, lanes: Lanes) {
    for (words, lanes) in words.as_chunks_mut::<16>().0.iter_mut().zip(lanes) {
        store_16(words, add(load_16(words), lanes));
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_16(words: &[u32; 16]) -> __m512i {
    // SAFETY: the reference covers the 64 bytes read, and the load has no alignment requirement.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_16(words: &mut [u32; 16], value: __m512i) {
    // SAFETY: the reference covers the 64 bytes written, and the store has no alignment requirement.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), value) }
}
