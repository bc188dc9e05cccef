//! Jobs that no honest matcher makes, made by editing the encoding of an honest one.

use trefoil_kernels::{Cpu, fermat, ntt::Ntt};
use trefoil_matching::{Lane, MatchJob};

use crate::Failure;

/// The primes of the modulus.
pub(super) const PRIMES: [u64; 2] = [140_720_308_191_233, 140_700_980_543_489];
/// Bytes of the encoded `c0` (32 coefficients) and of a polynomial, both modulo both primes; a job ends with `c0`, `c1`.
const C0: usize = 2 * 32 * 6;
const POLYNOMIAL: usize = 2 * 4096 * 6;
/// Bytes of the tag before them.
const TAG: usize = 2 * 32 * 6;
const T: u128 = 65_537;
/// The largest error of an honest batch in a coefficient of `c0`.
pub(super) const FLOOD_MAX: u128 = 3 * ((1 << 68) - 1) / 2;

/// The step between two scores.
pub(super) fn delta() -> u128 {
    u128::from(PRIMES[0]) * u128::from(PRIMES[1]) / T
}

/// The bytes of a job.
pub(super) struct Forgery(Vec<u8>);

impl Forgery {
    pub(super) fn of(job: &MatchJob) -> Forgery {
        Forgery(job.to_bytes())
    }

    pub(super) fn job(&self) -> Result<MatchJob, Failure> {
        MatchJob::from_bytes(&self.0).map_err(Failure::in_step("forgery"))
    }

    fn c0(&self) -> usize {
        self.0.len() - POLYNOMIAL - C0
    }

    fn get(&self, at: usize) -> u64 {
        let mut word = [0; 8];
        word[..6].copy_from_slice(&self.0[at..at + 6]);
        u64::from_le_bytes(word)
    }

    fn put(&mut self, at: usize, residue: u64) {
        self.0[at..at + 6].copy_from_slice(&residue.to_le_bytes()[..6]);
    }

    /// Adds `value` to coefficient `index` of `c0`.
    pub(super) fn add_to_c0(&mut self, index: usize, value: u128) {
        for (limb, prime) in PRIMES.iter().enumerate() {
            let at = self.c0() + 6 * (32 * limb + index);
            let sum = (u128::from(self.get(at)) + value) % u128::from(*prime);
            self.put(at, sum as u64);
        }
    }

    /// Zeroes the tag and `c0`: a small `c1` goes with a tag of zero.
    pub(super) fn clear_tag_and_c0(&mut self) {
        let at = self.c0();
        self.0[at - TAG..at + C0].fill(0);
    }

    /// Adds `shift` to the score in a lane and to no other.
    pub(super) fn shift(&mut self, lane: Lane, shift: i32) {
        for (m, coefficient) in one_in(lane, shift).into_iter().enumerate() {
            self.add_to_c0(m, delta() * coefficient);
        }
    }

    /// Puts `value X^-k` in place of `c1`.
    pub(super) fn set_c1(&mut self, k: usize, value: i128) {
        let (at, value) = if k == 0 { (0, value) } else { (4096 - k, -value) };
        let start = self.0.len() - POLYNOMIAL;
        for (limb, (prime, ntt)) in PRIMES.iter().zip(transforms()).enumerate() {
            let mut values = vec![0u64; 4096];
            values[at] = value.rem_euclid(i128::from(*prime)) as u64;
            ntt.forward(&mut values);
            for (j, value) in values.iter().enumerate() {
                self.put(start + 6 * (4096 * limb + j), value % prime);
            }
        }
    }

    /// Uniform residues in place of `c1`.
    pub(super) fn randomise_c1(&mut self, mut draw: impl FnMut() -> u64) {
        for at in (self.0.len() - POLYNOMIAL..self.0.len()).step_by(6) {
            self.put(at, draw() % PRIMES[1]);
        }
    }

    /// Puts the ciphertext of another job in place of this one's, or adds it.
    pub(super) fn take(&mut self, other: &Forgery, add: bool) {
        let (own, theirs) = (self.c0(), other.c0());
        for at in (0..C0 + POLYNOMIAL).step_by(6) {
            let residues = if at < C0 { C0 / 2 } else { POLYNOMIAL / 2 };
            let prime = PRIMES[usize::from((if at < C0 { at } else { at - C0 }) >= residues)];
            let sum = if add { self.get(own + at) + other.get(theirs + at) } else { other.get(theirs + at) };
            self.put(own + at, sum % prime);
        }
    }
}

/// The coefficients of `X^0, X^128, ..` of the polynomial that is `score` in a lane and zero in the others, modulo t.
fn one_in(lane: Lane, score: i32) -> [u128; 32] {
    let root = i64::from(fermat::roots()[lane.index()]).rem_euclid(T as i64);
    // (1/32) sum over m of (Y / root)^m; 1/32 is -2^11, and root^-m is -root^(32 - m).
    let mut coefficient = i64::from(score) << 11;
    let mut coefficients = [0; 32];
    for at in coefficients.iter_mut().rev() {
        coefficient = coefficient * root % T as i64;
        *at = coefficient.rem_euclid(T as i64) as u128;
    }
    coefficients
}

/// Transforms for both primes, with the roots that the scheme has: the first powers that are primitive 8192nd roots of unity.
fn transforms() -> [Ntt; 2] {
    PRIMES.map(|prime| {
        let root = (2..).map(|x| power(x, (prime - 1) / 8192, prime));
        let root = root.into_iter().find(|root| power((*root).into(), 4096, prime) == prime - 1);
        Ntt::new(Cpu::detected(), prime, root.unwrap_or_default())
    })
}

fn power(mut base: u128, mut exponent: u64, prime: u64) -> u64 {
    let mut product = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product = product * base % u128::from(prime);
        }
        base = base * base % u128::from(prime);
        exponent >>= 1;
    }
    product as u64
}
