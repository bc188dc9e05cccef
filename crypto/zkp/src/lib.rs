//! Anonymous tenant credentials: "I hold a live credential of this tenant, of at least this level, and this
//! proof belongs to this session", without saying whose.
//!
//! * [`Secret`], [`Attributes`], [`commitment`], [`leaf`]: the data of a device and the records of an issuer.
//! * [`CredentialTree`]: the issuer's members; its root is all that the service needs.
//! * [`Statement`], [`Witness`], [`prove`], [`verify`]: the argument itself. [`Verified`] is the only evidence
//!   that a proof was accepted and can be made in no other way.
//! * [`session`], [`envelope`]: binding to a session key, per-request MACs, the upload format.
//! * [`record`]: a proof as a relying party stores it, to verify it and the attestations it backs without the service.
//!
//! The argument is a hiding STARK (Plonky3) over KoalaBear. The [`Circuit`] id fixes all parameters; a message
//! chooses none. A service calls [`check_parameters`] once before it verifies anything.
//!
//! ```no_run
//! use trefoil_zkp::{Circuit, SessionClaim, Witness, prove, session::SessionKey, verify};
//! # fn example(witness: &Witness, account_key: trefoil_types::AccountKeyId) -> Result<(), Box<dyn std::error::Error>> {
//! let key = SessionKey::random(&mut rand::rng());
//! let statement = witness.statement(&SessionClaim {
//!     circuit: Circuit::Cred2,
//!     tenant: trefoil_zkp::TenantId::new([7; 16]),
//!     audience: "payments.example",
//!     root_generation: 3,
//!     epoch: trefoil_zkp::epoch_at(1_795_000_000),
//!     level: 2,
//!     policy_id: 1,
//!     key_commitment: &key.commitment(),
//!     account_key,
//! });
//! let proof = prove(witness, &statement, &mut rand::rng())?;
//! let verified = verify(&statement, &proof)?;
//! assert_eq!(verified.statement(), &statement);
//! # Ok(())
//! # }
//! ```

mod air;
mod attributes;
mod digest;
pub mod envelope;
mod epoch;
#[cfg(test)]
mod fixture;
mod frame;
mod hash;
mod layout;
mod linear;
mod parameters;
mod prove;
pub mod record;
mod secret;
mod security;
pub mod session;

mod standard_hash;
mod statement;
mod symbolic;
mod trace;
mod tree;
mod verify;
mod witness;
#[cfg(test)]
mod zero_knowledge;

pub use attributes::{Attributes, AttributesError};
pub use digest::{Digest, NonCanonical};
pub use epoch::{EPOCH_LIMIT, EPOCH_SECONDS, epoch_at, epoch_to_prove, expiry_of, proof_counts, proof_ends};
pub use hash::{account, commitment, handle, leaf, scope};
pub use prove::{ProveError, prove};
pub use secret::Secret;
pub use security::{Bound, ParameterError, SecurityReport, check_parameters, security_report};
pub use statement::{Circuit, Statement, StatementError};
pub use tree::{CAPACITY, CredentialTree, DEPTH, MerklePath, TreeError};
pub use trefoil_types::TenantId;
pub use verify::{ProofError, Verified, check_encoding, proof_size_window, verify};
pub use witness::{SessionClaim, Witness};
