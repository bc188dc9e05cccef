//! The private side of attestations: three post-quantum signature families and the keys that sign a seal together.
//!
//! Every signature is hedged (fresh randomness mixed with the key), and every signature is verified before it is
//! released: a fault during signing must not leave this crate, because one faulty SLH-DSA or Falcon signature can be
//! enough to forge. SLH-DSA is also computed twice, because verification does not detect every fault. The public
//! formats and the offline verification are in `trefoil-attest`.

mod error;
mod falcon_512;
mod family;
mod keys;
mod ml_dsa_65;
mod seal_tree;
mod slh_dsa_sha2_128f;
mod unchecked;
mod witness;

pub use error::{KeyError, SignError};
pub use falcon_512::Falcon512;
pub use family::SignatureFamily;
pub use keys::{SECRET_BYTES, SigningKeys};
pub use ml_dsa_65::MlDsa65;
pub use seal_tree::seal_tree;
pub use slh_dsa_sha2_128f::{Extent, Precomputation, SlhDsaSha2_128f};
pub use unchecked::{SealChecker, UncheckedSeal};
pub use witness::WitnessKey;
