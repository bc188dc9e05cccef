//! From uniform bytes to the small distributions of lattice cryptography.

use crate::{Cpu, dispatch};

/// Bytes that one centred binomial sample takes.
pub const BINOMIAL_BYTES: usize = 6;

/// Digits that one byte of [`add_ternary`] holds: 3^5 = 243 fits a byte.
pub const TRITS_PER_BYTE: usize = 5;

/// Exclusive bound on the bytes of [`add_ternary`].
pub const TRITS_BOUND: u8 = 243;

/// Centred binomial samples of parameter 21 (variance 21/2): the weight of bits 0..21 minus that of bits 21..42 of
/// each little-endian word of six bytes.
///
/// # Panics
/// Unless `random` has six bytes per sample.
pub fn centred_binomial_21(cpu: Cpu, random: &[u8], out: &mut [i32]) {
    assert_eq!(random.len(), BINOMIAL_BYTES * out.len());
    dispatch!(cpu, centred_binomial_21(random, out));
}

/// Bytes beyond its result that [`accept_trits`] may write: one vector.
pub const ACCEPT_SLACK: usize = 64;

/// Copies the bytes of `drawn` that are below [`TRITS_BOUND`], in order, to the front of `out`, and returns their number.
///
/// Timing and addresses reveal the number and the positions of rejected bytes; these reveal nothing about accepted ones.
///
/// # Panics
/// Unless the length of `drawn` is a multiple of 64 and `out` is longer by [`ACCEPT_SLACK`] or more.
pub fn accept_trits(cpu: Cpu, drawn: &[u8], out: &mut [u8]) -> usize {
    assert!(drawn.len().is_multiple_of(64) && out.len() >= drawn.len() + ACCEPT_SLACK);
    dispatch!(cpu, accept_trits(drawn, out))
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

/// Coefficients of a polynomial of [`sum_ternary`].
pub const TRIT_POLYNOMIAL: usize = 4096;

/// Bytes that hold its digits, five to a byte.
pub const TRIT_BYTES: usize = TRIT_POLYNOMIAL.div_ceil(TRITS_PER_BYTE);

/// The digits of one polynomial as [`add_ternary`] takes them: 820 bytes that count, and room for [`accept_trits`] of 1024.
/// Seventeen lines, an odd number, so that polynomials in a row spread over the cache.
pub type TritBytes = [u8; 1088];

/// Most polynomials of one [`sum_ternary`].
pub const SUMMANDS_MAX: usize = 32;

/// The sum of ternary polynomials: what [`add_ternary`] adds to zeros for each of them with scale 1.
///
/// # Panics
/// If there are more than 32 polynomials.
pub fn sum_ternary(cpu: Cpu, polynomials: &[TritBytes], sum: &mut [i32; TRIT_POLYNOMIAL]) {
    assert!(polynomials.len() <= SUMMANDS_MAX);
    dispatch!(cpu, sum_ternary(polynomials, sum));
}
