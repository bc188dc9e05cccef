//! The layout of embeddings in the plaintext ring.
//!
//! With `Y = X^128`, `Z_t[X]/(X^4096 + 1)` is the product of 32 lanes `Z_t[X]/(X^128 - c_i)`. A polynomial is 128
//! interleaved polynomials in `Y`, one per power of `X` below 128; going from lanes to coefficients interpolates each
//! of them from its values at `c_0..c_31`.

use crate::modulus::Modulus;
use crate::share::{Share, centre};
use crate::transform::Transform;
use crate::{DIM, Embedding, LANES, N, T};
use trefoil_kernels::{Cpu, fermat};
use zeroize::Zeroizing;

/// The constants of the 32 lanes.
pub(crate) struct Lanes {
    cpu: Cpu,
    modulus: Modulus,
    /// `1 / c_i` modulo t.
    inverse_roots: [u64; LANES],
    evaluation: Transform,
}

impl Lanes {
    pub(crate) fn new(cpu: Cpu) -> Lanes {
        let modulus = Modulus::new(T);
        let roots = fermat::roots().map(|root| modulus.reduce_signed(i64::from(root)));
        Lanes {
            cpu,
            modulus,
            inverse_roots: roots.map(|root| modulus.inverse(root)),
            evaluation: Transform::new(modulus, fermat::ROOT as u64, 1),
        }
    }

    /// Writes the centred coefficients of the polynomial whose lane `i` is `sum of x_k X^k` of the lane's probe, and
    /// zero in the other lanes.
    pub(crate) fn place_probes<'a>(
        &self,
        probes: impl Iterator<Item = (usize, &'a Embedding)>,
        out: &mut [i32],
    ) {
        assert_eq!(out.len(), N);
        out.fill(0);
        for (lane, probe) in probes {
            for (place, &value) in out[DIM * lane..DIM * (lane + 1)].iter_mut().zip(probe.values()) {
                *place = i32::from(value);
            }
        }
        fermat::interpolate_columns(self.cpu, out);
    }

    /// Writes the centred coefficients of the polynomial whose lane `i` is `sum of x_k X^k` of the lane's share of a probe.
    pub(crate) fn place_shares<'a>(&self, shares: impl Iterator<Item = (usize, &'a Share)>, out: &mut [i32]) {
        assert_eq!(out.len(), N);
        out.fill(0);
        for (lane, share) in shares {
            out[DIM * lane..DIM * (lane + 1)].copy_from_slice(&*Zeroizing::new(share.centred()));
        }
        fermat::interpolate_columns(self.cpu, out);
    }

    /// Writes the centred coefficients of the polynomial that is zero outside `lane`, and inside it
    /// `y_0 + sum over k >= 1 of y_k c^-1 X^(128 - k)`: times a probe, `X^k X^(128 - k) = c` cancels `c^-1`, so that the
    /// constant coefficient is the inner product.
    pub(crate) fn place_template(&self, lane: usize, template: &Share, out: &mut [i32]) {
        assert_eq!(out.len(), N);
        out.fill(0);
        let row = &mut out[DIM * lane..DIM * (lane + 1)];
        for (k, &value) in Zeroizing::new(template.centred()).iter().enumerate() {
            let twisted =
                self.modulus.mul(self.modulus.reduce_signed(i64::from(value)), self.inverse_roots[lane]);
            row[(DIM - k) % DIM] = if k == 0 { value } else { centre(twisted as u32) };
        }
        fermat::interpolate_columns(self.cpu, out);
    }

    /// The template in `lane` of a polynomial whose lane is `sum of coefficients_k X^k`: undoes [`Lanes::place_template`].
    pub(crate) fn read_template(&self, lane: usize, coefficients: &[i32; DIM]) -> Share {
        let root = self.modulus.inverse(self.inverse_roots[lane]);
        let residue = |k: usize| self.modulus.reduce_signed(i64::from(coefficients[k]));
        Share::from_residues(std::array::from_fn(|k| {
            let value = if k == 0 { residue(0) } else { self.modulus.mul(residue(DIM - k), root) };
            value as u32
        }))
    }

    /// The constant coefficients of the 32 lanes, centred, of a polynomial whose coefficients of `X^0, X^128, ..` are
    /// `folded`, as residues modulo t.
    pub(crate) fn read_constants(&self, mut folded: [u64; LANES]) -> [i32; LANES] {
        self.evaluation.evaluate(&mut folded);
        folded.map(|x| centre(x as u32))
    }
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
        let embedding = |rng: &mut Drbg| {
            let mut bytes = [0u8; DIM];
            rng.fill(&mut bytes);
            Embedding::quantise(&bytes.map(|x| f32::from(x) - 127.5)).expect("a random vector")
        };
        let (mut p, mut m, mut row) = (vec![0; N], vec![0; N], vec![0; N]);
        // Lane 9 has a probe and no template, lane 10 a template and no probe, lane 11 neither.
        let probes: Vec<_> =
            (0..LANES).filter(|i| ![10, 11].contains(i)).map(|i| (i, embedding(&mut rng))).collect();
        let templates: Vec<_> =
            (0..LANES).filter(|i| ![9, 11].contains(i)).map(|i| (i, embedding(&mut rng))).collect();
        lanes.place_probes(probes.iter().map(|(lane, probe)| (*lane, probe)), &mut p);
        for (lane, template) in &templates {
            lanes.place_template(*lane, &Share::of(template), &mut row);
            m.iter_mut().zip(&row).for_each(|(m, x)| *m += x);
        }
        let product = schoolbook(&p, &m);
        let scores = lanes.read_constants(std::array::from_fn(|k| product[DIM * k] as u64));
        for (lane, score) in scores.into_iter().enumerate() {
            let of =
                |set: &[(usize, Embedding)]| set.iter().find(|(at, _)| *at == lane).map(|(_, e)| e.clone());
            let expected = of(&probes).zip(of(&templates)).map_or(0, |(x, y)| x.dot(&y));
            assert_eq!(score, expected, "lane {lane}");
        }
    }
}
