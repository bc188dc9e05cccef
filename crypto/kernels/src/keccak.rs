//! Keccak-f\[1600\] on many independent lanes, and SHA3-256 of many messages by it (FIPS 202).
//!
//! Word-major layout: element `x + 5 y` of a state holds that 64-bit word of every lane. Lengths of messages are
//! public.

use crate::{Cpu, portable_keccak};

/// Independent permutations per call: one vector of AVX-512, two of AVX2.
pub const LANES: usize = 8;

/// A state of every lane.
pub type State = [[u64; LANES]; 25];

/// Bytes of a block of SHA3-256.
const RATE: usize = 136;

/// Round constants (FIPS 202, section 3.2.5).
#[rustfmt::skip]
pub(crate) const ROUND_CONSTANTS: [u64; 24] = [
    0x0000_0000_0000_0001, 0x0000_0000_0000_8082, 0x8000_0000_0000_808a, 0x8000_0000_8000_8000,
    0x0000_0000_0000_808b, 0x0000_0000_8000_0001, 0x8000_0000_8000_8081, 0x8000_0000_0000_8009,
    0x0000_0000_0000_008a, 0x0000_0000_0000_0088, 0x0000_0000_8000_8009, 0x0000_0000_8000_000a,
    0x0000_0000_8000_808b, 0x8000_0000_0000_008b, 0x8000_0000_0000_8089, 0x8000_0000_0000_8003,
    0x8000_0000_0000_8002, 0x8000_0000_0000_0080, 0x0000_0000_0000_800a, 0x8000_0000_8000_000a,
    0x8000_0000_8000_8081, 0x8000_0000_0000_8080, 0x0000_0000_8000_0001, 0x8000_0000_8000_8008,
];

/// How far rho rotates each word (FIPS 202, table 2, modulo 64).
#[rustfmt::skip]
pub(crate) const RHO: [i32; 25] = [
     0,  1, 62, 28, 27,
    36, 44,  6, 55, 20,
     3, 10, 43, 25, 39,
    41, 45, 15, 21,  8,
    18,  2, 61, 56, 14,
];

/// Where pi takes word `(x, y)` from (FIPS 202, section 3.2.3).
pub(crate) const fn pi_source(x: usize, y: usize) -> usize {
    (x + 3 * y) % 5 + 5 * x
}

/// Applies Keccak-f\[1600\] to each lane.
pub fn permute(cpu: Cpu, state: &mut State) {
    #[cfg(target_arch = "x86_64")]
    use crate::cpu::Token;
    #[cfg(target_arch = "x86_64")]
    match cpu.token() {
        Token::Avx512(token) => token.keccak_f1600(state),
        Token::Avx2(token) => token.keccak_f1600(state),
        Token::Portable => portable_keccak::keccak_f1600(state),
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = cpu;
        portable_keccak::keccak_f1600(state);
    }
}

/// SHA3-256 of each message. Fastest where neighbours take the same number of blocks of 136 bytes: the lanes of a
/// permutation wait for the longest.
///
/// # Panics
/// Where there are not as many digests as messages.
pub fn sha3_256(cpu: Cpu, messages: &[&[u8]], digests: &mut [[u8; 32]]) {
    assert_eq!(messages.len(), digests.len());
    for (messages, digests) in messages.chunks(LANES).zip(digests.chunks_mut(LANES)) {
        let blocks = |message: &&[u8]| message.len() / RATE + 1;
        let longest = messages.iter().map(blocks).max().unwrap_or_default();
        let mut state = [[0; LANES]; 25];
        for block in 0..longest {
            for (lane, message) in messages.iter().enumerate() {
                if let Some(rest) = message.get(block * RATE..) {
                    absorb(&mut state, lane, rest);
                }
            }
            permute(cpu, &mut state);
            for (lane, (message, digest)) in messages.iter().zip(&mut *digests).enumerate() {
                if block + 1 == blocks(message) {
                    for (bytes, words) in digest.as_chunks_mut().0.iter_mut().zip(&state) {
                        *bytes = words[lane].to_le_bytes();
                    }
                }
            }
        }
    }
}

/// Adds the next block of a message of which `rest` is left: its last one, with the padding of SHA-3 (FIPS 202,
/// section 6.1 and B.2), where less than a block is.
fn absorb(state: &mut State, lane: usize, rest: &[u8]) {
    let mut last = [0; RATE];
    let block = rest.first_chunk().unwrap_or_else(|| {
        last[..rest.len()].copy_from_slice(rest);
        last[rest.len()] = 0x06;
        last[RATE - 1] |= 0x80;
        &last
    });
    for (words, bytes) in state.iter_mut().zip(block.as_chunks().0) {
        words[lane] ^= u64::from_le_bytes(*bytes);
    }
}
