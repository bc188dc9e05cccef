//! The negacyclic transform of 32, 16 or 8 points modulo a prime: between the coefficients of a polynomial of lower degree than there are
//! points `n` and its values at the `n` roots of `Y^n + 1`. The factors of fewer points are the first of those for more.

use crate::LANES;
use crate::modulus::{Factor, Modulus};

/// Reverses the low five bits.
fn reverse_5(i: usize) -> usize {
    i.reverse_bits() >> (usize::BITS - 5)
}

/// Twiddle factors for one root. Value `i` of 32 belongs to the point `root^(2 * rev(i) + 1)`; value `i` of `32 / g` to the `g`-th power of
/// the point of value `g * i`.
pub(crate) struct Transform {
    modulus: Modulus,
    forward: [Factor; LANES],
    inverse: [Factor; LANES],
    scale: Factor,
}

impl Transform {
    /// For a primitive 64th root of unity. The interpolation multiplies with the number of points over `divisor`.
    pub(crate) fn new(modulus: Modulus, root: u64, divisor: u64) -> Transform {
        assert_eq!(modulus.pow_vartime(root, 32), modulus.value() - 1, "the root has order 64");
        let inverse_root = modulus.inverse(root);
        let power = |base, k| modulus.factor(modulus.pow_vartime(base, reverse_5(k) as u64));
        Transform {
            modulus,
            forward: std::array::from_fn(|k| power(root, k)),
            inverse: std::array::from_fn(|k| power(inverse_root, k)),
            scale: modulus.factor(modulus.inverse(divisor)),
        }
    }

    /// Coefficients to values, in place (Cooley and Tukey's butterflies).
    pub(crate) fn evaluate(&self, x: &mut [u64]) {
        let (m, mut half, mut groups) = (&self.modulus, x.len() / 2, 1);
        while half > 0 {
            for (group, pair) in x.chunks_exact_mut(2 * half).enumerate() {
                let (upper, lower) = pair.split_at_mut(half);
                for (a, b) in upper.iter_mut().zip(lower) {
                    let product = m.mul_factor(*b, &self.forward[groups + group]);
                    (*a, *b) = (m.add(*a, product), m.sub(*a, product));
                }
            }
            (half, groups) = (half / 2, groups * 2);
        }
    }

    /// Values to coefficients, times the number of points and over the divisor, in place (Gentleman and Sande's butterflies).
    pub(crate) fn interpolate(&self, x: &mut [u64]) {
        let (m, mut half, mut groups) = (&self.modulus, 1, x.len() / 2);
        while half < x.len() {
            for (group, pair) in x.chunks_exact_mut(2 * half).enumerate() {
                let (upper, lower) = pair.split_at_mut(half);
                for (a, b) in upper.iter_mut().zip(lower) {
                    let difference = m.sub(*a, *b);
                    *a = m.add(*a, *b);
                    *b = m.mul_factor(difference, &self.inverse[groups + group]);
                }
            }
            (half, groups) = (half * 2, groups / 2);
        }
        x.iter_mut().for_each(|x| *x = m.mul_factor(*x, &self.scale));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn transform(divisor: u64) -> Transform {
        Transform::new(Modulus::new(65_537), 4080, divisor)
    }

    proptest! {
        #[test]
        fn values_are_those_of_horners_rule(x in prop::array::uniform32(0u64..65_537)) {
            let t = transform(1);
            let mut values = x;
            t.evaluate(&mut values);
            for (i, value) in values.iter().enumerate() {
                let point = t.modulus.pow_vartime(4080, 2 * reverse_5(i) as u64 + 1);
                let horner = x.iter().rev().fold(0, |sum, c| t.modulus.add(t.modulus.mul(sum, point), *c));
                prop_assert_eq!(*value, horner);
            }
            t.interpolate(&mut values);
            prop_assert_eq!(values, x.map(|x| 32 * x % 65_537));
        }

        #[test]
        fn the_divisor_divides(x in prop::array::uniform32(0u64..65_537)) {
            let (mut once, mut divided) = (x, x);
            transform(1).interpolate(&mut once);
            transform(128).interpolate(&mut divided);
            prop_assert_eq!(once, divided.map(|x| x * 128 % 65_537));
        }

        #[test]
        fn fewer_points_are_powers_of_the_points(x in prop::array::uniform8(0u64..65_537)) {
            let t = transform(1);
            let mut values = x;
            t.evaluate(&mut values);
            for (i, value) in values.iter().enumerate() {
                let point = t.modulus.pow_vartime(4080, 4 * (2 * reverse_5(4 * i) as u64 + 1));
                let horner = x.iter().rev().fold(0, |sum, c| t.modulus.add(t.modulus.mul(sum, point), *c));
                prop_assert_eq!(*value, horner);
            }
            t.interpolate(&mut values);
            prop_assert_eq!(values, x.map(|x| 8 * x % 65_537));
        }
    }
}
