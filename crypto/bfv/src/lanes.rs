//! The layout of embeddings in the plaintext ring.
//!
//! With `Y = X^128`, `Z_t[X]/(X^4096 + 1)` is the product of 32 lanes `Z_t[X]/(X^128 - c_i)`. A polynomial is 128
//! interleaved polynomials in `Y`, one per power of `X` below 128; going from lanes to coefficients interpolates each
//! of them from its values at `c_0..c_31`.
//!
//! A lane of 256 or 512 numbers is `Z_t[X]/(X^256 - c)` or `Z_t[X]/(X^512 - c)`, which splits into two or four neighbours of the 32.

use crate::modulus::Modulus;
use crate::shape;
use crate::share::{Share, centre};
use crate::transform::Transform;
use crate::{BLOCK, Embedding, LANES, N, T, Width};
use trefoil_kernels::{Cpu, fermat};

/// The constants of the lanes.
pub(crate) struct Lanes {
    cpu: Cpu,
    modulus: Modulus,
    /// `c_i` modulo t, for lanes of 128 numbers.
    roots: [u64; LANES],
    evaluation: Transform,
}

impl Lanes {
    pub(crate) fn new(cpu: Cpu) -> Lanes {
        let modulus = Modulus::new(T);
        let roots = fermat::roots().map(|root| modulus.reduce_signed(i64::from(root)));
        Lanes { cpu, modulus, roots, evaluation: Transform::new(modulus, fermat::ROOT as u64, 1) }
    }

    /// `c` of a ciphertext's lane `X^d - c`. Each `X^128 - c_i` that it splits into has `c_i^(d / 128) = c`.
    fn root(&self, width: Width, lane: usize) -> u64 {
        let parts = width.numbers() / BLOCK;
        self.modulus.pow_vartime(self.roots[parts * lane], parts as u64)
    }

    /// Writes the centred coefficients of the polynomial whose lane `i` is `sum of x_k X^k` of the lane's probe, and
    /// zero in the other lanes. Lanes are those of one ciphertext.
    pub(crate) fn place_probes<'a>(
        &self,
        width: Width,
        probes: impl Iterator<Item = (usize, &'a Embedding)>,
        out: &mut [i32],
    ) {
        let probes = probes.map(|(lane, probe)| (lane, probe.values().iter().map(|x| i32::from(*x))));
        self.place(width, probes, out);
    }

    /// The same for shares of probes.
    pub(crate) fn place_shares<'a>(
        &self,
        width: Width,
        shares: impl Iterator<Item = (usize, &'a Share)>,
        out: &mut [i32],
    ) {
        self.place(width, shares.map(|(lane, share)| (lane, share.centred())), out);
    }

    /// Writes the centred coefficients of the polynomial that is zero outside `lane` of a batch, and inside it
    /// `y_0 + sum over k >= 1 of y_k c^-1 X^(d - k)`: times a probe, `X^k X^(d - k) = c` cancels `c^-1`, so that the
    /// constant coefficient is the inner product.
    pub(crate) fn place_template(&self, lane: usize, template: &Share, out: &mut [i32]) {
        let width = template.width();
        let lane = shape::place(width, lane);
        let inverse = self.modulus.inverse(self.root(width, lane));
        out.fill(0);
        let row = &mut out[width.numbers() * lane..width.numbers() * (lane + 1)];
        for (k, value) in template.centred().enumerate() {
            let twisted = self.modulus.mul(self.modulus.reduce_signed(i64::from(value)), inverse);
            row[(width.numbers() - k) % width.numbers()] =
                if k == 0 { value } else { centre(twisted as u32) };
        }
        self.interpolate(width, out);
    }

    /// The template in `lane` of a polynomial whose lane is `sum of coefficients_k X^k`: undoes [`Lanes::place_template`].
    pub(crate) fn read_template(&self, width: Width, lane: usize, coefficients: &[i32]) -> Share {
        let root = self.root(width, shape::place(width, lane));
        let residue = |x: &i32| self.modulus.reduce_signed(i64::from(*x));
        let twisted = coefficients[1..].iter().rev().map(|x| self.modulus.mul(residue(x), root));
        let residues = std::iter::once(residue(&coefficients[0])).chain(twisted);
        Share::from_residues(residues.map(|x| x as u32).collect())
    }

    /// The constant coefficients of the lanes of a batch, centred, whose polynomials' coefficients of `X^0, X^d, ..` are
    /// `folded`, as residues modulo t, one ciphertext after the other. Overwrites them.
    pub(crate) fn read_constants(&self, width: Width, folded: &mut [u64; LANES]) -> [i32; LANES] {
        folded.chunks_exact_mut(width.lanes()).for_each(|folded| self.evaluation.evaluate(folded));
        folded.map(|x| centre(x as u32))
    }

    /// Writes the coefficients of the polynomial with these lanes, and zero in the others.
    fn place(
        &self,
        width: Width,
        lanes: impl Iterator<Item = (usize, impl Iterator<Item = i32>)>,
        out: &mut [i32],
    ) {
        out.fill(0);
        for (lane, values) in lanes {
            let row = &mut out[width.numbers() * lane..width.numbers() * (lane + 1)];
            row.iter_mut().zip(values).for_each(|(place, value)| *place = value);
        }
        self.interpolate(width, out);
    }

    /// From lanes to coefficients. A wide lane is first taken modulo the factors of `X^2h - c^2 = (X^h - c) (X^h + c)`, until they are
    /// the 32 of 128 numbers.
    fn interpolate(&self, width: Width, out: &mut [i32]) {
        assert_eq!(out.len(), N);
        let mut half = width.numbers() / 2;
        while half >= BLOCK {
            for (i, lane) in out.chunks_exact_mut(2 * half).enumerate() {
                let parts = half / BLOCK;
                let root = self.modulus.pow_vartime(self.roots[2 * parts * i], parts as u64);
                let root = centre(root as u32);
                let (lower, upper) = lane.split_at_mut(half);
                for (a, b) in lower.iter_mut().zip(upper) {
                    let product = centred(*b * root);
                    (*a, *b) = (centred(*a + product), centred(*a - product));
                }
            }
            half /= 2;
        }
        fermat::interpolate_columns(self.cpu, out);
    }
}

/// The centred residue of `x` modulo 65537, because `2^16 = -1`. Constant time.
fn centred(x: i32) -> i32 {
    let residue = (x & 0xffff) - (x >> 16);
    residue - (T as i32 & ((32_768 - residue) >> 31))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Drbg;

    /// The product of two polynomials modulo `X^4096 + 1` and t, by the definition.
    fn schoolbook(a: &[i32], b: &[i32]) -> Vec<i64> {
        let mut product = vec![0i64; N];
        for (i, &x) in a.iter().enumerate() {
            for (j, &y) in b.iter().enumerate() {
                let term = i64::from(x) * i64::from(y);
                if i + j < N { product[i + j] += term } else { product[i + j - N] -= term }
            }
        }
        product.iter().map(|x| x.rem_euclid(T as i64)).collect()
    }

    #[test]
    fn a_product_of_polynomials_holds_the_inner_products() {
        let mut rng = Drbg::from_seed([1; 32]);
        let lanes = Lanes::new(Cpu::detected());
        for width in Width::ALL {
            let (mut p, mut m, mut row) = (vec![0; N], vec![0; N], vec![0; N]);
            // Lane 2 has a probe and no template, lane 3 a template and no probe, lane 4 neither.
            let all = || 0..width.lanes();
            let probes: Vec<_> = all()
                .filter(|i| ![3, 4].contains(i))
                .map(|i| (i, Embedding::random(width, &mut rng)))
                .collect();
            let templates: Vec<_> = all()
                .filter(|i| ![2, 4].contains(i))
                .map(|i| (i, Embedding::random(width, &mut rng)))
                .collect();
            lanes.place_probes(width, probes.iter().map(|(lane, probe)| (*lane, probe)), &mut p);
            assert!(p.iter().all(|x| x.abs() <= 32_768));
            for (lane, template) in &templates {
                lanes.place_template(*lane, &Share::of(template), &mut row);
                m.iter_mut().zip(&row).for_each(|(m, x)| *m += x);
            }
            let product = schoolbook(&p, &m);
            let mut folded = [0; LANES];
            for (place, x) in folded.iter_mut().zip(product.iter().step_by(width.numbers())) {
                *place = *x as u64;
            }
            let scores = lanes.read_constants(width, &mut folded);
            for (lane, score) in scores.into_iter().enumerate() {
                let of = |set: &[(usize, Embedding)]| {
                    set.iter().find(|(at, _)| *at == lane).map(|(_, e)| e.clone())
                };
                let expected = of(&probes).zip(of(&templates)).map_or(0, |(x, y)| x.dot(&y));
                assert_eq!(score, expected, "lane {lane} of {width:?}");
            }
        }
    }

    #[test]
    fn any_product_is_centred() {
        for x in [
            0,
            1,
            -1,
            32_768,
            32_769,
            -32_768,
            -32_769,
            65_536,
            65_537,
            1 << 30,
            -(1 << 30),
            i32::MAX,
            i32::MIN,
        ] {
            let residue = i64::from(centred(x));
            assert!(residue.abs() <= 32_768 && (residue - i64::from(x)) % 65_537 == 0, "{x}");
        }
    }
}
