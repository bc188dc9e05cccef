//! Why keys could not be made or a signature was not released.

use trefoil_attest::{Family, KeySetId, StatementError};

/// A signature that was not released.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    /// The library refused to sign.
    #[error("{0}: the library refused to sign; check the key file")]
    Refused(Family),
    /// The fresh signature does not verify: a fault in memory or computation. Nothing was released.
    #[error("{0}: a fresh signature does not verify; take this signer out of service")]
    Fault(Family),
    /// The header names another key set than these keys.
    #[error("the seal header names another key set; rebuild it for these keys")]
    OtherKeySet(KeySetId),
    /// The header's time lies outside the validity of these keys.
    #[error("time {time} is outside the validity of these keys; rotate them or check the clock")]
    OutsideValidity {
        /// Time in the header, Unix seconds.
        time: u64,
    },
    /// A header field outside its limits.
    #[error("{0}")]
    Header(StatementError),
}

/// Keys that cannot be made or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Not the length of a key file.
    #[error("the key file has the wrong length; restore it from a backup")]
    Length,
    /// Not a key file of this version.
    #[error("not a key file of this version; generate keys with this version")]
    Format,
    /// The validity is empty.
    #[error("not_before must be earlier than not_after")]
    Validity,
    /// A secret key does not decode.
    #[error("the {0} secret key does not decode; restore the file")]
    Secret(Family),
    /// The digest at the end of the file does not match its content.
    #[error("the key file is damaged; restore it from a backup")]
    Damaged,
}
