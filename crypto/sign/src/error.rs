//! Why keys could not be made or a signature was not released.

use core::fmt;

use trefoil_attest::{Family, KeySetId, StatementError};

/// A signature that was not released.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignError {
    /// The library refused to sign.
    Refused(Family),
    /// The fresh signature does not verify: a fault in memory or computation. Nothing was released.
    Fault(Family),
    /// The header names another key set than these keys.
    OtherKeySet(KeySetId),
    /// The header's time lies outside the validity of these keys.
    OutsideValidity {
        /// Time in the header, Unix seconds.
        time: u64,
    },
    /// A header field outside its limits.
    Header(StatementError),
}

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(family) => write!(f, "{family}: the library refused to sign; check the key file"),
            Self::Fault(family) => {
                write!(f, "{family}: a fresh signature does not verify; take this signer out of service")
            }
            Self::OtherKeySet(_) => {
                write!(f, "the seal header names another key set; rebuild it for these keys")
            }
            Self::OutsideValidity { time } => {
                write!(f, "time {time} is outside the validity of these keys; rotate them or check the clock")
            }
            Self::Header(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SignError {}

/// Keys that cannot be made or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// Not the length of a key file.
    Length,
    /// Not a key file of this version.
    Format,
    /// The validity is empty.
    Validity,
    /// A secret key does not decode.
    Secret(Family),
    /// The digest at the end of the file does not match its content.
    Damaged,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => write!(f, "the key file has the wrong length; restore it from a backup"),
            Self::Format => write!(f, "not a key file of this version; generate keys with this version"),
            Self::Validity => write!(f, "not_before must be earlier than not_after"),
            Self::Secret(family) => write!(f, "the {family} secret key does not decode; restore the file"),
            Self::Damaged => write!(f, "the key file is damaged; restore it from a backup"),
        }
    }
}

impl core::error::Error for KeyError {}
