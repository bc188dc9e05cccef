//! Why untrusted bytes were refused.

use core::fmt;

/// Bytes that are not the one canonical encoding of a known format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Byte offset inside the structure that was being decoded.
    pub offset: usize,
    /// The field that was being read.
    pub field: &'static str,
    /// What was wrong there.
    pub problem: Problem,
}

/// What was wrong at one place of an encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The input ends inside this field.
    Truncated,
    /// Bytes follow the end of the structure.
    TrailingBytes,
    /// A longer head than needed, a reserved head, or an indefinite length (RFC 8949 section 4.2.1).
    NotCanonical,
    /// Another CBOR type stands here.
    WrongType {
        /// The type that belongs here.
        expected: &'static str,
    },
    /// A map key that does not belong here: unknown, missing, repeated, or out of order.
    UnexpectedKey {
        /// The key that belongs here.
        expected: i64,
        /// The key that was found.
        found: i64,
    },
    /// A string, array or map with a length outside its limits.
    WrongLength,
    /// A number outside its limits, or fields that contradict each other.
    OutOfRange,
    /// Text that is not UTF-8 or holds control characters.
    InvalidText,
    /// A format name or version that this library does not know.
    UnknownFormat {
        /// The format this library reads.
        expected: &'static str,
    },
    /// A signature suite that this library does not know.
    UnknownSuite(u64),
    /// An identifier that does not match the content it names.
    WrongIdentifier,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}", self.field, self.offset, self.problem)
    }
}

impl core::error::Error for DecodeError {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => write!(f, "the input ends here; fetch the complete file again"),
            Self::TrailingBytes => write!(f, "bytes follow the end; pass exactly one object"),
            Self::NotCanonical => {
                write!(f, "not deterministic CBOR (RFC 8949 4.2); pass the issuer's bytes unchanged")
            }
            Self::WrongType { expected } => write!(f, "{expected} belongs here"),
            Self::UnexpectedKey { expected, found } => {
                write!(f, "map key {expected} belongs here, found {found}")
            }
            Self::WrongLength => write!(f, "the length is outside its limits"),
            Self::OutOfRange => write!(f, "the value is outside its limits"),
            Self::InvalidText => write!(f, "text must be UTF-8 without control characters"),
            Self::UnknownFormat { expected } => write!(f, "this version reads {expected} only; update it"),
            Self::UnknownSuite(suite) => write!(f, "signature suite {suite} is unknown; update the verifier"),
            Self::WrongIdentifier => write!(f, "the identifier does not match the content it names"),
        }
    }
}
