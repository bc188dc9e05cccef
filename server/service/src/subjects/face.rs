//! A face in a request, and its form in the tenant's probe mode.

use crate::refused::{NoFace, Refused};
use crate::tenants::tenant::ProbeMode;
use trefoil_matching::{Average, Embedding, QuantiseError, SealedShare, average};
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
#[expect(
    clippy::large_enum_variant,
    reason = "the usual variant is not worth an allocation for each request"
)]
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
    pub(crate) fn shown(self, policy: &Policy) -> Result<(Shown, Option<f64>), Refused> {
        match (policy.probe, self) {
            (ProbeMode::Plain, Face::Plain(vector)) => {
                check_length(&vector, policy, None)?;
                Ok((Shown::Plain(quantise(&vector).map_err(NoFace::Login)?), None))
            }
            (ProbeMode::Plain, Face::Photographs(vectors)) => {
                for (at, vector) in vectors.iter().enumerate() {
                    check_length(vector, policy, Some(at))?;
                }
                let Average { embedding, agreement } = average(&vectors).map_err(NoFace::Photographs)?;
                Ok((Shown::Plain(embedding), agreement))
            }
            (ProbeMode::Shared, Face::Shared(Shares { open, sealed })) => {
                let sealed = SealedShare::from_bytes(&sealed).ok_or(Refused::SealedShareLength)?;
                Ok((Shown::Shared { open, sealed }, None))
            }
            (expected, _) => Err(Refused::ProbeMode { expected }),
        }
    }
}

fn check_length(vector: &[f32], policy: &Policy, photograph: Option<usize>) -> Result<(), NoFace> {
    let (expected, given) = (policy.dimension as usize, vector.len());
    if given == expected {
        return Ok(());
    }
    Err(NoFace::Length { photograph, expected, model: policy.embedder.clone(), given })
}

/// Normalises, quantises and checks a vector.
fn quantise(vector: &[f32]) -> Result<Embedding, QuantiseError> {
    let embedding = Embedding::quantise(vector)?;
    embedding.check_honest_band()?;
    Ok(embedding)
}
