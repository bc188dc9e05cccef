//! Client-side preparation of a face: quantise it, split it, and seal one share to the key-holder.
//!
//! In the `shared` probe mode only the device holds a probe: a share of it, uniform by itself, goes to the gateway in the
//! clear, the other travels through the gateway sealed to the key-holder ([`SealingKey`]). Enrolment is the same with a template.
//! This crate has no server code, no C and no clock, so that a wallet can link it, in a browser too. The feature `open` adds the
//! key-holder's side.
//!
//! The sealing key decides who can read a face. **Pin its fingerprint**: the key-holder's operator prints it
//! (`trefoil key-holder sealing-key`). Do not trust a key that comes from the gateway without it.
//!
//! ```
//! # #[cfg(feature = "open")] {
//! use trefoil_split::{Context, OpeningKey, split_probe};
//! use trefoil_types::{Handle, SessionId, TenantId};
//!
//! let key_holder = OpeningKey::generate();
//! let pinned = key_holder.sealing_key().fingerprint();
//!
//! // On the device.
//! let key = key_holder.sealing_key().pinned(&pinned)?;
//! let face: Vec<f32> = (0..128).map(|i| (i as f32).sin()).collect();
//! let (tenant, handle, session) = (TenantId::new([1; 16]), Handle::new([2; 32]), SessionId::new([3; 32]));
//! let context = Context::probe(&tenant, &handle, &session, &[4; 16], 1_800_000_000);
//! let probe = split_probe(&face, &key, &context, &mut rand::rng())?;
//!
//! // At the key-holder: a share, which reveals nothing without the other.
//! let share = key_holder.open(&context, &probe.sealed)?;
//! # drop(share);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod average;
#[cfg(feature = "open")]
mod open;
mod seal;

pub use average::{Average, AverageError, average};
#[cfg(feature = "open")]
pub use open::{OpenError, OpeningKey};
pub use seal::{Context, Fingerprint, SealedShare, SealingKey, SealingKeyError};
pub use trefoil_bfv::{Embedding, QuantiseError, Share, ShareError, Width};

use rand::CryptoRng;

/// A face on its way to a service that must not see it.
pub struct Split {
    /// The gateway's share, [`Share::bytes`] when encoded.
    pub open: Share,
    /// The key-holder's share, sealed to it.
    pub sealed: SealedShare,
}

/// Quantises a probe `x` and splits it into `x1`, uniform modulo 65537, for the gateway, and `x - x1`, sealed.
///
/// # Errors
/// [`QuantiseError`] when the vector is not 2 to 512 finite numbers of a face's length.
pub fn split_probe(
    face: &[f32],
    key: &SealingKey,
    context: &Context,
    rng: &mut impl CryptoRng,
) -> Result<Split, QuantiseError> {
    let (open, rest) = Share::of(&quantise(face)?).split(rng);
    Ok(Split { open, sealed: key.seal(context, &rest) })
}

/// Quantises a template `y`, the [`average`] of photographs, and splits it into a blind `rho`, uniform modulo 65537, for the gateway, and
/// `y + rho`, sealed.
///
/// # Errors
/// As [`average`].
pub fn split_template(
    photographs: &[impl AsRef<[f32]>],
    key: &SealingKey,
    context: &Context,
    rng: &mut impl CryptoRng,
) -> Result<Split, AverageError> {
    let template = Share::of(&average(photographs)?.embedding);
    let blind = Share::random(template.width(), rng);
    Ok(Split { sealed: key.seal(context, &template.plus(&blind)), open: blind })
}

/// The service's former check, which it can no longer make: only an honest device's probes are short.
fn quantise(face: &[f32]) -> Result<Embedding, QuantiseError> {
    let embedding = Embedding::quantise(face)?;
    embedding.check_honest_band()?;
    Ok(embedding)
}

#[cfg(all(doctest, feature = "open"))]
#[doc = include_str!("../README.md")]
struct Readme;
