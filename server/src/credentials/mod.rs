//! What issuer, holder and service say to each other about credentials. No files, no network, no clock: these modules
//! may run in a browser.
//!
//! * [`RootStatement`]: the issuer's signed word that this root is generation n. The statements of one tenant form a
//!   hash chain, which [`RootLog`] checks.
//! * [`CredentialFile`]: what a holder receives: attributes, place and path in the tree, and the signed root above.
//! * [`sealed`]: secrets under a passphrase.

mod file;
mod root_log;
mod root_statement;
pub mod sealed;

pub use file::{CREDENTIAL_FORMAT, CredentialError, CredentialFile};
pub use root_log::{ChainError, RootLog};
pub use root_statement::{IssuerKeyId, IssuerPublicKey, RootError, RootStatement, SignedRoot};
