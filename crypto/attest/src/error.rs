//! Why untrusted bytes were refused.

/// Bytes that are not the one canonical encoding of a known format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} at byte {offset}: {problem}")]
pub struct DecodeError {
    /// Byte offset inside the structure that was being decoded.
    pub offset: usize,
    /// The field that was being read.
    pub field: &'static str,
    /// What was wrong there.
    pub problem: Problem,
}

/// What was wrong at one place of an encoding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The input ends inside this field.
    #[error("the input ends here; fetch the complete file again")]
    Truncated,
    /// Bytes follow the end of the structure.
    #[error("bytes follow the end; pass exactly one object")]
    TrailingBytes,
    /// A longer head than needed, a reserved head, or an indefinite length (RFC 8949 section 4.2.1).
    #[error("not deterministic CBOR (RFC 8949 4.2); pass the issuer's bytes unchanged")]
    NotCanonical,
    /// Another CBOR type stands here.
    #[error("{expected} belongs here")]
    WrongType {
        /// The type that belongs here.
        expected: &'static str,
    },
    /// A map key that does not belong here: unknown, missing, repeated, or out of order.
    #[error("map key {expected} belongs here, found {found}")]
    UnexpectedKey {
        /// The key that belongs here.
        expected: i64,
        /// The key that was found.
        found: i64,
    },
    /// A string, array or map with a length outside its limits.
    #[error("the length is outside its limits")]
    WrongLength,
    /// A number outside its limits, or fields that contradict each other.
    #[error("the value is outside its limits")]
    OutOfRange,
    /// Text that is not UTF-8 or holds control characters.
    #[error("text must be UTF-8 without control characters")]
    InvalidText,
    /// A format name or version that this library does not know.
    #[error("this version reads {expected} only; update it")]
    UnknownFormat {
        /// The format this library reads.
        expected: &'static str,
    },
    /// A signature suite that this library does not know.
    #[error("signature suite {0} is unknown; update the verifier")]
    UnknownSuite(u64),
    /// An identifier that does not match the content it names.
    #[error("the identifier does not match the content it names")]
    WrongIdentifier,
}
