//! From uniform bytes to the small distributions of lattice cryptography.

use crate::{Cpu, dispatch};

/// Bytes that one centred binomial sample takes.
pub const BINOMIAL_BYTES: usize = 8;

/// Digits that one byte of [`add_ternary`] holds: 3^5 = 243 fits a byte.
pub const TRITS_PER_BYTE: usize = 5;

/// Exclusive bound on the bytes of [`add_ternary`].
pub const TRITS_BOUND: u8 = 243;

/// Centred binomial samples of parameter 21 (variance 21/2): the weight of bits 0..21 minus that of bits 21..42 of
/// each little-endian 8-byte word.
///
/// # Panics
/// Unless `random` has 8 bytes per sample.
pub fn centred_binomial_21(cpu: Cpu, random: &[u8], out: &mut [i32]) {
    assert_eq!(random.len(), BINOMIAL_BYTES * out.len());
    dispatch!(cpu, centred_binomial_21(random, out));
}

/// Adds `scale` times ternary digits in {-1, 0, 1} to `acc`: with B bytes, `acc[k * B + i]` takes digit `k` of the base-3
/// expansion of `bytes[i]`. Digits beyond `acc` are unused. Uniform bytes below 243 give uniform, independent digits.
///
/// # Panics
/// Unless `acc` has more than `4 * bytes.len()` and at most `5 * bytes.len()` places.
pub fn add_ternary(cpu: Cpu, bytes: &[u8], scale: i32, acc: &mut [i32]) {
    assert!(acc.len() <= TRITS_PER_BYTE * bytes.len() && acc.len() > (TRITS_PER_BYTE - 1) * bytes.len());
    debug_assert!(bytes.iter().all(|byte| *byte < TRITS_BOUND));
    dispatch!(cpu, add_ternary(bytes, scale, acc));
}
