//! A face embedding as the scheme sees it: 128, 256 or 512 small integers.

use crate::Width;
use trefoil_types::{NUMBERS_MAX, NUMBERS_MIN};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Largest squared length of an embedding: `(T - 1) / 2`, so that by the Cauchy-Schwarz inequality an inner
/// product of two embeddings is a centred residue mod `T` and never wraps.
pub const NORM_SQUARED_MAX: i32 = 32_768;

/// A unit vector of 2 to 512 numbers, scaled by [`Width::scale`], rounded to integers, and padded with zeros to its width.
///
/// Holding one is proof that `|q|^2 <= 32768`. It is biometric data: wiped on drop, and `Debug` prints no values.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Embedding {
    values: Box<[i16]>,
}

/// Why a vector of floats is not an embedding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantiseError {
    /// The vector does not have 2 to 512 coordinates.
    #[error("an embedding has {NUMBERS_MIN} to {NUMBERS_MAX} coordinates, this vector has {0}")]
    Length(usize),
    /// A coordinate is NaN or infinite.
    #[error("number {} of {of} is NaN or infinite; look at what the model gave for this photograph", .at + 1)]
    NotFinite {
        /// Its place, from 0.
        at: usize,
        /// Coordinates of the vector.
        of: usize,
    },
    /// The vector has no direction.
    #[error("all its numbers are zero; look at what the model gave for this photograph")]
    Zero,
    /// The squared length after rounding is not that of an embedder's vectors.
    #[error(
        "many of its numbers have the same size, as if it were made by hand or reduced to signs, and no face model gives that; send its output \
         unchanged"
    )]
    OutsideBand(i32),
}

impl Embedding {
    /// Normalises `vector` to length 1 in double precision, scales it by [`Width::scale`] and rounds half away from zero.
    ///
    /// # Errors
    /// [`QuantiseError`] when the vector does not have 2 to 512 finite coordinates or has no direction.
    ///
    /// # Panics
    /// Never: no vector of the width is longer than its scale allows.
    pub fn quantise(vector: &[f32]) -> Result<Embedding, QuantiseError> {
        let width = Width::of(vector.len()).ok_or(QuantiseError::Length(vector.len()))?;
        if let Some(at) = vector.iter().position(|x| !x.is_finite()) {
            return Err(QuantiseError::NotFinite { at, of: vector.len() });
        }
        // f32 squares lie within 1e-90..1e78, so the sum neither overflows nor underflows in f64.
        let length = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
        if length == 0.0 {
            return Err(QuantiseError::Zero);
        }
        let scale = f64::from(width.scale());
        let mut values = vec![0i16; width.numbers()].into_boxed_slice();
        for (value, &x) in values.iter_mut().zip(vector) {
            // `f64::round` rounds half away from zero; |x| <= length, so the result is at most the scale in size.
            *value = (scale * (f64::from(x) / length)).round() as i16;
        }
        let embedding = Embedding { values };
        assert!(embedding.norm_squared() <= NORM_SQUARED_MAX, "the scale admits no longer vector");
        Ok(embedding)
    }

    /// Checks that the squared length is one that embedders give.
    ///
    /// Rounding moves the squared length of a vector with many small coordinates by about `d / 12`, with a standard deviation of
    /// `s / sqrt(3)` around the square of the scale `s`; the least that passes is 7.3 of them below. A crafted vector, such as one whose coordinates all
    /// round down, falls outside. No vector exceeds [`NORM_SQUARED_MAX`].
    ///
    /// # Errors
    /// [`QuantiseError::OutsideBand`] with the squared length.
    pub fn check_honest_band(&self) -> Result<(), QuantiseError> {
        let squared = self.norm_squared();
        if squared < honest_norm_squared_min(self.width()) {
            Err(QuantiseError::OutsideBand(squared))
        } else {
            Ok(())
        }
    }

    /// The inner product in the clear, for references and tests: an encrypted match must reproduce it. Of two widths it is that of nothing.
    pub fn dot(&self, other: &Embedding) -> i32 {
        self.values.iter().zip(&other.values).map(|(&x, &y)| i32::from(x) * i32::from(y)).sum()
    }

    /// The squared length, at most 32,768.
    pub fn norm_squared(&self) -> i32 {
        self.dot(self)
    }

    /// The coordinates: as many as the width has.
    pub fn values(&self) -> &[i16] {
        &self.values
    }

    /// The width of the vector.
    ///
    /// # Panics
    /// Never: only vectors of a width are made.
    pub fn width(&self) -> Width {
        Width::exactly(self.values.len()).expect("a vector of a width")
    }
}

/// Least squared length of an honest embedding; see [`Embedding::check_honest_band`].
fn honest_norm_squared_min(width: Width) -> i32 {
    let (scale, numbers) = (f64::from(width.scale()), width.numbers() as f64);
    (scale * scale + numbers / 12.0 - 7.3 * scale / 3f64.sqrt()) as i32
}

trefoil_types::opaque_debug!(Embedding);

#[cfg(test)]
impl Embedding {
    /// A vector without a person.
    pub(crate) fn random(width: Width, rng: &mut crate::Drbg) -> Embedding {
        let mut bytes = vec![0u8; width.numbers()];
        rng.fill(&mut bytes);
        let vector: Vec<f32> = bytes.iter().map(|x| f32::from(*x) - 127.5).collect();
        Embedding::quantise(&vector).expect("not zero")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bad_vectors_are_refused() {
        assert_eq!(Embedding::quantise(&[]), Err(QuantiseError::Length(0)));
        assert_eq!(Embedding::quantise(&[1.0]), Err(QuantiseError::Length(1)));
        assert_eq!(Embedding::quantise(&[1.0; 513]), Err(QuantiseError::Length(513)));
        assert_eq!(Embedding::quantise(&[0.0; 128]), Err(QuantiseError::Zero));
        for (at, bad) in [(0, f32::NAN), (5, f32::INFINITY), (127, f32::NEG_INFINITY)] {
            let mut vector = [1.0; 128];
            vector[at] = bad;
            assert_eq!(Embedding::quantise(&vector), Err(QuantiseError::NotFinite { at, of: 128 }));
        }
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        // 3-4-5: 175 * (0.6, -0.8) = (105, -140); and 175 * (0.28, -0.96) = (49, -168).
        for (x, y, expected) in [(3.0, -4.0, [105, -140]), (7.0, -24.0, [49, -168])] {
            let mut vector = [0.0; 128];
            (vector[0], vector[1]) = (x, y);
            assert_eq!(Embedding::quantise(&vector).expect("valid").values()[..2], expected);
        }
        // Length 350, so that every coordinate is halved exactly: 349^2 + 26^2 + 4^2 + 2^2 + 1 + 1 + 1 = 350^2.
        let mut vector = [0.0; 128];
        vector[..7].copy_from_slice(&[349.0, -26.0, 4.0, 2.0, -1.0, 1.0, 1.0]);
        assert_eq!(vector.iter().map(|x| x * x).sum::<f32>(), 122_500.0);
        assert_eq!(Embedding::quantise(&vector).expect("valid").values()[..7], [175, -13, 2, 1, -1, 1, 1]);
    }

    #[test]
    fn extreme_magnitudes_keep_their_direction() {
        for scale in [f32::MIN_POSITIVE, 1e-45, 1.0, f32::MAX] {
            let q = Embedding::quantise(&[scale; 128]).expect("finite");
            assert!(q.values().iter().all(|x| *x == 15), "{scale}");
        }
    }

    /// Claim M34: The scale of vectors is the largest at which no score wraps, for each width.
    #[test]
    fn a_larger_scale_would_overflow() {
        for width in Width::ALL {
            let (scale, root) = (f64::from(width.scale()), (width.numbers() as f64).sqrt());
            assert!((scale + root / 2.0).powi(2) <= f64::from(NORM_SQUARED_MAX));
            assert!(
                (scale + 1.0 + root / 2.0).powi(2) > f64::from(NORM_SQUARED_MAX),
                "the bound of the next"
            );
        }
        // And at 176 there is such a vector: 121 coordinates of 15.5 and 7 of 16.5 have length exactly 176, and round up to a squared
        // length above the limit.
        assert_eq!(121.0 * 15.5 * 15.5 + 7.0 * 16.5 * 16.5, 176.0f64 * 176.0);
        const { assert!(121 * 16 * 16 + 7 * 17 * 17 > NORM_SQUARED_MAX) };
    }

    #[test]
    fn crafted_vectors_fall_outside_the_honest_band_and_random_ones_within() {
        assert_eq!(Width::ALL.map(honest_norm_squared_min), [29_898, 29_221, 27_891]);
        let mut rng = crate::Drbg::from_seed([1; 32]);
        for width in Width::ALL {
            // 169 / sqrt(512) = 7.47 and 173 / 16 = 10.8, 175 / sqrt(128) = 15.47: flat vectors round down, or far up.
            let flat = Embedding::quantise(&vec![1.0; width.numbers()]).expect("finite");
            assert_eq!(flat.check_honest_band().is_ok(), width == Width::W256, "{width:?}");
            let mut spike = vec![0.0; width.numbers()];
            spike[0] = 1.0;
            let spike = Embedding::quantise(&spike).expect("finite");
            assert_eq!(spike.norm_squared(), width.scale().pow(2));
            assert_eq!(spike.check_honest_band(), Ok(()));
            for _ in 0..200 {
                assert_eq!(Embedding::random(width, &mut rng).check_honest_band(), Ok(()));
            }
        }
    }

    /// A vector of another length is that of the next width with zeros after it.
    #[test]
    fn any_length_up_to_512_is_padded() {
        for (numbers, width) in [(2, 128), (127, 128), (129, 256), (192, 256), (257, 512), (512, 512)] {
            let vector: Vec<f32> = (0..numbers).map(|k| (k as f32 + 0.5).sin()).collect();
            let padded = [&vector[..], &vec![0.0; width - numbers]].concat();
            let embedding = Embedding::quantise(&vector).expect("finite");
            assert_eq!(embedding.width().numbers(), width);
            assert!(embedding == Embedding::quantise(&padded).expect("finite"));
        }
    }

    #[test]
    fn values_are_not_printed_and_are_wiped() {
        let mut embedding = Embedding::quantise(&[1.0; 128]).expect("finite");
        assert_eq!(format!("{embedding:?}"), "Embedding(..)");
        embedding.zeroize();
        assert!(embedding.values().iter().all(|x| *x == 0));
    }

    proptest! {
        #[test]
        fn lengths_and_products_stay_within_the_plaintext(
            x in prop::collection::vec(-1.0f32..1.0, 512), y in prop::collection::vec(any::<f32>(), 512),
            width in prop::sample::select(Width::ALL.to_vec()),
        ) {
            let quantised = |x: &[f32]| Embedding::quantise(&x[..width.numbers()]);
            if let (Ok(x), Ok(y)) = (quantised(&x), quantised(&y)) {
                prop_assert!(x.norm_squared() <= NORM_SQUARED_MAX && y.norm_squared() <= NORM_SQUARED_MAX);
                prop_assert!(x.dot(&y).abs() <= NORM_SQUARED_MAX);
                prop_assert_eq!(x.dot(&y), y.dot(&x));
            }
        }
    }
}
