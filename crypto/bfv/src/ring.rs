//! The ciphertext ring `Z_Q[X]/(X^4096 + 1)`, one prime of Q at a time.
//!
//! Polynomials live in the NTT domain: their values at the 4096 roots of `X^4096 + 1`, in the order of
//! [`trefoil_kernels::ntt`]. In that order the 128 points with equal `zeta^128` are adjacent, so that the coefficients of
//! `X^0, X^128, ..` need only 32 sums and a 32-point transform ([`Limb::fold`]), and likewise with 256 and 512. Transforms are not
//! reduced: their values are below `26q`, which the products and folds take as they are.

use crate::modulus::{Factor, Modulus};
use crate::transform::Transform;
use crate::{BLOCK, LANES, N, Params, T};
use trefoil_kernels::ntt::Ntt;
#[cfg(test)]
use trefoil_kernels::ntt::order;
use trefoil_kernels::packed::Ahead;
use trefoil_kernels::{Cpu, residue};

/// The ring modulo one prime.
pub(crate) struct Limb {
    cpu: Cpu,
    modulus: Modulus,
    ntt: Ntt,
    folding: Transform,
    /// `Delta = (Q - 1) / t` modulo the prime.
    delta: Factor,
    /// `(Q / q)^-1` modulo the prime q.
    garner: Factor,
    /// `floor(2^110 / q)`.
    fraction: u64,
}

impl Limb {
    /// One limb per prime of `params`.
    pub(crate) fn all(params: &Params, cpu: Cpu) -> Vec<Limb> {
        params.primes().iter().map(|&q| Limb::new(params, q, cpu)).collect()
    }

    fn new(params: &Params, q: u64, cpu: Cpu) -> Limb {
        let modulus = Modulus::new(q);
        let root = root_of_unity(&modulus);
        // Q = 0 modulo q, so Delta = -1 / t.
        let delta = modulus.factor(modulus.neg(modulus.inverse(T)));
        let cofactor = modulus.reduce_wide(params.modulus() / u128::from(q));
        Limb {
            cpu,
            modulus,
            ntt: Ntt::new(cpu, q, root),
            folding: Transform::new(modulus, modulus.pow_vartime(root, BLOCK as u64), N as u64),
            delta,
            garner: modulus.factor(modulus.inverse(cofactor)),
            fraction: ((1u128 << 110) / u128::from(q)) as u64,
        }
    }

    pub(crate) fn modulus(&self) -> &Modulus {
        &self.modulus
    }

    /// The NTT, not reduced, of a polynomial with small signed coefficients.
    pub(crate) fn transform_small(&self, x: &[i32], out: &mut [u64]) {
        self.ntt.forward_small(x, out);
    }

    /// The same, prefetching lines of the next sum in passing.
    pub(crate) fn transform_small_ahead(&self, x: &[i32], out: &mut [u64], ahead: &mut Ahead<'_>) {
        self.ntt.forward_small_ahead(x, out, ahead);
    }

    /// The NTT, not reduced, of a polynomial with reduced coefficients, in place.
    pub(crate) fn transform(&self, x: &mut [u64]) {
        self.ntt.forward(x);
    }

    /// The NTT, not reduced, of `Delta * message + error`, for centred coefficients.
    pub(crate) fn transform_scaled(&self, message: &[i32], error: &[i32], out: &mut [u64]) {
        let m = &self.modulus;
        for ((out, &message), &error) in out.iter_mut().zip(message).zip(error) {
            let scaled = m.mul_factor(m.reduce_signed(i64::from(message)), &self.delta);
            *out = m.add(scaled, m.reduce_signed(i64::from(error)));
        }
        self.ntt.forward(out);
    }

    /// The form in which [`Limb::mul_add`] takes a fixed factor, which is reduced.
    pub(crate) fn scale(&self, factor: &[u64], out: &mut [u64]) {
        residue::scale(self.modulus.value(), factor, out);
    }

    /// `acc += factor * x`, value by value, for a factor that was scaled. The other operands need not be reduced; the result is.
    pub(crate) fn mul_add(&self, scaled: &[u64], x: &[u64], acc: &mut [u64]) {
        residue::mul_add(self.cpu, self.modulus.value(), scaled, x, acc);
    }

    /// `acc += x * y`, value by value, for `x` below `32q`, a sum of a batch, and `y` below `28q`. The result is reduced.
    pub(crate) fn mul_add_variable(&self, x: &[u64], y: &[u64], acc: &mut [u64]) {
        residue::mul_add_variable(self.cpu, self.modulus.value(), x, y, acc);
    }

    /// The coefficients of `X^0, X^d, .., X^(4096 - d)` of the product of two polynomials, given their NTTs, for as many as `out` has
    /// room for: 32 with `d = 128`, 16 with 256, 8 with 512. Values may be unreduced, below 2^52.
    ///
    /// Block b of d adjacent points has `zeta^d = w_b`. Over a block, the powers `zeta^k` with k below d sum to zero
    /// unless k = 0, so the sum of the product's values is d times the value at `w_b` of the polynomial in `Y = X^d`
    /// whose coefficients are wanted.
    pub(crate) fn fold(&self, x: &[u64], y: &[u64], out: &mut [u64]) {
        let mut sums = [0u128; LANES];
        residue::fold(self.cpu, x, y, &mut sums);
        // Below 2^113: the sum of four blocks of 128 products of two words below 2^52.
        let blocks = LANES / out.len();
        for (out, blocks) in out.iter_mut().zip(sums.chunks_exact(blocks)) {
            *out = self.modulus.reduce_wide(blocks.iter().sum());
        }
        self.folding.interpolate(out);
    }

    /// This limb's part of `t * v / Q`, as an integer modulo t and a fraction in units of 2^-64, where `v` is its residue.
    ///
    /// With `y = v * (Q / q)^-1 mod q`, `v / Q` is the sum of `y / q` over the limbs, modulo 1. The fraction falls short by
    /// less than 2^-62.
    pub(crate) fn scale_down(&self, v: u64) -> (u64, u64) {
        let y = self.modulus.mul_factor(v, &self.garner);
        // y < 2^47 and t < 2^17: the product fits a word.
        let product = y * T;
        let rest = self.modulus.reduce(product);
        let whole = self.divide(product - rest);
        (whole, ((u128::from(rest) * u128::from(self.fraction)) >> 46) as u64)
    }

    /// `x / q` for a multiple `x` of q. The reciprocal falls short by less than 1, so its product with `x / 2^110` falls short of
    /// the quotient by less than 2^-46; rounding makes up for it.
    fn divide(&self, x: u64) -> u64 {
        ((u128::from(x) * u128::from(self.fraction) + (1 << 109)) >> 110) as u64
    }
}

/// The root of unity of order 8192 behind the stored form of polynomials: `x^((q - 1) / 8192)` for the smallest x that
/// gives one.
fn root_of_unity(modulus: &Modulus) -> u64 {
    let q = modulus.value();
    let candidate = |x| modulus.pow_vartime(x, (q - 1) / (2 * N as u64));
    let is_root = |root: &u64| modulus.pow_vartime(*root, N as u64) == q - 1;
    (2..q).map(candidate).find(is_root).expect("Params checked that the prime has a transform")
}

#[cfg(test)]
impl Limb {
    /// The coefficients, centred, of a polynomial given by its NTT. The inverse transform is the forward one with the inverse
    /// root, but for powers of the root before and after.
    pub(crate) fn centred_coefficients(&self, values: &[u64]) -> Vec<i64> {
        let (m, q) = (&self.modulus, self.modulus.value());
        let root = root_of_unity(m);
        let inverse_root = m.inverse(root);
        let mut x = vec![0; N];
        for (place, value) in values.iter().enumerate() {
            let exponent = order(place).reverse_bits() >> (usize::BITS - N.ilog2());
            x[exponent] = m.mul(m.reduce(*value), m.pow_vartime(root, exponent as u64));
        }
        Ntt::new(self.cpu, q, inverse_root).forward(&mut x);
        let scale = m.inverse(N as u64);
        let mut coefficients = vec![0; N];
        for (place, value) in x.iter().enumerate() {
            let exponent = order(place).reverse_bits() >> (usize::BITS - N.ilog2());
            let unshifted = m.mul(m.reduce(*value), m.pow_vartime(inverse_root, exponent as u64));
            coefficients[exponent] = m.mul(unshifted, scale);
        }
        coefficients.iter().map(|&x| if x > q / 2 { x as i64 - q as i64 } else { x as i64 }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Drbg;
    use proptest::prelude::*;

    fn limbs() -> Vec<Limb> {
        Limb::all(&Params::lanes94(), Cpu::detected())
    }

    /// A polynomial of uniform residues, from a seed.
    fn uniform(limb: &Limb, seed: u64) -> Vec<u64> {
        let mut drbg = Drbg::from_seed(std::array::from_fn(|i| (seed >> (i % 8 * 8)) as u8));
        let mut bytes = vec![0; 16 * N];
        drbg.fill(&mut bytes);
        bytes.as_chunks().0.iter().map(|x| limb.modulus.reduce_wide(u128::from_le_bytes(*x))).collect()
    }

    fn forward(limb: &Limb, x: &[u64]) -> Vec<u64> {
        let mut x = x.to_vec();
        limb.ntt.forward(&mut x);
        x.iter().map(|x| limb.modulus.reduce(*x)).collect()
    }

    fn product(limb: &Limb, x: &[u64], y: &[u64]) -> Vec<u64> {
        let (mut scaled, mut acc) = (vec![0; N], vec![0; N]);
        limb.scale(x, &mut scaled);
        limb.mul_add(&scaled, y, &mut acc);
        acc
    }

    fn sum(limb: &Limb, x: &[u64], y: &[u64]) -> Vec<u64> {
        x.iter().zip(y).map(|(x, y)| limb.modulus.add(*x, *y)).collect()
    }

    /// The product modulo `X^4096 + 1` and q, by the definition.
    fn schoolbook(q: u64, x: &[u64], y: &[u64]) -> Vec<u64> {
        let q = u128::from(q);
        let mut product = vec![0u128; N];
        for (i, &x) in x.iter().enumerate().filter(|(_, x)| **x != 0) {
            for (j, &y) in y.iter().enumerate() {
                // Below 2^94 + 4096 * 2^94: no overflow before the final reduction.
                let term = u128::from(x) * u128::from(y);
                if i + j < N { product[i + j] += term } else { product[i + j - N] += (q << 47) - term }
            }
        }
        product.iter().map(|x| (x % q) as u64).collect()
    }

    #[test]
    fn products_of_transforms_are_negacyclic_products() {
        for (seed, limb) in limbs().iter().enumerate() {
            let (x, y) = (uniform(limb, 2 * seed as u64), uniform(limb, 2 * seed as u64 + 1));
            let expected = schoolbook(limb.modulus.value(), &x, &y);
            let (x_hat, y_hat) = (forward(limb, &x), forward(limb, &y));
            assert_eq!(product(limb, &x_hat, &y_hat), forward(limb, &expected));
            for lanes in [32, 16, 8] {
                let mut folded = vec![0; lanes];
                limb.fold(&x_hat, &y_hat, &mut folded);
                assert!(folded.iter().eq(expected.iter().step_by(N / lanes)), "{lanes}");
            }
        }
    }

    #[test]
    fn products_are_those_of_another_library() {
        for (seed, limb) in limbs().iter().enumerate() {
            let (x, y) = (uniform(limb, 3 * seed as u64), uniform(limb, 3 * seed as u64 + 1));
            let plan = tfhe_ntt::prime64::Plan::try_new(N, limb.modulus.value()).expect("a transform");
            let (mut theirs, mut factor) = (x.clone(), y.clone());
            plan.fwd(&mut theirs);
            plan.fwd(&mut factor);
            plan.mul_assign_normalize(&mut theirs, &factor);
            plan.inv(&mut theirs);
            let ours = product(limb, &forward(limb, &x), &forward(limb, &y));
            let q = limb.modulus.value() as i64;
            let coefficients: Vec<u64> =
                limb.centred_coefficients(&ours).iter().map(|x| x.rem_euclid(q) as u64).collect();
            assert!(coefficients == theirs);
        }
    }

    #[test]
    fn the_roots_of_the_transform_are_pinned() {
        // Stored templates are transforms: another choice of root would make them unreadable.
        let roots: Vec<u64> = limbs().iter().map(|limb| root_of_unity(&limb.modulus)).collect();
        assert_eq!(roots, PINNED_ROOTS);
    }

    const PINNED_ROOTS: [u64; 2] = [39_963_691_766_735, 56_030_182_093_518];

    #[test]
    fn scaling_down_rounds_multiples_of_delta_to_themselves() {
        let (params, limbs) = (Params::lanes94(), limbs());
        let delta = (params.modulus() - 1) / u128::from(T);
        for message in [0, 1, 2, 32_768, 32_769, 65_535, 65_536u64] {
            for error in [0i128, 1, -1, 1 << 76, -(1 << 76)] {
                let v = (delta * u128::from(message)) as i128 + error;
                let v = v.rem_euclid(params.modulus() as i128) as u128;
                let (mut whole, mut fraction) = (0u64, 0u128);
                for limb in &limbs {
                    let (w, f) = limb.scale_down(limb.modulus.reduce_wide(v));
                    whole += w;
                    fraction += u128::from(f);
                }
                let rounded = (u128::from(whole) + ((fraction + (1 << 63)) >> 64)) % u128::from(T);
                assert_eq!(rounded, u128::from(message), "message {message}, error {error}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]
        #[test]
        fn the_ring_axioms_hold(a: u64, b: u64, c: u64) {
            let limb = &limbs()[0];
            let (x, y, z) = (uniform(limb, a), uniform(limb, b), uniform(limb, c));
            prop_assert_eq!(product(limb, &x, &y), product(limb, &y, &x));
            prop_assert_eq!(product(limb, &x, &product(limb, &y, &z)), product(limb, &product(limb, &x, &y), &z));
            prop_assert_eq!(
                product(limb, &x, &sum(limb, &y, &z)),
                sum(limb, &product(limb, &x, &y), &product(limb, &x, &z))
            );
            prop_assert_eq!(sum(limb, &forward(limb, &x), &forward(limb, &y)), forward(limb, &sum(limb, &x, &y)));
            prop_assert_eq!(product(limb, &x, &vec![1; N]), x);
        }
    }
}
