//! The negacyclic number-theoretic transform of 4096 points modulo a prime below 2^47.
//!
//! It evaluates a polynomial at the 4096 roots of `X^4096 + 1`. With `r` the root given to [`Ntt::new`], value `j` is the
//! one at `r^(2 * rev(order(j)) + 1)`: [`order`] is bit-reversed order but for the last six bits, whose two octal digits
//! are swapped, because that spares the vector tier a transposition. Blocks of 128 adjacent values, over which the
//! 128th power of the point is constant, are those of bit-reversed order.
//!
//! Nothing is reduced on the way: every one of the twelve stages adds at most `2q` to a value in the portable twin, at
//! most `q` to one that starts `12q` higher in the AVX-512 tier, and at most `3/4 q` in the AVX2 tier, so that results are below `26q`, which is below 2^52.
//! They are congruent to the exact values; tiers agree modulo q.

use crate::cpu::Token;
use crate::packed::Ahead;
use crate::residue::MODULUS_BOUND;
use crate::{Cpu, Tier, portable_ntt};

/// Points of the transform.
pub const POINTS: usize = 4096;

/// A vector's worth of words in one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Line(pub(crate) [u64; 8]);

/// Twiddle factors that one broadcast serves: those of the first nine stages.
const BROADCAST: usize = 512;

/// The transform modulo one prime, with its tables (240 KiB).
pub struct Ntt {
    cpu: Cpu,
    pub(crate) q: u64,
    /// `w_k = r^rev(k)` and `floor(w_k * 2^64 / q)`, for the portable twin.
    pub(crate) factors: Vec<[u64; 2]>,
    /// `w_k` and its quotient by `q` as the vector tier takes them, for k below 512: see [`vector_factor`].
    pub(crate) broadcast: Vec<[u64; 2]>,
    /// The same for the last three stages: for each group of 64 values seven vectors, one lane per eighth of the group.
    pub(crate) lanes: Vec<[[Line; 2]; 7]>,
}

impl Ntt {
    /// The transform modulo `q` with the root of unity `root`.
    ///
    /// # Panics
    /// Unless `q` is odd and below 2^47, and the 4096th power of `root` is -1.
    pub fn new(cpu: Cpu, q: u64, root: u64) -> Ntt {
        assert!(q % 2 == 1 && q < MODULUS_BOUND && root < q);
        let mut powers = vec![1u64; POINTS];
        for k in 1..POINTS {
            powers[k] = mul(powers[k - 1], root, q);
        }
        assert_eq!(mul(powers[POINTS - 1], root, q), q - 1, "the root has order 8192");
        let factor = |k: usize| powers[k.reverse_bits() >> (usize::BITS - POINTS.ilog2())];
        let vector = |group: usize, first: usize, stride: usize| {
            let each: [[u64; 2]; 8] = std::array::from_fn(|lane| {
                vector_factor(cpu, q, factor(first + stride * (8 * group + lane)))
            });
            [Line(each.map(|pair| pair[0])), Line(each.map(|pair| pair[1]))]
        };
        let lanes = |group: usize| {
            let stages = [(512, 1), (1024, 2), (1025, 2), (2048, 4), (2049, 4), (2050, 4), (2051, 4)];
            stages.map(|(first, stride)| vector(group, first, stride))
        };
        Ntt {
            cpu,
            q,
            factors: (0..POINTS).map(|k| shoup(q, factor(k), 64)).collect(),
            broadcast: (0..BROADCAST).map(|k| vector_factor(cpu, q, factor(k))).collect(),
            lanes: (0..POINTS / 64).map(lanes).collect(),
        }
    }

    /// Coefficients, below `2q`, to values below `26q`, in place.
    ///
    /// # Panics
    /// Unless `x` has 4096 places.
    pub fn forward(&self, x: &mut [u64]) {
        let x: &mut [u64; POINTS] = x.try_into().expect("4096 coefficients");
        debug_assert!(x.iter().all(|v| *v < 2 * self.q));
        match self.cpu.token() {
            #[cfg(target_arch = "x86_64")]
            Token::Avx512(token) => token.ntt_forward(self, x),
            #[cfg(target_arch = "x86_64")]
            Token::Avx2(token) => token.ntt_forward(self, x),
            Token::Portable => portable_ntt::forward(self, x),
        }
    }

    /// Small signed coefficients, less than `q` in size, to values below `26q`.
    ///
    /// # Panics
    /// Unless `x` and `out` have 4096 places.
    pub fn forward_small(&self, x: &[i32], out: &mut [u64]) {
        self.forward_small_ahead(x, out, &mut Ahead::none());
    }

    /// The same, prefetching lines of the next sum in passing.
    ///
    /// # Panics
    /// As [`Ntt::forward_small`].
    pub fn forward_small_ahead(&self, x: &[i32], out: &mut [u64], ahead: &mut Ahead<'_>) {
        let x: &[i32; POINTS] = x.try_into().expect("4096 coefficients");
        let out: &mut [u64; POINTS] = out.try_into().expect("4096 values");
        match self.cpu.token() {
            #[cfg(target_arch = "x86_64")]
            Token::Avx512(token) => token.ntt_forward_small(self, x, out, ahead),
            // Only the tier whose transforms are faster than memory gains by prefetching.
            #[cfg(target_arch = "x86_64")]
            Token::Avx2(token) => token.ntt_forward_small(self, x, out),
            Token::Portable => {
                let _ = ahead;
                crate::residue::lift(self.cpu, self.q, x, out);
                portable_ntt::forward(self, out);
            }
        }
    }
}

/// `w` and `floor(w * 2^bits / q)`.
fn shoup(q: u64, w: u64, bits: u32) -> [u64; 2] {
    [w, ((u128::from(w) << bits) / u128::from(q)) as u64]
}

/// `w` and its quotient by `q`: for AVX2 as doubles, with `w` centred; for AVX-512 in 52 bits.
fn vector_factor(cpu: Cpu, q: u64, w: u64) -> [u64; 2] {
    if cpu.tier() == Tier::Avx2 {
        let centred = if w > q / 2 { w as f64 - q as f64 } else { w as f64 };
        return [centred, centred / q as f64].map(f64::to_bits);
    }
    shoup(q, w, 52)
}

/// The place in bit-reversed order of the value that stands at `place`: its last two octal digits are swapped.
pub const fn order(place: usize) -> usize {
    place / 64 * 64 + place % 8 * 8 + place / 8 % 8
}

fn mul(a: u64, b: u64, q: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}

/// The inverse of an odd number modulo 2^64. Each of Newton's steps doubles the number of right bits, of which `q * q = 1
/// mod 8` gives the first three.
pub(crate) fn inverse_mod_word(q: u64) -> u64 {
    (0..5).fold(q, |x, _| x.wrapping_mul(2u64.wrapping_sub(q.wrapping_mul(x))))
}
