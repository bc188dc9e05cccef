//! Terms of a login that all layers use.

/// Fewest numbers in the vector of a face: one number has no direction but its sign.
pub const NUMBERS_MIN: usize = 2;
/// Most numbers in the vector of a face.
pub const NUMBERS_MAX: usize = 512;

/// The room for a vector in a ciphertext: vectors of other lengths are padded with zeros to the next width, which changes no inner product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// 128 numbers: 32 vectors in a ciphertext.
    W128,
    /// 256 numbers: 16 vectors in a ciphertext.
    W256,
    /// 512 numbers: 8 vectors in a ciphertext.
    W512,
}

impl Width {
    /// All of them, the narrowest first.
    pub const ALL: [Self; 3] = [Self::W128, Self::W256, Self::W512];

    /// The narrowest that holds a vector of `numbers`; none for fewer than 2 and more than 512.
    #[must_use]
    pub fn of(numbers: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|width| (NUMBERS_MIN..=width.numbers()).contains(&numbers))
    }

    /// The one of exactly this many numbers.
    #[must_use]
    pub fn exactly(numbers: usize) -> Option<Self> {
        Self::of(numbers).filter(|width| width.numbers() == numbers)
    }

    /// Numbers that it holds.
    #[must_use]
    pub const fn numbers(self) -> usize {
        match self {
            Self::W128 => 128,
            Self::W256 => 256,
            Self::W512 => 512,
        }
    }

    /// Lanes of a ciphertext.
    #[must_use]
    pub const fn lanes(self) -> usize {
        4096 / self.numbers()
    }

    /// The length to which a unit vector is scaled before rounding, `floor(sqrt(32768) - sqrt(numbers) / 2)`: the largest integer for which
    /// `|q|^2 <= 32768` holds for every vector, because rounding moves each number by at most 1/2.
    #[must_use]
    pub const fn scale(self) -> i32 {
        match self {
            Self::W128 => 175,
            Self::W256 => 173,
            Self::W512 => 169,
        }
    }
}

/// The decision of one authentication. There is one value for every reason to deny.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Decision {
    /// The probe matches the template, and every other requirement holds.
    Match,
    /// Denied, for any reason.
    NoMatch,
}

impl Decision {
    /// The word used in JSON: `match` or `no_match`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::NoMatch => "no_match",
        }
    }
}

/// How probes and templates reach the service, which determines how templates are encrypted. It cannot change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ProbeMode {
    /// The service gets the vector, normalises and quantises it, and so knows that it is short. Each template has a key of its own, 48 KiB,
    /// and is shredded by itself.
    #[default]
    Plain,
    /// The device quantises and splits it: a share to the service, a share sealed to the key-holder. Neither can check that it is
    /// short: about 0.3 of garbage probes match, so this is for devices whose key the tenant trusts. All templates have one key, and 96 KiB
    /// each. A malicious service can learn the key bit by bit, so this mode protects only against a curious service.
    Shared,
}

impl ProbeMode {
    /// The word used in JSON: `plain` or `shared`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Shared => "shared",
        }
    }
}
