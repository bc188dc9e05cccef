//! A face in a request, and its form in the tenant's probe mode.

use crate::refused::Refused;
use crate::tenants::tenant::ProbeMode;
use trefoil_matching::{DIM, Embedding, SealedShare};
use zeroize::Zeroizing;

/// A face in the form that its caller sent.
pub enum Face {
    /// A vector, as its embedder made it. Biometric data: wiped when dropped.
    Plain(Box<Zeroizing<[f32; DIM]>>),
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
    /// The face, which must have the form of the tenant's probe mode and no other.
    pub(crate) fn shown(self, probe: ProbeMode) -> Result<Shown, Refused> {
        match (probe, self) {
            (ProbeMode::Plain, Face::Plain(vector)) => Ok(Shown::Plain(quantise(&vector[..])?)),
            (ProbeMode::Shared, Face::Shared(Shares { open, sealed })) => {
                let sealed = SealedShare::from_bytes(trefoil_matching::Width::W128, &sealed)
                    .ok_or(Refused::SealedShareLength)?;
                Ok(Shown::Shared { open, sealed })
            }
            (expected, _) => Err(Refused::ProbeMode { expected }),
        }
    }
}

/// Normalises, quantises and checks a vector.
fn quantise(vector: &[f32]) -> Result<Embedding, Refused> {
    let embedding = Embedding::quantise(vector).map_err(Refused::Embedding)?;
    embedding.check_honest_band().map_err(Refused::Embedding)?;
    Ok(embedding)
}
