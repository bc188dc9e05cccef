//! Products of residues for AVX2 with FMA: integers in doubles, as in [`super::avx2_ntt`].
//!
//! A product `x y` is exact as its rounding `h` and the remainder `fma(x, y, -h)`. The double `h / q` differs from the quotient by
//! its own rounding to an integer and by 3 in 2^53 of its size. So with a quotient below 2^52, what [`Prime::rest`] leaves is an
//! integer of at most `2q` in size, congruent to the product, and with one below 2^50 of at most `q`.

use super::avx2_ntt::{load, store};
use crate::residue::inverse_of_2_52;
use std::arch::x86_64::{
    __m256d, _CMP_GE_OQ, _CMP_LT_OQ, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _mm256_add_pd,
    _mm256_and_pd, _mm256_cmp_pd, _mm256_fmsub_pd, _mm256_fnmadd_pd, _mm256_mul_pd, _mm256_or_pd,
    _mm256_round_pd, _mm256_set1_pd, _mm256_setzero_pd, _mm256_sub_pd, _mm256_xor_pd,
};

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

/// 2^52: the doubles from here to 2^53 are its bits with an integer below 2^52 in the low ones.
const TWO_52: f64 = 4_503_599_627_370_496.0;

#[target_feature(enable = "avx2,fma")]
pub(super) fn mul_add(q: u64, scaled: &[u64], x: &[u64], acc: &mut [u64]) {
    let prime = Prime::new(q);
    let unscale = inverse_of_2_52(q);
    let centred = if unscale > q / 2 { unscale as f64 - q as f64 } else { unscale as f64 };
    let unscale = _mm256_set1_pd(centred);
    let operands = scaled.as_chunks::<4>().0.iter().zip(x.as_chunks::<4>().0);
    for (sum, (a, x)) in acc.as_chunks_mut::<4>().0.iter_mut().zip(operands) {
        let twice_scaled = prime.product(real(load(a)), real(load(x)));
        let product = prime.product(twice_scaled, unscale);
        store(sum, word(prime.reduced(_mm256_add_pd(real(load(sum)), product))));
    }
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn mul_add_variable(q: u64, x: &[u64], y: &[u64], acc: &mut [u64]) {
    let prime = Prime::new(q);
    let operands = x.as_chunks::<4>().0.iter().zip(y.as_chunks::<4>().0);
    for (sum, (x, y)) in acc.as_chunks_mut::<4>().0.iter_mut().zip(operands) {
        // One factor of at most q keeps the quotient small.
        let product = prime.product(prime.rest(real(load(x))), real(load(y)));
        store(sum, word(prime.reduced(_mm256_add_pd(real(load(sum)), product))));
    }
}

/// A prime below 2^47 and its reciprocal.
#[derive(Clone, Copy)]
struct Prime {
    q: __m256d,
    reciprocal: __m256d,
}

impl Prime {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(q: u64) -> Prime {
        Prime { q: _mm256_set1_pd(q as f64), reciprocal: _mm256_set1_pd(1.0 / q as f64) }
    }

    /// An integer congruent to `x y`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn product(self, x: __m256d, y: __m256d) -> __m256d {
        let rounded = _mm256_mul_pd(x, y);
        _mm256_add_pd(self.rest(rounded), _mm256_fmsub_pd(x, y, rounded))
    }

    /// `x` less a multiple of q near it.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn rest(self, x: __m256d) -> __m256d {
        let quotient = _mm256_round_pd::<NEAREST>(_mm256_mul_pd(x, self.reciprocal));
        _mm256_fnmadd_pd(quotient, self.q, x)
    }

    /// `x mod q`, for integers below 2^53 in size.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn reduced(self, x: __m256d) -> __m256d {
        let rest = self.rest(x);
        let is_negative = _mm256_cmp_pd::<_CMP_LT_OQ>(rest, _mm256_setzero_pd());
        let rest = _mm256_add_pd(rest, _mm256_and_pd(is_negative, self.q));
        let is_large = _mm256_cmp_pd::<_CMP_GE_OQ>(rest, self.q);
        _mm256_sub_pd(rest, _mm256_and_pd(is_large, self.q))
    }
}

/// Integers below 2^52, read as words, to doubles.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn real(words: __m256d) -> __m256d {
    let two_52 = _mm256_set1_pd(TWO_52);
    _mm256_sub_pd(_mm256_or_pd(words, two_52), two_52)
}

/// Doubles that are integers from 0 to below 2^52 to words.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn word(x: __m256d) -> __m256d {
    let two_52 = _mm256_set1_pd(TWO_52);
    _mm256_xor_pd(_mm256_add_pd(x, two_52), two_52)
}
