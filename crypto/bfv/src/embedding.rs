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
    #[error("coordinate {0} is not a finite number")]
    NotFinite(usize),
    /// The vector has no direction.
    #[error("the vector is zero or too short to have a direction")]
    Zero,
    /// The squared length after rounding is outside 29,900..=32,768: no face embedder produces such vectors.
    #[error(
        "the squared length {0} after rounding is outside {HONEST_NORM_SQUARED_MIN}..={NORM_SQUARED_MAX}"
    )]
    OutsideBand(i32),
}

impl Embedding {
    /// Normalises `vector` to length 1 in double precision, scales by 175 and rounds half away from zero.
    ///
    /// # Errors
    /// [`QuantiseError`] when the vector does not have 128 finite coordinates or has no direction.
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

    /// The inner product in the clear, for references and tests: what an encrypted match must reproduce.
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

impl std::fmt::Debug for Embedding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Embedding(..)")
    }
}
