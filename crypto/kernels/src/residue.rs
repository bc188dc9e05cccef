//! Vectors of residues modulo a prime below 2^47.

use crate::{Cpu, dispatch};

/// Exclusive bound on moduli: with it, 32 residues sum to less than 2^52, the operand size of the IFMA multiplier.
pub const MODULUS_BOUND: u64 = 1 << 47;

/// Exclusive bound on the operands of [`fold`].
pub const OPERAND_BOUND: u64 = 1 << 52;

/// Exclusive bound on the sums that [`mul_add`] and [`mul_add_variable`] add to. A transform's values are below it.
pub const SUM_BOUND: u64 = (1 << 52) - 2 * MODULUS_BOUND;

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

/// `factor[i] * 2^52 mod q`: the form in which [`mul_add`] takes a fixed factor (Montgomery's), of half the size that the
/// factor and its quotients would have.
///
/// # Panics
/// Unless the lengths agree.
pub fn scale(q: u64, factor: &[u64], out: &mut [u64]) {
    assert_eq!(factor.len(), out.len());
    for (scaled, &a) in out.iter_mut().zip(factor) {
        *scaled = ((u128::from(a) << 52) % u128::from(q)) as u64;
    }
}

/// `acc[i] = (acc[i] + factor[i] * x[i]) mod q`, for the factor of which [`scale`] made `scaled`, `x` below 2^52 and `acc`
/// below [`SUM_BOUND`]. The result is reduced.
///
/// # Panics
/// Unless the lengths agree and are a multiple of 8, and `q` is odd with `2 < q < 2^47`.
pub fn mul_add(cpu: Cpu, q: u64, scaled: &[u64], x: &[u64], acc: &mut [u64]) {
    let n = acc.len();
    assert!(q > 2 && q % 2 == 1 && q < MODULUS_BOUND && n.is_multiple_of(8));
    assert!(scaled.len() == n && x.len() == n);
    debug_assert!(scaled.iter().all(|v| *v < q) && x.iter().all(|v| *v < OPERAND_BOUND));
    debug_assert!(acc.iter().all(|v| *v < SUM_BOUND));
    dispatch!(cpu, mul_add(q, scaled, x, acc));
}

/// The factor that undoes [`scale`]: `2^-52 mod q`, by halving 52 times.
#[cfg(target_arch = "x86_64")]
pub(crate) fn inverse_of_2_52(q: u64) -> u64 {
    (0..52).fold(1, |x: u64, _| if x.is_multiple_of(2) { x / 2 } else { x.midpoint(q) })
}

/// `acc[i] = (acc[i] + x[i] * y[i]) mod q`, with `x` below `32q`, `y` below `28q` and `acc` below [`SUM_BOUND`]: the sum of a
/// batch times a transform plus a residue. The result is reduced.
///
/// # Panics
/// Unless the lengths agree and are a multiple of 8, and `q` is odd with `2 < q < 2^47`.
pub fn mul_add_variable(cpu: Cpu, q: u64, x: &[u64], y: &[u64], acc: &mut [u64]) {
    let n = acc.len();
    assert!(q > 2 && q % 2 == 1 && q < MODULUS_BOUND && n.is_multiple_of(8));
    assert!(x.len() == n && y.len() == n);
    debug_assert!(x.iter().all(|v| *v < 32 * q) && y.iter().all(|v| *v < 28 * q));
    debug_assert!(acc.iter().all(|v| *v < SUM_BOUND));
    dispatch!(cpu, mul_add_variable(q, x, y, acc));
}
