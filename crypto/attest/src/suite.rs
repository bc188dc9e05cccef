//! Signature suites.

/// The set of families that must all verify. A new set gets a new number, never a new meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Suite {
    /// ML-DSA-65 and Falcon-512 padded round 3 and SLH-DSA-SHA2-128f, tree of RFC 9162 with SHA-256.
    One,
}

impl Suite {
    /// The number on the wire.
    #[must_use]
    pub const fn number(self) -> u64 {
        match self {
            Self::One => 1,
        }
    }

    /// The suite with this number, if this library knows it.
    #[must_use]
    pub const fn from_number(number: u64) -> Option<Self> {
        match number {
            1 => Some(Self::One),
            _ => None,
        }
    }
}
