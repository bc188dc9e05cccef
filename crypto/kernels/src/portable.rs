//! Textbook bodies: the fallback, the reference, and (inlined into functions with more instructions enabled) the
//! vector versions that the compiler writes itself.

use crate::fermat::{CENTRED_MAX, MODULUS, POINTS, ROOT, power, reverse_5};
use crate::ntt::inverse_mod_word;
use crate::packed::RESIDUE_BYTES;
use crate::sample::{TRIT_BYTES, TRIT_POLYNOMIAL, TRITS_BOUND, TritBytes};

/// One packed residue.
#[inline(always)]
pub(crate) fn residue(six: &[u8; 6]) -> u64 {
    let [a, b, c, d, e, f] = *six;
    u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
}

#[inline(always)]
pub(crate) fn pack(values: &[u64], bytes: &mut [u8]) {
    for (six, value) in bytes.as_chunks_mut::<RESIDUE_BYTES>().0.iter_mut().zip(values) {
        six.copy_from_slice(&value.to_le_bytes()[..RESIDUE_BYTES]);
    }
}

#[inline(always)]
pub(crate) fn unpack(bytes: &[u8], values: &mut [u64]) {
    for (value, six) in values.iter_mut().zip(bytes.as_chunks().0) {
        *value = residue(six);
    }
}

/// To what is in `acc` if there is `more`, else to nothing. The coming streams serve tiers that prefetch.
#[inline(always)]
pub(crate) fn add_packed(sources: &[&[u8]], _: Option<&[&[u8]]>, more: bool, acc: &mut [u64]) {
    if !more {
        acc.fill(0);
    }
    for source in sources {
        add_packed_1(source, acc);
    }
}

#[inline(always)]
pub(crate) fn add_packed_1(source: &[u8], acc: &mut [u64]) {
    for (sum, six) in acc.iter_mut().zip(source.as_chunks().0) {
        *sum += residue(six);
    }
}

#[inline(always)]
pub(crate) fn lift(q: u64, x: &[i32], out: &mut [u64]) {
    for (residue, &value) in out.iter_mut().zip(x) {
        let value = i64::from(value);
        // The arithmetic shift is all ones for negative values: adds q exactly then.
        *residue = (value + ((value >> 63) & q as i64)) as u64;
    }
}

#[inline(always)]
pub(crate) fn fold(x: &[u64], y: &[u64], out: &mut [u128]) {
    let block = x.len() / out.len();
    for ((sum, x), y) in out.iter_mut().zip(x.chunks_exact(block)).zip(y.chunks_exact(block)) {
        *sum = x.iter().zip(y).map(|(&x, &y)| u128::from(x) * u128::from(y)).sum();
    }
}

/// Montgomery's reduction with 52-bit words.
#[inline(always)]
pub(crate) fn mul_add(q: u64, scaled: &[u64], x: &[u64], acc: &mut [u64]) {
    let (reciprocal, inverse) = (u64::MAX / q, inverse_mod_word(q));
    for ((sum, &a), &x) in acc.iter_mut().zip(scaled).zip(x) {
        let product = u128::from(a) * u128::from(x);
        let multiple = (product as u64).wrapping_mul(inverse) & ((1 << 52) - 1);
        // The low 52 bits are equal; the difference of the high ones is above -q.
        let product = (product >> 52) as u64 + q - ((u128::from(multiple) * u128::from(q)) >> 52) as u64;
        *sum = reduce(*sum + product, q, reciprocal);
    }
}

/// Montgomery's reduction with 64-bit words, twice: the second time by 2^128, which makes up for both.
#[inline(always)]
pub(crate) fn mul_add_variable(q: u64, x: &[u64], y: &[u64], acc: &mut [u64]) {
    let (reciprocal, inverse) = (u64::MAX / q, inverse_mod_word(q));
    let word = (1u128 << 64) % u128::from(q);
    let square = (word * word % u128::from(q)) as u64;
    let montgomery = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        let multiple = (product as u64).wrapping_mul(inverse);
        // The low words are equal; the difference of the high ones is above -q.
        (product >> 64) as u64 + q - ((u128::from(multiple) * u128::from(q)) >> 64) as u64
    };
    for ((sum, &x), &y) in acc.iter_mut().zip(x).zip(y) {
        *sum = reduce(*sum + montgomery(montgomery(x, y), square), q, reciprocal);
    }
}

/// `x mod q`, for `reciprocal = floor(2^64 / q)`: the estimate of the quotient is right or one too small.
#[inline(always)]
fn reduce(x: u64, q: u64, reciprocal: u64) -> u64 {
    let estimate = ((u128::from(x) * u128::from(reciprocal)) >> 64) as u64;
    subtract_once(x - estimate * q, q)
}

/// `x mod q` for `x < 2q`, without a branch: below `q` the difference wraps and is the larger of the two.
#[inline(always)]
fn subtract_once(x: u64, q: u64) -> u64 {
    x.min(x.wrapping_sub(q))
}

#[inline(always)]
pub(crate) fn centred_binomial_21(random: &[u8], out: &mut [i32]) {
    const MASK: u64 = (1 << 21) - 1;
    for (sample, six) in out.iter_mut().zip(random.as_chunks().0) {
        let word = residue(six);
        *sample = (word & MASK).count_ones() as i32 - (word >> 21 & MASK).count_ones() as i32;
    }
}

#[inline(always)]
pub(crate) fn accept_trits(drawn: &[u8], out: &mut [u8]) -> usize {
    let mut count = 0;
    for &byte in drawn {
        // Always written, and overwritten by the next byte unless accepted.
        out[count] = byte;
        count += usize::from(byte < TRITS_BOUND);
    }
    count
}

/// For a byte b, floor(b / 3^k) is the high half of b * ceil(2^16 / 3^k): exact for every b below 256, which the test of
/// all bytes confirms.
pub(crate) const RECIPROCALS: [u32; 5] = [65_536, 21_846, 7_282, 2_428, 810];

#[inline(always)]
pub(crate) fn add_ternary(bytes: &[u8], scale: i32, acc: &mut [i32]) {
    let mut places = acc.chunks_mut(bytes.len());
    for reciprocal in RECIPROCALS {
        let Some(place) = places.next() else { return };
        for (sum, &byte) in place.iter_mut().zip(bytes) {
            let quotient = (u32::from(byte) * reciprocal) >> 16;
            let digit = quotient - 3 * ((quotient * 21_846) >> 16);
            *sum += scale * (digit as i32 - 1);
        }
    }
}

/// See [`crate::sample::sum_ternary`]. Digit k of a byte b is `floor(b / 3^k) - 3 floor(b / 3^(k + 1))`, and so is the sum
/// of digits of the sums of those quotients.
#[inline(always)]
pub(crate) fn sum_ternary(polynomials: &[TritBytes], acc: &mut [i32; TRIT_POLYNOMIAL]) {
    const COLUMNS: usize = 32;
    let count = polynomials.len() as i32;
    let mut at = 0;
    while at < TRIT_BYTES {
        let mut quotients = [[0u16; COLUMNS]; 5];
        for polynomial in polynomials {
            let bytes = polynomial[at..].first_chunk::<COLUMNS>().expect("padded to whole columns");
            for (sum, reciprocal) in quotients.iter_mut().zip(RECIPROCALS) {
                for (sum, byte) in sum.iter_mut().zip(bytes) {
                    *sum += ((u32::from(*byte) * reciprocal) >> 16) as u16;
                }
            }
        }
        for k in 0..5 {
            for column in 0..COLUMNS.min(TRIT_BYTES - at) {
                let next = quotients.get(k + 1).map_or(0, |next| i32::from(next[column]));
                let digits = i32::from(quotients[k][column]) - 3 * next;
                if let Some(place) = acc.get_mut(k * TRIT_BYTES + at + column) {
                    *place = digits - count;
                }
            }
        }
        at += COLUMNS;
    }
}

/// Inverse twiddles `r^-rev(k)` in the order of the decimation below; index 0 is unused.
pub(crate) const INVERSE_TWIDDLES: [i32; POINTS] = {
    let mut twiddles = [1; POINTS];
    let mut k = 1;
    while k < POINTS {
        // r has order 64.
        twiddles[k] = power(ROOT, 64 - reverse_5(k));
        k += 1;
    }
    twiddles
};

/// The inverse of 32 modulo 65537, centred: 32 * 2048 = 2^16 = -1.
pub(crate) const INVERSE_OF_POINTS: i32 = -2048;

#[inline(always)]
pub(crate) fn interpolate_columns(matrix: &mut [i32]) {
    let columns = matrix.len() / POINTS;
    let mut twiddle = POINTS;
    let mut half = 1;
    while half < POINTS {
        twiddle /= 2;
        for (group, rows) in matrix.chunks_exact_mut(2 * half * columns).enumerate() {
            let factor = INVERSE_TWIDDLES[twiddle + group];
            let (upper, lower) = rows.split_at_mut(half * columns);
            for (a, b) in upper.iter_mut().zip(lower) {
                let (sum, difference) = (*a + *b, *a - *b);
                *a = centre(sum);
                *b = centre(centre(difference) * factor);
            }
        }
        half *= 2;
    }
    for x in matrix {
        *x = centre(*x * INVERSE_OF_POINTS);
    }
}

/// The centred residue of any 32-bit integer modulo 2^16 + 1.
///
/// `x = h * 2^16 + l` is congruent to `l - h`, which lies within -32767..=98303; one subtraction centres it.
#[inline(always)]
fn centre(x: i32) -> i32 {
    let folded = (x & 0xffff) - (x >> 16);
    folded - (MODULUS & -i32::from(folded > CENTRED_MAX))
}
