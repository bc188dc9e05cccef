//! Terms of a login that all layers use.

/// Numbers in the vector of a face: the only dimension that is supported today.
pub const DIM: usize = 128;

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
