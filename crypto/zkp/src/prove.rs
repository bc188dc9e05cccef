//! Making a proof.

use rand::CryptoRng;

use crate::{
    statement::{Statement, StatementError},
    witness::Witness,
};

/// Why no proof was made. The credential or the statement has to change, not the call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProveError {
    /// The statement is out of range.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// The leaf index is not in the tree.
    #[error("leaf index is not below 2^20: use the index that the issuer gave with the path")]
    Index,
    /// The credential has expired at the statement's epoch.
    #[error("the credential expired before the statement's epoch: ask the issuer to renew it")]
    Expired,
    /// The expiry lies further ahead than the circuit can compare.
    #[error(
        "the credential expires 2^16 epochs (7.5 years) or more after the statement's epoch: ask the issuer for a shorter one"
    )]
    ExpiryTooFar,
    /// The credential's level is below the statement's.
    #[error("the credential's level is below the level asked for: ask the issuer for a higher one")]
    Level,
    /// The path does not lead from this credential to the statement's root.
    #[error(
        "the credential is not under the statement's root: fetch the current path and root from the issuer"
    )]
    Root,
    /// The statement's tag is not this secret's tag for the statement's scope.
    #[error("the statement's tag is not the one of this secret and scope")]
    Tag,
    /// The statement's handle is not this secret's handle for the statement's tenant.
    #[error("the statement's handle is not the one of this secret and tenant")]
    Handle,
    /// The prover failed on a valid witness: a fault of this library.
    #[error("the prover failed: {0}")]
    Prover(String),
}

/// Proves `statement` from `witness`.
///
/// `rng` supplies the masks on which zero knowledge rests: production callers pass an OS-seeded generator.
pub fn prove(
    witness: &Witness,
    statement: &Statement,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<Vec<u8>, ProveError> {
    let _ = (witness, statement, rng);
    todo!()
}
