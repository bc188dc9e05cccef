//! Bounds on the error of a masked batch, in absolute size. `NOTES.md` derives them.

use crate::{LANES, N, T};

/// Largest size of a centred binomial error of parameter 21.
pub const ERROR_MAX: u128 = 21;

/// Largest size of a coefficient of `p + t * r`, for a centred `p` and a ternary `r`.
pub const MULTIPLIER_MAX: u128 = (T as u128 - 1) / 2 + T as u128;

/// Largest size of a message coefficient in the sum of 32 templates, each the difference of two centred shares.
const MESSAGE_MAX: u128 = LANES as u128 * (T as u128 - 1);

/// Largest possible error of a coefficient of an honest batch before flooding, about 2^38.1: the worst case, not a
/// tail bound.
///
/// The sum of 32 template errors times the multiplier; the fresh error of `c1` times the sum of 32 ternary keys; the
/// multiples of `t` in message times multiplier, each of which leaves an error of one (because `Q = 1 mod t`).
pub const HONEST_MAX: u128 = N as u128 * (LANES as u128 * ERROR_MAX) * MULTIPLIER_MAX
    + N as u128 * ERROR_MAX * LANES as u128
    + N as u128 * MESSAGE_MAX * MULTIPLIER_MAX / T as u128
    + 1;

/// Largest possible error of a coefficient of a product of two ciphertexts, about 2^42.0, as [`HONEST_MAX`].
///
/// The error of the templates times the probes, a probe being the sum of two centred shares; their messages times the error
/// of the probes; `t` times the product of both errors; the multiples of `t` in message times probe; and the encryption
/// of zero, whose last part is multiplied by the square of a ternary key, of coefficients up to N.
pub const HONEST_PRODUCT_MAX: u128 = {
    let (templates, probes) = (LANES as u128 * (ERROR_MAX + 1), T as u128 - 1);
    let n = N as u128;
    n * templates * probes
        + n * MESSAGE_MAX * ERROR_MAX
        + n * T as u128 * templates * ERROR_MAX
        + n * MESSAGE_MAX * probes / T as u128
        + n * ERROR_MAX * (2 + n)
        + ERROR_MAX
        + 1
};

/// Independent uniform terms of one flooding sample.
pub const FLOOD_TERMS: usize = 3;

/// Bits of each uniform term.
pub const FLOOD_TERM_BITS: u32 = 68;

/// Largest size of a flooding sample, just below 2^68.6.
pub const FLOOD_MAX: u128 = sum_max(FLOOD_TERMS, FLOOD_TERM_BITS);

/// Largest size of a centred sum of `terms` uniform integers of `bits` bits.
pub(crate) const fn sum_max(terms: usize, bits: u32) -> u128 {
    terms as u128 * ((1 << bits) - 1) / 2
}

/// Independent uniform terms of one flooding sample of a tag, and bits of each. A tag needs no room for messages, so its flooding need
/// not reach the band; anything that a forged `c1` can add to a phase without a guess of the tag key is as small as this. `NOTES.md`, section 6.
pub const TAG_FLOOD_TERMS: usize = 3;
/// See [`TAG_FLOOD_TERMS`].
pub const TAG_FLOOD_TERM_BITS: u32 = 50;

/// A key-holder's tag key is the sum of this many keys.
pub const TAG_SUMMANDS: u128 = 2;

/// Largest error that an honest tag can show, just above 2^50.6: flooding, the errors of the tag basis times the multiplier, and the
/// error of `c1` times the key.
pub const TAG_BAND_MAX: u128 = sum_max(TAG_FLOOD_TERMS, TAG_FLOOD_TERM_BITS)
    + TAG_SUMMANDS * N as u128 * ERROR_MAX * MULTIPLIER_MAX
    + TAG_SUMMANDS * N as u128 * ERROR_MAX;

/// Largest error that an honest batch of any kind can show. A batch of random residues exceeds it in almost all of its coefficients.
pub const BAND_MAX: u128 = FLOOD_MAX + HONEST_PRODUCT_MAX;

/// In each of its ciphertexts an honest batch has a coefficient with at least this error: one flooding sample falls below 2^53 with
/// probability 1.5 * 2^-15, and so all 8 of the widest lanes with 2^-115. A batch that was not flooded has none.
pub const BAND_MIN: u128 = 1 << 53;

/// Bits that the largest possible error of an honest batch, flooding included, stays below the limit of correct decryption.
/// Spare bits go to this margin and not to flooding: `NOTES.md`, section 5, says why.
pub const MARGIN_BITS: u32 = 8;

/// Standard deviation of the error before flooding, for `templates` freshly enrolled subjects.
///
/// A coefficient is a sum of N products of a template error (variance 21/2 per template) and a multiplier (variance
/// `t^2 * (1/12 + 2/3)`); the other terms of [`HONEST_MAX`] are below 3 % of it.
pub fn predicted_deviation(templates: usize) -> f64 {
    let t = T as f64;
    (10.5 * templates as f64 * N as f64 * (1.0 / 12.0 + 2.0 / 3.0)).sqrt() * t
}

/// Standard deviation of the error of a product of two ciphertexts before flooding, for `templates` subjects.
///
/// With template errors of variance `21/2` each, probe errors of variance `21/2`, and messages and probes that are sums of two
/// uniform residues (variance `t^2 / 6`): `t * e * e'` dominates, `e * x` and `m * e'` add 2 %.
pub fn predicted_product_deviation(templates: usize) -> f64 {
    let (t, n, templates) = (T as f64, N as f64, templates as f64);
    (n * t * t * (10.5 * 10.5 * templates + 2.0 * 10.5 * templates / 6.0)).sqrt()
}

// Decryption is correct whenever |E| < Q / 2t; `Params` compares BAND_MAX with its Q. Fewer and wider lanes make errors smaller.
const _: () = assert!(
    HONEST_MAX < HONEST_PRODUCT_MAX
        && HONEST_PRODUCT_MAX < 1 << 43
        && HONEST_PRODUCT_MAX < BAND_MIN
        && FLOOD_MAX < 1 << 69
);
