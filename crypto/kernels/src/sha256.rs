//! The SHA-256 compression function (FIPS 180-4, section 6.2.2) on many independent lanes.
//!
//! Word-major layout: element `i` of a state or block holds word `i` of every lane. Words are numbers; a caller with bytes
//! decodes them big-endian. Padding is the caller's.

#[cfg(target_arch = "x86_64")]
use crate::cpu::Token;
use crate::{Cpu, portable_sha256};

/// Independent hashes per call: two interleaved vectors of AVX-512. The SHA extensions take four lanes at a time.
pub const LANES: usize = 32;

/// One 32-bit word of every lane.
pub type Words = [u32; LANES];

/// The state before the first block (FIPS 180-4, section 5.3.3).
pub const INITIAL_STATE: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// The round constants (FIPS 180-4, section 4.2.2), sixteen to a row.
#[rustfmt::skip]
pub(crate) const ROUND_CONSTANTS: [[u32; 16]; 4] = [
    [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    ],
    [
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    ],
    [
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    ],
    [
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ],
];

/// Bits of a chain's hash: the block of the midstate, 22 bytes of address, 16 of value.
pub(crate) const CHAIN_BITS: u32 = 8 * (64 + 22 + 16);

/// The one bit that begins the padding of a chain's hash, in the low half of the word that ends the value.
pub(crate) const CHAIN_PADDING: u32 = 0x8000;

/// Hash chains as in WOTS+ of FIPS 205 (n = 16, SHA-256): `values[i + 1]` becomes the first four words of the
/// compression, from `midstate`, of the 22 bytes `address`, the 16 bytes `values[i]`, and the padding. The given value is
/// `values[0]`; the others are written. The last two bytes of the address, in the high half of its last word, count up
/// with the steps; the low half is zero.
pub fn chain(cpu: Cpu, midstate: &[Words; 8], address: &[Words; 6], values: &mut [[Words; 4]]) {
    #[cfg(target_arch = "x86_64")]
    match (cpu.token(), cpu.sha()) {
        (Token::Avx512(token), _) => token.sha256_chain(midstate, address, values),
        (Token::Avx2(_), Some(token)) => token.sha256_chain(midstate, address, values),
        _ => chain_by(|state, block| compress(cpu, state, block), midstate, address, values),
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        #[cfg(target_arch = "aarch64")]
        if let Some(token) = cpu.sha() {
            return token.sha256_chain(midstate, address, values);
        }
        chain_by(|state, block| compress(cpu, state, block), midstate, address, values);
    }
}

/// [`chain`] by any compression function: its definition.
pub fn chain_by(
    mut compress: impl FnMut(&mut [Words; 8], &[Words; 16]),
    midstate: &[Words; 8],
    address: &[Words; 6],
    values: &mut [[Words; 4]],
) {
    let mut block = [[0; LANES]; 16];
    block[..5].copy_from_slice(&address[..5]);
    block[15] = [CHAIN_BITS; LANES];
    for step in 1..values.len() {
        let mut half = address[5].map(|word| word.wrapping_add(((step - 1) as u32) << 16));
        for (row, words) in block[5..].iter_mut().zip(values[step - 1]) {
            for ((row, half), word) in row.iter_mut().zip(&mut half).zip(words) {
                *row = *half | word >> 16;
                *half = word << 16;
            }
        }
        block[9] = half.map(|half| half | CHAIN_PADDING);
        let mut state = *midstate;
        compress(&mut state, &block);
        values[step].copy_from_slice(&state[..4]);
    }
}

/// Replaces each lane's state by its compression with that lane's block.
pub fn compress(cpu: Cpu, state: &mut [Words; 8], block: &[Words; 16]) {
    #[cfg(target_arch = "x86_64")]
    match (cpu.token(), cpu.sha()) {
        (Token::Avx512(token), _) => token.sha256_compress(state, block),
        (Token::Avx2(_), Some(token)) => token.sha256_compress(state, block),
        (Token::Avx2(token), None) => token.sha256_compress(state, block),
        (Token::Portable, _) => portable_sha256::sha256_compress(state, block),
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        #[cfg(target_arch = "aarch64")]
        if let Some(token) = cpu.sha() {
            return token.sha256_compress(state, block);
        }
        portable_sha256::sha256_compress(state, block);
    }
}
