//! Parameter sets: only sound ones exist.

use crate::modulus::is_prime;
use crate::{N, T, noise, threshold};
use trefoil_kernels::residue::MODULUS_BOUND;

/// Most primes of a parameter set.
pub(crate) const PRIMES_MAX: usize = 3;

/// Largest ciphertext modulus, in bits, to which the Homomorphic Encryption Standard (2018) gives 128 bits of security
/// against quantum adversaries at N = 4096 with ternary secrets. Against classical ones it allows 109.
const MODULUS_BITS_MAX: u32 = 101;

/// The primes of the ciphertext modulus `Q`. Holding one is proof that the checks of [`Params::new`] passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    primes: Vec<u64>,
    product: u128,
}

/// Why primes are not a parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParamsError {
    /// There are no primes, or more than three.
    #[error("a parameter set has 1 to {PRIMES_MAX} primes, not {0}")]
    Count(usize),
    /// A prime is too large for the kernels.
    #[error("{0} is not below 2^47: the kernels sum 32 residues in 52 bits")]
    TooLarge(u64),
    /// A number is not prime.
    #[error("{0} is not prime")]
    NotPrime(u64),
    /// A prime occurs twice.
    #[error("the prime {0} occurs twice")]
    Repeated(u64),
    /// A prime has no 8192nd roots of unity.
    #[error("{0} is not 1 mod {degree}: the ring has no NTT modulo it", degree = 2 * N)]
    NoTransform(u64),
    /// The product is not 1 mod t.
    #[error(
        "the product of the primes is not 1 mod {T}: products of plaintexts would wrap with a large error"
    )]
    ProductModT,
    /// The product is too large to be secure.
    #[error(
        "the product of the primes exceeds 2^{MODULUS_BITS_MAX}, the limit for 128-bit security at N = {N}"
    )]
    Insecure,
    /// The product is too small to be correct.
    #[error(
        "the product of the primes leaves less than {} bits between the flooded error and the limit of decryption, or less than {} with \
         three key-holders",
        noise::MARGIN_BITS,
        threshold::QUORUM_MARGIN_BITS
    )]
    NoMargin,
}

impl Params {
    /// A parameter set with the ciphertext modulus `Q = primes[0] * primes[1] * ...`.
    ///
    /// # Errors
    /// [`ParamsError`] unless there are one to three distinct primes below 2^47, each 1 mod 8192, with a product that is 1
    /// mod 65537, within the security limit for N = 4096, and large enough that every honest batch decrypts with
    /// [`noise::MARGIN_BITS`] bits to spare, or [`threshold::QUORUM_MARGIN_BITS`] with three key-holders.
    pub fn new(primes: &[u64]) -> Result<Params, ParamsError> {
        if primes.is_empty() || primes.len() > PRIMES_MAX {
            return Err(ParamsError::Count(primes.len()));
        }
        for (i, &q) in primes.iter().enumerate() {
            if q >= MODULUS_BOUND {
                return Err(ParamsError::TooLarge(q));
            }
            if !is_prime(q) {
                return Err(ParamsError::NotPrime(q));
            }
            if primes[..i].contains(&q) {
                return Err(ParamsError::Repeated(q));
            }
            if q % (2 * N as u64) != 1 {
                return Err(ParamsError::NoTransform(q));
            }
        }
        let product = primes.iter().try_fold(1u128, |product, &q| product.checked_mul(u128::from(q)));
        let product =
            product.filter(|product| *product <= 1 << MODULUS_BITS_MAX).ok_or(ParamsError::Insecure)?;
        if product % u128::from(T) != 1 {
            return Err(ParamsError::ProductModT);
        }
        let limit = product / (2 * u128::from(T));
        let narrow = noise::BAND_MAX << noise::MARGIN_BITS >= limit
            || threshold::QUORUM_BAND_MAX << threshold::QUORUM_MARGIN_BITS >= limit;
        if narrow {
            return Err(ParamsError::NoMargin);
        }
        Ok(Params { primes: primes.to_vec(), product })
    }

    /// The one set in use: `Q = 140720308191233 * 140700980543489`, 94 bits.
    ///
    /// # Panics
    /// Never: a test builds the set.
    pub fn lanes94() -> Params {
        Params::new(&[140_720_308_191_233, 140_700_980_543_489]).expect("the set passes its own checks")
    }

    /// The primes.
    pub fn primes(&self) -> &[u64] {
        &self.primes
    }

    /// Their product `Q`.
    pub fn modulus(&self) -> u128 {
        self.product
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: u64 = 140_720_308_191_233;
    const B: u64 = 140_700_980_543_489;

    /// Claim M25.
    #[test]
    fn the_set_in_use_has_the_stated_size() {
        let params = Params::lanes94();
        assert_eq!(params.modulus(), u128::from(A) * u128::from(B));
        assert_eq!(params.modulus().ilog2() + 1, 94);
        assert_eq!(params.primes(), [A, B]);
        // Room between the largest honest error and the limit of correct decryption: a factor of 341, or 8.4 bits; with
        // three key-holders 10, or 3.4 bits.
        let limit = params.modulus() / (2 * u128::from(T));
        assert_eq!((limit / noise::BAND_MAX, limit / threshold::QUORUM_BAND_MAX), (341, 10));
    }

    /// Claim M25: An honest batch always decrypts correctly: no sum of worst-case errors reaches the limit, and parameters that would allow
    /// one are refused.
    #[test]
    fn each_check_refuses_what_only_it_refuses() {
        assert_eq!(Params::new(&[]), Err(ParamsError::Count(0)));
        assert_eq!(Params::new(&[A; 4]), Err(ParamsError::Count(4)));
        assert_eq!(Params::new(&[A, (1 << 47) + 1]), Err(ParamsError::TooLarge((1 << 47) + 1)));
        assert_eq!(Params::new(&[A, B - 8192]), Err(ParamsError::NotPrime(B - 8192)));
        assert_eq!(Params::new(&[A, A]), Err(ParamsError::Repeated(A)));
        // A prime that is 1 mod 4096 but not mod 8192, and one far from either.
        assert_eq!(Params::new(&[A, 12_289]), Err(ParamsError::NoTransform(12_289)));
        assert_eq!(Params::new(&[A, 65_539]), Err(ParamsError::NoTransform(65_539)));
        // 65537 itself is 1 mod 8192, so only the product reveals it.
        assert_eq!(Params::new(&[A, 65_537]), Err(ParamsError::ProductModT));
        // One prime decrypts nothing once the batch is flooded.
        assert_eq!(Params::new(&[A]), Err(ParamsError::NoMargin));
    }

    /// Claim M5: Parameter sets over the security limit are refused.
    #[test]
    fn a_third_prime_exceeds_the_security_limit() {
        let third =
            (1..).map(|k| A - k * 8192 * 65_537).find(|q| is_prime(*q) && *q != B).expect("primes are dense");
        assert_eq!(Params::new(&[A, B, third]), Err(ParamsError::Insecure));
        // Two primes of 44 bits do not hold this flooding.
        assert_eq!(Params::new(&[17_588_159_447_041, 17_582_253_776_897]), Err(ParamsError::NoMargin));
    }
}
