//! Vectors of residues modulo a prime below 2^47.

use crate::{Cpu, dispatch};

/// Exclusive bound on moduli: with it, 32 residues sum to less than 2^52, the operand size of the IFMA multiplier.
pub const MODULUS_BOUND: u64 = 1 << 47;

/// Exclusive bound on the operands of [`fold`].
pub const OPERAND_BOUND: u64 = 1 << 52;

/// Lifts signed integers to residues: `out[i] = x[i] mod q`, for `|x[i]| < q`.
///
/// # Panics
/// Unless the lengths agree.
pub fn lift(cpu: Cpu, q: u64, x: &[i32], out: &mut [u64]) {
    assert_eq!(x.len(), out.len());
    dispatch!(cpu, lift(q, x, out));
}

/// Dot products of blocks, exactly: `out[b] = sum of x[i] * y[i]` over block `b`, the blocks being as long as each
/// other and a multiple of 8, at most 4096. Operands are below 2^52.
///
/// # Panics
/// Unless `x` and `y` have the same length, a multiple of `8 * out.len()`, with blocks of at most 4096.
pub fn fold(cpu: Cpu, x: &[u64], y: &[u64], out: &mut [u128]) {
    assert_eq!(x.len(), y.len());
    assert!(!out.is_empty() && x.len().is_multiple_of(8 * out.len()) && x.len() / out.len() <= 4096);
    debug_assert!(x.iter().chain(y).all(|v| *v < OPERAND_BOUND));
    dispatch!(cpu, fold(x, y, out));
}

/// The quotients `floor(factor[i] * 2^52 / q)` that [`mul_add`] needs beside its fixed factor (Shoup's trick).
///
/// # Panics
/// Unless the lengths agree.
pub fn quotients(q: u64, factor: &[u64], out: &mut [u64]) {
    assert_eq!(factor.len(), out.len());
    for (quotient, &a) in out.iter_mut().zip(factor) {
        *quotient = ((u128::from(a) << 52) / u128::from(q)) as u64;
    }
}

/// `acc[i] = (acc[i] + factor[i] * x[i]) mod q`, with everything in `0..q` and `quotient` from [`quotients`].
///
/// # Panics
/// Unless the lengths agree and are a multiple of 8, and `q < 2^47`.
pub fn mul_add(cpu: Cpu, q: u64, factor: &[u64], quotient: &[u64], x: &[u64], acc: &mut [u64]) {
    let n = acc.len();
    assert!(q < MODULUS_BOUND && n.is_multiple_of(8));
    assert!(factor.len() == n && quotient.len() == n && x.len() == n);
    debug_assert!(factor.iter().chain(x).chain(acc.iter()).all(|v| *v < q));
    dispatch!(cpu, mul_add(q, factor, quotient, x, acc));
}
