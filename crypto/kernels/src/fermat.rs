//! The 32-point negacyclic transform modulo the Fermat prime 65537, on many columns at once.
//!
//! `X^32 + 1` splits modulo 65537 into 32 linear factors `X - c_i` with `c_i = r^(2*rev(i) + 1)`, where `r` is a 64th
//! root of unity and `rev` reverses five bits. The root used here is the square root of two, `2^12 - 2^4`:
//! its square is `2^24 - 2^17 + 2^8 = 2`, because `2^16 = -1`.

use crate::{Cpu, dispatch};

/// The modulus.
pub const MODULUS: i32 = 65_537;

/// Points of the transform, and rows of a matrix.
pub const POINTS: usize = 32;

/// A primitive 64th root of unity: the square root of two.
pub const ROOT: i32 = (1 << 12) - (1 << 4);

/// Largest size of a centred residue.
pub const CENTRED_MAX: i32 = 32_768;

/// Interpolates each column of a 32-row matrix: on entry row `i` holds the value at `c_i` of each column's polynomial,
/// on return row `k` holds its coefficient of `X^k`. Entries are centred residues, at most 32,768 in size.
///
/// # Panics
/// Unless the length of `matrix` (row-major) is a multiple of 32.
pub fn interpolate_columns(cpu: Cpu, matrix: &mut [i32]) {
    assert!(matrix.len().is_multiple_of(POINTS));
    debug_assert!(matrix.iter().all(|x| x.abs() <= CENTRED_MAX));
    dispatch!(cpu, interpolate_columns(matrix));
}

/// The roots `c_0..c_31` in order, as centred residues.
pub const fn roots() -> [i32; POINTS] {
    let mut roots = [0; POINTS];
    let mut i = 0;
    while i < POINTS {
        roots[i] = power(ROOT, 2 * reverse_5(i) + 1);
        i += 1;
    }
    roots
}

/// Reverses the low five bits.
pub(crate) const fn reverse_5(i: usize) -> usize {
    i.reverse_bits() >> (usize::BITS - 5)
}

/// `base^exponent`, centred.
pub(crate) const fn power(base: i32, exponent: usize) -> i32 {
    let mut result = 1i64;
    let mut i = 0;
    while i < exponent {
        result = result * base as i64 % MODULUS as i64;
        i += 1;
    }
    let result = result as i32;
    if result > CENTRED_MAX {
        result - MODULUS
    } else if result < -CENTRED_MAX {
        result + MODULUS
    } else {
        result
    }
}
