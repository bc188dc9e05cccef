//! Arithmetic modulo one word-sized prime, without branches on the operands.

/// An odd modulus below 2^62 with the constants for reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Modulus {
    q: u64,
    /// `floor(2^64 / q)`.
    reciprocal: u64,
    /// 2^64 mod q.
    word: Factor,
}

/// A fixed factor with its quotient `floor(value * 2^64 / q)`: Shoup's trick makes a product with it two
/// multiplications and one subtraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Factor {
    value: u64,
    quotient: u64,
}

impl Modulus {
    pub(crate) fn new(q: u64) -> Modulus {
        assert!(q > 2 && q % 2 == 1 && q < 1 << 62, "a modulus is odd and below 2^62");
        // q is odd, so floor((2^64 - 1) / q) = floor(2^64 / q).
        let reciprocal = u64::MAX / q;
        let word = ((1u128 << 64) % u128::from(q)) as u64;
        let quotient = ((u128::from(word) << 64) / u128::from(q)) as u64;
        Modulus { q, reciprocal, word: Factor { value: word, quotient } }
    }

    pub(crate) fn value(&self) -> u64 {
        self.q
    }

    /// `x mod q`.
    pub(crate) fn reduce(&self, x: u64) -> u64 {
        // The estimate is floor(x / q) or one less.
        let estimate = high(self.reciprocal, x);
        self.subtract_once(x - estimate * self.q)
    }

    /// `x mod q`.
    pub(crate) fn reduce_wide(&self, x: u128) -> u64 {
        self.add(self.mul_factor((x >> 64) as u64, &self.word), self.reduce(x as u64))
    }

    /// `x mod q`.
    pub(crate) fn reduce_signed(&self, x: i64) -> u64 {
        let size = self.reduce(x.unsigned_abs());
        let negative = (x >> 63) as u64;
        (self.neg(size) & negative) | (size & !negative)
    }

    /// `a + b mod q`, for reduced operands.
    pub(crate) fn add(&self, a: u64, b: u64) -> u64 {
        self.subtract_once(a + b)
    }

    /// `a - b mod q`, for reduced operands.
    pub(crate) fn sub(&self, a: u64, b: u64) -> u64 {
        self.subtract_once(a + self.q - b)
    }

    /// `-a mod q`, for a reduced operand.
    pub(crate) fn neg(&self, a: u64) -> u64 {
        self.subtract_once(self.q - a)
    }

    /// `a * b mod q`.
    pub(crate) fn mul(&self, a: u64, b: u64) -> u64 {
        self.reduce_wide(u128::from(a) * u128::from(b))
    }

    /// `base^exponent mod q`. Variable time in the exponent, which is public.
    pub(crate) fn pow_vartime(&self, base: u64, mut exponent: u64) -> u64 {
        let (mut result, mut square) = (1, self.reduce(base));
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = self.mul(result, square);
            }
            square = self.mul(square, square);
            exponent >>= 1;
        }
        result
    }

    /// `1 / a mod q`, for a prime q and `a` not divisible by it (Fermat's little theorem).
    pub(crate) fn inverse(&self, a: u64) -> u64 {
        self.pow_vartime(a, self.q - 2)
    }

    /// Prepares `value`, which is reduced, for [`Modulus::mul_factor`]. Variable time: for public factors.
    pub(crate) fn factor(&self, value: u64) -> Factor {
        assert!(value < self.q, "a factor is reduced");
        Factor { value, quotient: ((u128::from(value) << 64) / u128::from(self.q)) as u64 }
    }

    /// `x * factor mod q`, for any `x`.
    pub(crate) fn mul_factor(&self, x: u64, factor: &Factor) -> u64 {
        let estimate = high(factor.quotient, x);
        self.subtract_once(factor.value.wrapping_mul(x).wrapping_sub(estimate.wrapping_mul(self.q)))
    }

    /// `x mod q` for `x < 2q`: below `q` the difference wraps and is the larger of the two.
    fn subtract_once(&self, x: u64) -> u64 {
        x.min(x.wrapping_sub(self.q))
    }
}

/// The high word of a product.
fn high(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// Whether `n` is prime, by Miller and Rabin's test with the first twelve primes as bases, which is exact below 2^64
/// (Sorenson and Webster, 2015). Numbers from 2^62 on are refused: no modulus is that large.
pub(crate) fn is_prime(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if !(2..1 << 62).contains(&n) {
        return false;
    }
    if let Some(divisor) = BASES.iter().find(|base| n.is_multiple_of(**base)) {
        return n == *divisor;
    }
    let modulus = Modulus::new(n);
    let twos = (n - 1).trailing_zeros();
    BASES.iter().all(|&base| {
        let mut x = modulus.pow_vartime(base, (n - 1) >> twos);
        if x == 1 || x == n - 1 {
            return true;
        }
        (1..twos).any(|_| {
            x = modulus.mul(x, x);
            x == n - 1
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const Q: u64 = 140_720_308_191_233;

    proptest! {
        #[test]
        fn operations_are_arithmetic_mod_q(
            q in prop_oneof![Just(Q), Just(65_537), Just(3), Just((1 << 62) - 1), (1u64..1 << 61).prop_map(|x| 2 * x + 1)],
            x: u128, y: u64, z: i64,
        ) {
            let m = Modulus::new(q);
            let wide = u128::from(q);
            let (a, b) = (m.reduce_wide(x), m.reduce(y));
            prop_assert_eq!(u128::from(a), x % wide);
            prop_assert_eq!(b, y % q);
            prop_assert_eq!(i128::from(m.reduce_signed(z)), i128::from(z).rem_euclid(i128::from(q)));
            prop_assert_eq!(u128::from(m.add(a, b)), (u128::from(a) + u128::from(b)) % wide);
            prop_assert_eq!(u128::from(m.sub(a, b)), (u128::from(a) + wide - u128::from(b)) % wide);
            prop_assert_eq!(u128::from(m.neg(a)), (wide - u128::from(a)) % wide);
            prop_assert_eq!(u128::from(m.mul(a, b)), u128::from(a) * u128::from(b) % wide);
            prop_assert_eq!(u128::from(m.mul_factor(y, &m.factor(a))), u128::from(a) * u128::from(y) % wide);
        }

        #[test]
        fn inverses_multiply_to_one(a in 1..Q) {
            let m = Modulus::new(Q);
            prop_assert_eq!(m.mul(a, m.inverse(a)), 1);
        }
    }

    #[test]
    fn extremes_reduce() {
        for q in [3, 65_537, Q, (1 << 62) - 1] {
            let m = Modulus::new(q);
            assert_eq!(m.reduce(u64::MAX), u64::MAX % q);
            assert_eq!(u128::from(m.reduce_wide(u128::MAX)), u128::MAX % u128::from(q));
            assert_eq!((m.reduce(0), m.reduce(q), m.reduce(q - 1)), (0, 0, q - 1));
            assert_eq!(m.reduce_signed(i64::MIN), (i128::from(i64::MIN)).rem_euclid(i128::from(q)) as u64);
        }
    }

    #[test]
    fn primes_are_told_from_composites() {
        let sieve: Vec<u64> = (2..2000).filter(|n| (2..*n).all(|d| n % d != 0)).collect();
        assert_eq!((0..2000).filter(|n| is_prime(*n)).collect::<Vec<_>>(), sieve);
        assert!(is_prime(Q) && is_prime(140_700_980_543_489) && is_prime((1 << 61) - 1));
        // Strong pseudoprimes to several small bases, a Carmichael number, and a product of two large primes.
        for composite in [3_215_031_751, 3_825_123_056_546_413_051, 561, 2_147_483_647 * 65_537] {
            assert!(!is_prime(composite), "{composite}");
        }
    }
}
