//! The 32-point negacyclic transform modulo a prime: between the coefficients of a polynomial of degree below 32 and
//! its values at the 32 roots of `Y^32 + 1`.

use crate::LANES;
use crate::modulus::{Factor, Modulus};

/// Reverses the low five bits.
fn reverse_5(i: usize) -> usize {
    i.reverse_bits() >> (usize::BITS - 5)
}

/// Twiddle factors for one root. Value `i` belongs to the point `root^(2 * rev(i) + 1)`.
pub(crate) struct Transform {
    modulus: Modulus,
    forward: [Factor; LANES],
    inverse: [Factor; LANES],
    scale: Factor,
}

impl Transform {
    /// For a primitive 64th root of unity. The interpolation divides by `32 * divisor`.
    pub(crate) fn new(modulus: Modulus, root: u64, divisor: u64) -> Transform {
        assert_eq!(modulus.pow_vartime(root, 32), modulus.value() - 1, "the root has order 64");
        let inverse_root = modulus.inverse(root);
        let power = |base, k| modulus.factor(modulus.pow_vartime(base, reverse_5(k) as u64));
        Transform {
            modulus,
            forward: std::array::from_fn(|k| power(root, k)),
            inverse: std::array::from_fn(|k| power(inverse_root, k)),
            scale: modulus.factor(modulus.inverse(LANES as u64 * divisor)),
        }
    }

    /// Coefficients to values, in place (Cooley and Tukey's butterflies).
    pub(crate) fn evaluate(&self, x: &mut [u64; LANES]) {
        let (m, mut half, mut groups) = (&self.modulus, LANES / 2, 1);
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

    /// Values to coefficients over the divisor, in place (Gentleman and Sande's butterflies).
    pub(crate) fn interpolate(&self, x: &mut [u64; LANES]) {
        let (m, mut half, mut groups) = (&self.modulus, 1, LANES / 2);
        while half < LANES {
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
            prop_assert_eq!(values, x);
        }

        #[test]
        fn the_divisor_divides(x in prop::array::uniform32(0u64..65_537)) {
            let (mut once, mut divided) = (x, x);
            transform(1).interpolate(&mut once);
            transform(128).interpolate(&mut divided);
            prop_assert_eq!(once, divided.map(|x| x * 128 % 65_537));
        }
    }
}
