//! A face embedding as the scheme sees it: 128 small integers.

use crate::DIM;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Length that a unit vector is scaled to before rounding.
///
/// The largest integer scale for which `|q|^2 <= 32768` holds for every unit vector: rounding moves each of the
/// 128 coordinates by at most 1/2, so `|q| <= 175 + sqrt(128)/2 = 180.66` and `|q|^2 <= 32638`; at 176 the same
/// bound is 33000, and there are vectors that exceed 32768.
pub const SCALE: f64 = 175.0;

/// Largest squared length of an embedding: `(T - 1) / 2`, so that by the Cauchy-Schwarz inequality an inner
/// product of two embeddings is a centred residue mod `T` and never wraps.
pub const NORM_SQUARED_MAX: i32 = 32_768;

/// Smallest squared length of an honest embedding; see [`Embedding::check_honest_band`].
pub const HONEST_NORM_SQUARED_MIN: i32 = 29_900;

/// A unit vector of 128 dimensions, scaled by 175 and rounded to integers of at most 175 in size.
///
/// Holding one is proof that `|q|^2 <= 32768`. It is biometric data: wiped on drop, and `Debug` prints no values.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Embedding {
    values: [i16; DIM],
}

/// Why a vector of floats is not an embedding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantiseError {
    /// The vector does not have exactly 128 coordinates.
    #[error("an embedding has exactly {DIM} coordinates, this vector has {0}")]
    Length(usize),
    /// A coordinate is NaN or infinite.
    #[error("number {} of {DIM} is NaN or infinite; look at what the model gave for this photograph", .0 + 1)]
    NotFinite(usize),
    /// The vector has no direction.
    #[error("all its numbers are zero; look at what the model gave for this photograph")]
    Zero,
    /// The squared length after rounding is outside 29,900..=32,768: no face embedder produces such vectors.
    #[error(
        "many of its numbers have the same size, as if it were made by hand or reduced to signs, and no face model gives that; send its output \
         unchanged"
    )]
    OutsideBand(i32),
}

impl Embedding {
    /// Normalises `vector` to length 1 in double precision, scales by 175 and rounds half away from zero.
    ///
    /// # Errors
    /// [`QuantiseError`] when the vector does not have 128 finite coordinates or has no direction.
    ///
    /// # Panics
    /// Never: 128 coordinates of length 175 or less fit in the array.
    pub fn quantise(vector: &[f32]) -> Result<Embedding, QuantiseError> {
        if vector.len() != DIM {
            return Err(QuantiseError::Length(vector.len()));
        }
        if let Some(at) = vector.iter().position(|x| !x.is_finite()) {
            return Err(QuantiseError::NotFinite(at));
        }
        // f32 squares lie within 1e-90..1e78, so the sum neither overflows nor underflows in f64.
        let length = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
        if length == 0.0 {
            return Err(QuantiseError::Zero);
        }
        let mut values = [0i16; DIM];
        for (value, &x) in values.iter_mut().zip(vector) {
            // `f64::round` rounds half away from zero; |x| <= length, so the result is within -175..=175.
            *value = (SCALE * (f64::from(x) / length)).round() as i16;
        }
        let embedding = Embedding { values };
        assert!(embedding.norm_squared() <= NORM_SQUARED_MAX, "SCALE admits no longer vector");
        Ok(embedding)
    }

    /// Checks that the squared length is within 29,900..=32,768.
    ///
    /// Rounding a vector with many small coordinates (as embedders give) moves the squared length by about
    /// 128/12 with a standard deviation near 100 around 175^2 = 30,625; a crafted vector, such as one whose
    /// coordinates all round down, falls outside.
    ///
    /// # Errors
    /// [`QuantiseError::OutsideBand`] with the squared length.
    pub fn check_honest_band(&self) -> Result<(), QuantiseError> {
        match self.norm_squared() {
            HONEST_NORM_SQUARED_MIN..=NORM_SQUARED_MAX => Ok(()),
            outside => Err(QuantiseError::OutsideBand(outside)),
        }
    }

    /// The inner product in the clear, for references and tests: an encrypted match must reproduce it.
    pub fn dot(&self, other: &Embedding) -> i32 {
        self.values.iter().zip(&other.values).map(|(&x, &y)| i32::from(x) * i32::from(y)).sum()
    }

    /// The squared length, at most 32,768.
    pub fn norm_squared(&self) -> i32 {
        self.dot(self)
    }

    /// The 128 coordinates.
    pub fn values(&self) -> &[i16; DIM] {
        &self.values
    }
}

trefoil_types::opaque_debug!(Embedding);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bad_vectors_are_refused() {
        assert_eq!(Embedding::quantise(&[]), Err(QuantiseError::Length(0)));
        assert_eq!(Embedding::quantise(&[1.0; 127]), Err(QuantiseError::Length(127)));
        assert_eq!(Embedding::quantise(&[1.0; 129]), Err(QuantiseError::Length(129)));
        assert_eq!(Embedding::quantise(&[0.0; 128]), Err(QuantiseError::Zero));
        for (at, bad) in [(0, f32::NAN), (5, f32::INFINITY), (127, f32::NEG_INFINITY)] {
            let mut vector = [1.0; DIM];
            vector[at] = bad;
            assert_eq!(Embedding::quantise(&vector), Err(QuantiseError::NotFinite(at)));
        }
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        // 3-4-5: 175 * (0.6, -0.8) = (105, -140); and 175 * (0.28, -0.96) = (49, -168).
        for (x, y, expected) in [(3.0, -4.0, [105, -140]), (7.0, -24.0, [49, -168])] {
            let mut vector = [0.0; DIM];
            (vector[0], vector[1]) = (x, y);
            assert_eq!(Embedding::quantise(&vector).expect("valid").values()[..2], expected);
        }
        // Length 350, so that every coordinate is halved exactly: 349^2 + 26^2 + 4^2 + 2^2 + 1 + 1 + 1 = 350^2.
        let mut vector = [0.0; DIM];
        vector[..7].copy_from_slice(&[349.0, -26.0, 4.0, 2.0, -1.0, 1.0, 1.0]);
        assert_eq!(vector.iter().map(|x| x * x).sum::<f32>(), 122_500.0);
        assert_eq!(Embedding::quantise(&vector).expect("valid").values()[..7], [175, -13, 2, 1, -1, 1, 1]);
    }

    #[test]
    fn extreme_magnitudes_keep_their_direction() {
        for scale in [f32::MIN_POSITIVE, 1e-45, 1.0, f32::MAX] {
            let q = Embedding::quantise(&[scale; DIM]).expect("finite");
            assert!(q.values().iter().all(|x| *x == 15), "{scale}");
        }
    }

    /// Claim M34: The scale of vectors is the largest at which no score wraps.
    #[test]
    fn a_larger_scale_would_overflow() {
        // 121 coordinates of 15.5 and 7 of 16.5 have length exactly 176, and round up to a squared length above the limit.
        assert_eq!(121.0 * 15.5 * 15.5 + 7.0 * 16.5 * 16.5, 176.0f64 * 176.0);
        const { assert!(121 * 16 * 16 + 7 * 17 * 17 > NORM_SQUARED_MAX) };
        // The bound for 175: (175 + sqrt(128) / 2)^2.
        assert!((SCALE + 128f64.sqrt() / 2.0).powi(2) < f64::from(NORM_SQUARED_MAX));
    }

    #[test]
    fn crafted_vectors_fall_outside_the_honest_band() {
        let flat = Embedding::quantise(&[1.0; DIM]).expect("finite");
        assert_eq!(flat.check_honest_band(), Err(QuantiseError::OutsideBand(128 * 15 * 15)));
        let mut spike = [0.0; DIM];
        spike[0] = 1.0;
        let spike = Embedding::quantise(&spike).expect("finite");
        assert_eq!((spike.norm_squared(), spike.check_honest_band()), (30_625, Ok(())));
    }

    #[test]
    fn values_are_not_printed_and_are_wiped() {
        let mut embedding = Embedding::quantise(&[1.0; DIM]).expect("finite");
        assert_eq!(format!("{embedding:?}"), "Embedding(..)");
        embedding.zeroize();
        assert_eq!(embedding.values(), &[0; DIM]);
    }

    proptest! {
        #[test]
        fn lengths_and_products_stay_within_the_plaintext(
            x in prop::collection::vec(-1.0f32..1.0, DIM), y in prop::collection::vec(any::<f32>(), DIM),
        ) {
            if let (Ok(x), Ok(y)) = (Embedding::quantise(&x), Embedding::quantise(&y)) {
                prop_assert!(x.norm_squared() <= NORM_SQUARED_MAX && y.norm_squared() <= NORM_SQUARED_MAX);
                prop_assert!(x.dot(&y).abs() <= NORM_SQUARED_MAX);
                prop_assert_eq!(x.dot(&y), y.dot(&x));
            }
        }
    }
}
