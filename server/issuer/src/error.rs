//! Why an operation of an issuer failed.

use super::journal::JournalError;
use super::signing::SigningError;
use thiserror::Error;
use trefoil_storage::data_dir::DataDirError;
use trefoil_wallet::credentials::ChainError;
use trefoil_wallet::credentials::sealed::SealedError;
use trefoil_zkp::AttributesError;

/// The signing key in the directory of an issuer.
pub(crate) const KEY_FILE: &str = "issuer.key";

/// Why an issuer operation failed.
#[derive(Debug, Error)]
pub enum IssuerError {
    /// The directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DataDirError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The check of a frame holds, but its content is impossible.
    #[error("the journal says something impossible ({0}); was it written by another version?")]
    Replay(&'static str),
    /// A stored root does not follow the one before it.
    #[error("a root in the journal does not hold: {0}")]
    Chain(#[from] ChainError),
    /// The key file does not open.
    #[error("{KEY_FILE}: {0}")]
    Key(#[from] SealedError),
    /// Signing failed.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// Not an issuer directory.
    #[error("not an issuer directory: make one with `trefoil issuer init`")]
    Uninitialised,
    /// Already an issuer directory.
    #[error("an issuer directory already; choose another with --directory")]
    Initialised,
    /// A name is out of bounds.
    #[error("member name `{0}`: give 1 to 64 bytes without control characters")]
    Name(String),
    /// A name is in use.
    #[error("`{0}` is a member already; use `update`, or revoke it first")]
    Exists(String),
    /// A name is unknown.
    #[error("no member is called `{0}`; spell it as it was added")]
    Unknown(String),
    /// No leaf is free.
    #[error("the tree is full: it holds 2^20 members")]
    Full,
    /// Attributes are out of range.
    #[error("member `{name}`: {cause}")]
    Attributes {
        /// The member.
        name: String,
        /// Reason.
        cause: AttributesError,
    },
    /// No published root has the present members.
    #[error("members changed since the last root, or there is none: `publish` first")]
    Unpublished,
    /// Generations are used up.
    #[error("no generation is left after 2^32 - 1")]
    Generations,
}
