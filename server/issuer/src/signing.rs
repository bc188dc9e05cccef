//! Signing roots with the issuer's ML-DSA-65 key.

use rand::CryptoRng;
use thiserror::Error;
use trefoil_sign::{MlDsa65, SignatureFamily as _};
use trefoil_wallet::credentials::{IssuerPublicKey, RootStatement, SignedRoot};

/// Signing failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the issuer key made no valid signature: {0}")]
pub struct SigningError(String);

/// The public half of `key`.
///
/// # Panics
/// Never: public keys of ML-DSA-65 have one length.
pub fn public_key(key: &MlDsa65) -> IssuerPublicKey {
    let bytes = key.public_key();
    IssuerPublicKey::from_bytes(&bytes).expect("ML-DSA-65 public keys have one length")
}

/// Signs a statement, which must name `key`, and verifies the signature.
///
/// # Errors
/// [`SigningError`] when the signature cannot be made or does not verify.
pub fn sign(
    statement: &RootStatement,
    key: &mut MlDsa65,
    rng: &mut impl CryptoRng,
) -> Result<SignedRoot, SigningError> {
    let signature = key.sign(&statement.message(), rng).map_err(|cause| SigningError(cause.to_string()))?;
    Ok(SignedRoot { statement: statement.encode(), signature })
}
