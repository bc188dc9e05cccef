//! Making a proof.

use rand::{CryptoRng, SeedableRng, rngs::StdRng};
use sha3::{Digest as _, Sha3_256};
use zeroize::Zeroizing;

use crate::{
    hash::{account, commitment, handle, leaf},
    layout::EXPIRY_BITS,
    parameters::{self, Masks},
    statement::{Statement, StatementError},
    trace::{Trace, public_values},
    tree::CAPACITY,
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
    #[error("the credential expires 2^16 epochs (7.5 years) or more ahead: ask the issuer for a shorter one")]
    ExpiryTooFar,
    /// The credential's level is below the statement's.
    #[error("the credential's level is below the level asked for: ask the issuer for a higher one")]
    Level,
    /// The path does not lead from this credential to the statement's root.
    #[error(
        "the credential is not under the statement's root: fetch the current path and root from the issuer"
    )]
    Root,
    /// The statement's account is not this secret's account for the statement's scope.
    #[error("the statement's account is not the one of this secret and scope")]
    Account,
    /// The statement's handle is not this secret's handle for the statement's tenant.
    #[error("the statement's handle is not the one of this secret and tenant")]
    Handle,
    /// The prover failed on a valid witness: a bug in this library.
    #[error("the prover failed: {0}")]
    Prover(String),
}

/// Proves `statement` from `witness`.
///
/// `rng` supplies the masks on which zero knowledge rests: production callers pass an OS-seeded generator. Its
/// output is hashed together with the secret and the statement, so that a generator which repeats itself does
/// not give two statements the same masks.
///
/// # Errors
/// [`ProveError`] when the witness does not satisfy the statement.
pub fn prove(
    witness: &Witness,
    statement: &Statement,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<Vec<u8>, ProveError> {
    let mut fresh = Zeroizing::new([0; 32]);
    rng.fill_bytes(&mut *fresh);
    prove_with(witness, statement, &fresh)
}

/// Not generic, so that the prover is compiled here and not once more in every crate that calls it.
fn prove_with(witness: &Witness, statement: &Statement, fresh: &[u8; 32]) -> Result<Vec<u8>, ProveError> {
    check(witness, statement)?;
    let mut rng = hedged(witness, statement, fresh);
    let trace = Trace::new(witness, statement, &mut rng);
    let config = parameters::proving(statement, Masks::from_rng(&mut rng));
    let values = public_values(statement);
    let proof = p3_uni_stark::prove(&config, parameters::circuit(), trace.into_matrix(), &values)
        .map_err(|error| ProveError::Prover(error.to_string()))?;
    postcard::to_allocvec(&proof).map_err(|error| ProveError::Prover(error.to_string()))
}

/// Names the reason, which a verifier would not give.
fn check(witness: &Witness, statement: &Statement) -> Result<(), ProveError> {
    let Witness { secret, attributes, index, path } = witness;
    let Statement {
        tenant,
        root,
        epoch,
        level,
        scope,
        account: expected_account,
        handle: expected_handle,
        ..
    } = statement;
    statement.check_epoch()?;
    if *index >= CAPACITY {
        return Err(ProveError::Index);
    }
    let left = attributes.expiry().checked_sub(*epoch).ok_or(ProveError::Expired)?;
    if left >> EXPIRY_BITS != 0 {
        return Err(ProveError::ExpiryTooFar);
    }
    if attributes.level() < *level {
        return Err(ProveError::Level);
    }
    if path.root(*index, &leaf(&commitment(secret), attributes)) != *root {
        return Err(ProveError::Root);
    }
    if account(secret, scope) != *expected_account {
        return Err(ProveError::Account);
    }
    if handle(secret, tenant) != *expected_handle {
        return Err(ProveError::Handle);
    }
    Ok(())
}

fn hedged(witness: &Witness, statement: &Statement, fresh: &[u8; 32]) -> StdRng {
    let seed = Sha3_256::new()
        .chain_update(b"trefoil/prover-randomness/1")
        .chain_update(fresh)
        .chain_update(*witness.secret.to_bytes())
        .chain_update(statement.digest())
        .finalize();
    StdRng::from_seed(*Zeroizing::new(seed.into()))
}

#[cfg(test)]
mod tests;
