//! The linear layers of Poseidon2, width 24, over any ring that contains the field, and the inverse of the
//! external one.

use p3_field::{Algebra, Field as _, PrimeCharacteristicRing};
use p3_koala_bear::GenericPoseidon2LinearLayersKoalaBear;
use p3_poseidon2::GenericPoseidon2LinearLayers;

use crate::{digest::Field, hash::STATE};

/// Blocks of four in the state.
const BLOCKS: usize = STATE / 4;

/// First row of the circulant inverse of M4 = circ(2, 3, 1, 1), times 35.
const M4_INVERSE_TIMES_35: [i32; 4] = [-4, 3, -11, 17];

/// External layer: circ(2 M4, M4, ..., M4), Poseidon2 paper (ePrint 2023/323), section 5.1.
pub(crate) fn external<R: PrimeCharacteristicRing>(state: &mut [R; STATE]) {
    <GenericPoseidon2LinearLayersKoalaBear as GenericPoseidon2LinearLayers<STATE>>::external_linear_layer(
        state,
    );
}

/// Internal layer: all-ones plus a diagonal, section 5.2.
pub(crate) fn internal<R: PrimeCharacteristicRing>(state: &mut [R; STATE]) {
    <GenericPoseidon2LinearLayersKoalaBear as GenericPoseidon2LinearLayers<STATE>>::internal_linear_layer(
        state,
    );
}

/// Coefficients of the inverse external layer.
///
/// With z_b = M4 x_b the layer is y_b = z_b + sum of all z, so the sum of all y is 7 times that of all z; hence
/// z_b = y_b - (sum of y) / 7 and x_b = M4^-1 z_b.
#[derive(Clone, Debug)]
pub(crate) struct ExternalInverse {
    seventh: Field,
    m4_inverse: [Field; 4],
}

impl ExternalInverse {
    pub(crate) fn new() -> ExternalInverse {
        let thirty_fifth = Field::from_u32(35).inverse();
        ExternalInverse {
            seventh: Field::from_u32(7).inverse(),
            m4_inverse: M4_INVERSE_TIMES_35.map(|entry| Field::from_i32(entry) * thirty_fifth),
        }
    }

    pub(crate) fn apply<R: Algebra<Field>>(&self, state: &[R; STATE]) -> [R; STATE] {
        let mean: [R; 4] = std::array::from_fn(|row| {
            let column = (0..BLOCKS).map(|block| state[4 * block + row].clone());
            column.fold(R::ZERO, |sum, entry| sum + entry) * self.seventh
        });
        std::array::from_fn(|position| {
            let (block, row) = (position / 4, position % 4);
            (0..4).fold(R::ZERO, |sum, k| {
                let entry = state[4 * block + k].clone() - mean[k].clone();
                sum + entry * self.m4_inverse[(4 + k - row) % 4]
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_undoes_the_external_layer() {
        let inverse = ExternalInverse::new();
        for unit in 0..STATE {
            let mut state = [Field::ZERO; STATE];
            state[unit] = Field::from_u32(unit as u32 + 3);
            let before = state;
            external(&mut state);
            assert_eq!(inverse.apply(&state), before);
        }
    }
}
