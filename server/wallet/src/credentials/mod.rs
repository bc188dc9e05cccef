//! The messages of issuer, holder and service about credentials. No files, no network, no clock: these modules
//! can run in a browser.
//!
//! * [`RootStatement`]: the issuer's signed statement that this root is generation n. The statements of one tenant form a
//!   hash chain, which [`RootLog`] checks.
//! * [`CredentialFile`]: the file that a holder receives: attributes, place and path in the tree, and the signed root above.
//! * [`sealed`]: secrets under a passphrase.

/// Generations of a tenant's root that a service accepts at once.
pub const LIVE_ROOTS_MAX: usize = 16;

mod file;
mod root_log;
mod root_statement;
pub mod sealed;

pub use file::{CREDENTIAL_FORMAT, CredentialError, CredentialFile};
pub use root_log::{ChainError, RootLog};
pub use root_statement::{IssuerKeyId, IssuerPublicKey, RootError, RootStatement, SignedRoot};

#[cfg(test)]
mod testing {
    use super::{IssuerPublicKey, RootStatement, SignedRoot};
    use rand::CryptoRng;
    use trefoil_sign::{MlDsa65, SignatureFamily as _};

    pub(super) fn public_key(key: &MlDsa65) -> IssuerPublicKey {
        IssuerPublicKey::from_bytes(&key.public_key()).unwrap()
    }

    pub(super) fn sign(statement: &RootStatement, key: &mut MlDsa65, rng: &mut impl CryptoRng) -> SignedRoot {
        SignedRoot { statement: statement.encode(), signature: key.sign(&statement.message(), rng).unwrap() }
    }
}
