//! The textbook body of the transform: Cooley and Tukey's butterflies, without reductions.

use crate::ntt::{Ntt, POINTS, order};

pub(crate) fn forward(ntt: &Ntt, x: &mut [u64; POINTS]) {
    let (q, mut half, mut groups) = (ntt.q, POINTS / 2, 1);
    while half > 0 {
        for (group, pair) in x.chunks_exact_mut(2 * half).enumerate() {
            let [factor, quotient] = ntt.factors[groups + group];
            let (upper, lower) = pair.split_at_mut(half);
            for (a, b) in upper.iter_mut().zip(lower) {
                // Shoup: the estimate is the quotient or one less, so the product is below 2q.
                let estimate = ((u128::from(quotient) * u128::from(*b)) >> 64) as u64;
                let product = factor.wrapping_mul(*b).wrapping_sub(estimate.wrapping_mul(q));
                (*a, *b) = (*a + product, *a + 2 * q - product);
            }
        }
        (half, groups) = (half / 2, groups * 2);
    }
    for group in x.as_chunks_mut::<64>().0 {
        let reversed = *group;
        for (place, value) in group.iter_mut().enumerate() {
            *value = reversed[order(place)];
        }
    }
}
