use super::*;
use proptest::prelude::*;

/// The mean of the first three embeddings of `crypto/bfv/tests/data`, computed with NumPy in double precision.
const OF_THREE: [i16; 128] = [
    8, -2, 27, -6, -15, 18, 15, 2, 16, -1, 8, 15, -21, 21, -13, -21, 6, 16, -4, 9, -3, -23, -20, -7, -17, -9,
    -1, -16, -8, -1, -11, 21, -9, -7, -4, -12, -11, -18, -12, -7, -1, 7, 29, 13, 16, 5, 5, -10, 15, -3, 10,
    -10, 6, -44, -1, 1, 11, 18, 4, 17, 12, 47, -2, 42, 25, 43, 15, 12, 45, 17, 5, -15, 9, -5, 16, -11, -6,
    -37, -11, 11, 14, -3, 9, -11, -13, -11, -1, -6, -14, -2, -14, 13, -19, 4, 9, 5, 2, 7, -20, 27, -15, -21,
    -15, 16, -3, -10, 8, -13, -11, -4, 14, 3, -7, 22, -20, 9, -3, 25, 11, 8, 1, -3, 6, -3, -8, -17, 6, -4,
];

fn published() -> Vec<Vec<f32>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../bfv/tests/data/facenet128_x.f32");
    let bytes = std::fs::read(path).expect("the repository has it");
    let numbers: Vec<f32> = bytes.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect();
    numbers.chunks(128).map(<[f32]>::to_vec).collect()
}

#[test]
fn the_mean_is_that_of_another_implementation() {
    let mut three = published()[..3].to_vec();
    // Lengths do not matter.
    three[1].iter_mut().for_each(|x| *x *= 4096.0);
    let Average { embedding, agreement } = average(&three).expect("faces");
    assert_eq!(*embedding.values(), OF_THREE);
    assert_eq!(agreement, Some(-0.14));
}

#[test]
fn what_has_no_mean_is_refused() {
    let faces = published();
    let opposite: Vec<f32> = faces[0].iter().map(|x| -2.0 * x).collect();
    assert_eq!(average(&[[0.0; 128]; 0]).unwrap_err(), AverageError::NoDirection);
    assert_eq!(average(&[&faces[0], &opposite]).unwrap_err(), AverageError::NoDirection);
    // Not exactly opposite, and far from a direction.
    let nearly: Vec<f32> = opposite.iter().zip(&faces[1]).map(|(x, y)| x + 0.01 * y).collect();
    assert_eq!(average(&[&faces[0], &nearly]).unwrap_err(), AverageError::NoDirection);
    assert!(average(&[&faces[0], &opposite, &faces[1]]).is_ok());
    let refused = average(&[faces[0].clone(), vec![0.0; 128]]).unwrap_err();
    assert_eq!(refused, AverageError::Photograph { at: 1, cause: QuantiseError::Zero });
    assert!(refused.to_string().starts_with("photograph 2: all its numbers are zero"));
}

/// A photograph as embedders give them, and up to seven that are like it.
fn photographs() -> impl Strategy<Value = Vec<Vec<f32>>> {
    prop::sample::select(vec![128, 200, 512]).prop_flat_map(photographs_of)
}

fn photographs_of(numbers: usize) -> impl Strategy<Value = Vec<Vec<f32>>> {
    let vector = prop::collection::vec(-1.0_f32..1.0, numbers);
    (vector.clone(), prop::collection::vec((vector, 0.01_f32..100.0), 0..8)).prop_map(|(one, others)| {
        let like = |(other, length): (Vec<f32>, f32)| {
            one.iter().zip(other).map(|(x, y)| length * (x + 0.8 * y)).collect()
        };
        std::iter::once(one.clone()).chain(others.into_iter().map(like)).collect()
    })
}

proptest! {
    #[test]
    fn equal_photographs_are_one_and_their_order_does_not_matter(
        photographs in photographs(), count in 2..8_usize, turn in any::<prop::sample::Index>(),
    ) {
        let whole = average(&photographs).expect("faces");
        let mut turned = photographs.clone();
        turned.rotate_left(turn.index(photographs.len()));
        turned.swap(0, photographs.len() - 1);
        let turned = average(&turned).expect("faces");
        prop_assert!(turned.embedding == whole.embedding);
        prop_assert_eq!(turned.agreement, whole.agreement);
        prop_assert_eq!(whole.agreement.is_some(), photographs.len() > 1);

        let alone = average(&photographs[..1]).expect("a face");
        prop_assert!(alone.embedding == quantise(&photographs[0]).expect("a face"));
        let equal = average(&vec![&photographs[0]; count]).expect("faces");
        prop_assert_eq!(equal.agreement, Some(1.0));
        // Rounding to 32 bits may move a number that is half-way between two integers.
        let off = |(x, y): (&i16, &i16)| (x - y).unsigned_abs();
        let off: u16 = equal.embedding.values().iter().zip(alone.embedding.values()).map(off).sum();
        prop_assert!(off <= 1, "{off}");
    }
}
