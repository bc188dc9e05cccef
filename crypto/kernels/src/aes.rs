//! AES-256 (FIPS 197) in counter mode: bytes for sampling.
//!
//! The vector kernel encrypts sixteen counters of one key, or four of each of four keys, at a time, and makes the round keys
//! in its registers. Elsewhere the crate `aes` does both, on the processor's instructions where it has them.

use crate::Cpu;
use aes::Aes256Enc;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 16;

/// Keys whose streams [`streams`] makes together.
pub const KEYS: usize = 4;

/// Overwrites `out` with `AES(key, first), AES(key, first + 1), ..`, counters being little-endian. A last partial block takes
/// a counter of its own.
///
/// # Panics
/// If the low word of a counter overflows.
pub fn stream(cpu: Cpu, key: &[u8; KEY_BYTES], first: u128, out: &mut [u8]) {
    let blocks = out.len().div_ceil(BLOCK_BYTES) as u64;
    assert!((first as u64).checked_add(blocks).is_some(), "counters of one stream share their high word");
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = cpu.vaes() {
        return token.aes_stream(key, first, out);
    }
    let _ = cpu;
    with_library(key, first, out);
}

/// The streams from counter zero of four keys.
///
/// # Panics
/// Unless the streams are equally long, a multiple of 64 bytes.
pub fn streams(cpu: Cpu, keys: &[[u8; KEY_BYTES]; KEYS], mut out: [&mut [u8]; KEYS]) {
    let len = out[0].len();
    assert!(len.is_multiple_of(KEYS * BLOCK_BYTES) && out.iter().all(|out| out.len() == len));
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = cpu.vaes() {
        return token.aes_streams(keys, out);
    }
    for (key, out) in keys.iter().zip(&mut out) {
        stream(cpu, key, 0, out);
    }
}

/// The slow twin.
pub(crate) fn with_library(key: &[u8; KEY_BYTES], first: u128, out: &mut [u8]) {
    let cipher = Aes256Enc::new(key.into());
    let mut counter = first;
    let mut next = || {
        let block = counter.to_le_bytes();
        counter += 1;
        block.into()
    };
    let (blocks, rest) = Array::slice_as_chunks_mut(out);
    blocks.iter_mut().for_each(|block| *block = next());
    cipher.encrypt_blocks(blocks);
    if !rest.is_empty() {
        let mut block = next();
        cipher.encrypt_block(&mut block);
        rest.copy_from_slice(&block[..rest.len()]);
    }
}
