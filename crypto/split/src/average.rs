//! The template of several photographs: the mean of their directions.

use crate::quantise;
use trefoil_bfv::{Embedding, QuantiseError};
use zeroize::Zeroizing;

/// Smallest length of the mean of unit vectors that counts as a direction. Eight unrelated ones have a mean of about 0.35; only vectors that
/// point away from each other come below this.
const LENGTH_MIN: f64 = 0.1;

/// The mean of photographs.
#[derive(Debug)]
pub struct Average {
    /// The template, quantised.
    pub embedding: Embedding,
    /// The smallest cosine of two of them, rounded to two decimals; `None` for one. It is no score: it compares vectors of one caller
    /// with each other, and says nothing that the caller could not compute.
    pub agreement: Option<f64>,
}

/// Why photographs have no mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AverageError {
    /// One of them is no embedding.
    #[error("photograph {}: {cause}", .at + 1)]
    Photograph {
        /// Its position.
        at: usize,
        /// Why.
        cause: QuantiseError,
    },
    /// One of them has another length than the first.
    #[error("photograph {} has {given} numbers and the first has {first}; take all of one model", .at + 1)]
    Length {
        /// Its position.
        at: usize,
        /// Numbers of it.
        given: usize,
        /// Numbers of the first.
        first: usize,
    },
    /// They cancel each other out, or there is none.
    #[error(
        "the photographs have no direction in common, so they are not of one face or not of one model; look at them, and send fewer"
    )]
    NoDirection,
}

/// Scales each photograph to length 1 in double precision, and quantises their mean, rounded to 32 bits. One photograph is quantised as
/// it is.
///
/// # Errors
/// [`AverageError`] if one of them is no face, or all of them together are none.
pub fn average(photographs: &[impl AsRef<[f32]>]) -> Result<Average, AverageError> {
    let mut units = Vec::with_capacity(photographs.len());
    for (at, photograph) in photographs.iter().enumerate() {
        let photograph = photograph.as_ref();
        let embedding = quantise(photograph).map_err(|cause| AverageError::Photograph { at, cause })?;
        if photographs.len() == 1 {
            return Ok(Average { embedding, agreement: None });
        }
        let (given, first) = (photograph.len(), photographs[0].as_ref().len());
        if given != first {
            return Err(AverageError::Length { at, given, first });
        }
        let length = photograph.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
        units.push(Zeroizing::new(photograph.iter().map(|&x| f64::from(x) / length).collect::<Vec<f64>>()));
    }
    let dot = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(x, y)| x * y).sum::<f64>();
    let first = units.first().ok_or(AverageError::NoDirection)?;
    let mean = |at: usize| units.iter().map(|unit| unit[at]).sum::<f64>() / units.len() as f64;
    let mean = Zeroizing::new((0..first.len()).map(mean).collect::<Vec<f64>>());
    if dot(&mean, &mean).sqrt() < LENGTH_MIN {
        return Err(AverageError::NoDirection);
    }
    let narrow = Zeroizing::new(mean.iter().map(|&x| x as f32).collect::<Vec<f32>>());
    let embedding = quantise(&narrow).map_err(|_| AverageError::NoDirection)?;
    let pairs =
        units.iter().enumerate().flat_map(|(at, one)| units[..at].iter().map(|other| dot(one, other)));
    // Not -0.
    let agreement = (100.0 * pairs.fold(1.0, f64::min)).round() / 100.0 + 0.0;
    Ok(Average { embedding, agreement: Some(agreement) })
}

#[cfg(test)]
mod tests;
