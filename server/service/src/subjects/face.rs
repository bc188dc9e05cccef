//! A face in a request, and its form in the tenant's probe mode.

use crate::refused::{NoFace, Refused};
use crate::tenants::tenant::ProbeMode;
use crate::tenants::tenant::policy::is_previous;
use trefoil_matching::{
    Average, Embedding, Model, QuantiseError, SealedShare, Share, ShareError, Width, average,
};
use trefoil_types::Policy;
use zeroize::Zeroizing;

/// A face in the form that its caller sent.
pub enum Face {
    /// A vector, as its embedder made it. Biometric data: wiped when dropped.
    Plain(Zeroizing<Vec<f32>>),
    /// The vectors of an enrolment's photographs.
    Photographs(Vec<Zeroizing<Vec<f32>>>),
    /// Two shares, as the device encoded them.
    Shared(Shares),
    /// Neither or both.
    Unclear,
}

/// A face in two shares, each uniform by itself.
pub struct Shares {
    /// This service's.
    pub open: Vec<u8>,
    /// The key-holder's, sealed to it.
    pub sealed: Vec<u8>,
}

/// A face in the tenant's probe mode.
pub(crate) enum Shown {
    /// The embedding itself.
    Plain(Embedding),
    /// Two shares.
    Shared {
        /// This service's share, encoded.
        open: Vec<u8>,
        /// The key-holder's share.
        sealed: SealedShare,
    },
}

impl Face {
    /// The face, which must have the form of the tenant's probe mode and no other, and how well its photographs agree if it has several.
    /// `of` is the model of the template that it is compared with; without one it becomes a template, of the model of new ones.
    pub(crate) fn shown(self, policy: &Policy, of: Option<&Model>) -> Result<(Shown, Option<f64>), Refused> {
        let (embedder, dimension) = named(policy, of);
        match (policy.probe, self) {
            (ProbeMode::Plain, Face::Plain(vector)) => {
                check_length(&vector, embedder, dimension, None)?;
                Ok((Shown::Plain(quantise(&vector).map_err(NoFace::Login)?), None))
            }
            (ProbeMode::Plain, Face::Photographs(vectors)) => {
                for (at, vector) in vectors.iter().enumerate() {
                    check_length(vector, embedder, dimension, Some(at))?;
                }
                let Average { embedding, agreement } = average(&vectors).map_err(NoFace::Photographs)?;
                Ok((Shown::Plain(embedding), agreement))
            }
            (ProbeMode::Shared, Face::Shared(Shares { open, sealed })) => {
                let width =
                    Width::of(dimension as usize).ok_or(Refused::SealedShareLength { expected: 0 })?;
                let expected = SealedShare::bytes(width);
                let sealed = SealedShare::from_bytes(width, &sealed);
                let sealed = sealed.ok_or(Refused::SealedShareLength { expected })?;
                if open.len() != Share::bytes(width) {
                    return Err(Refused::OpenShare(ShareError::Length(open.len())));
                }
                Ok((Shown::Shared { open, sealed }, None))
            }
            (expected, _) => Err(Refused::ProbeMode { expected }),
        }
    }
}

/// Refuses a login that names another model than its template's, or none where lengths do not tell.
pub(crate) fn check_named(policy: &Policy, of: &Model, given: Option<&str>) -> Result<(), NoFace> {
    let (embedder, dimension) = named(policy, Some(of));
    let alike = policy.models().filter(|(_, _, numbers, _)| *numbers == dimension).count() > 1;
    match given {
        None if !alike => Ok(()),
        Some(given) if given == embedder => Ok(()),
        _ => Err(NoFace::OtherModel { expected: embedder.to_owned() }),
    }
}

/// Name and dimension of a template's model; of the model of new templates without one.
fn named<'a>(policy: &'a Policy, of: Option<&Model>) -> (&'a str, u32) {
    match &policy.previous {
        Some(previous) if of.is_some_and(|of| is_previous(policy, of)) => {
            (&previous.embedder, previous.dimension)
        }
        _ => (&policy.embedder, policy.dimension),
    }
}

/// Refuses a vector of another length than its model gives; `photograph` is its place in an enrolment.
fn check_length(
    vector: &[f32],
    embedder: &str,
    dimension: u32,
    photograph: Option<usize>,
) -> Result<(), NoFace> {
    let (expected, given) = (dimension as usize, vector.len());
    if given == expected {
        return Ok(());
    }
    Err(NoFace::Length { photograph, expected, model: embedder.to_owned(), given })
}

/// Normalises, quantises and checks a vector.
fn quantise(vector: &[f32]) -> Result<Embedding, QuantiseError> {
    let embedding = Embedding::quantise(vector)?;
    embedding.check_honest_band()?;
    Ok(embedding)
}
