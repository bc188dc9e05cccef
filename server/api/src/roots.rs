//! A tenant's issuer: its keys, and the roots of its credential tree.

use super::{Base64, Hex, Receipt};
use serde::{Deserialize, Serialize};

/// `POST /v1/credentials/roots`: a `trefoil_client::credentials::SignedRoot`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PublishRoot {
    /// The encoding of the root statement.
    #[cfg_attr(feature = "openapi", schemars(with = "crate::schema::Base64Of<132>"))]
    pub statement: Base64,
    /// ML-DSA-65 under the tenant's registered issuer key.
    #[cfg_attr(feature = "openapi", schemars(with = "crate::schema::Base64Of<3309>"))]
    pub signature: Base64,
}

/// `PUT /v1/tenants/{tenant}/issuer-key` on the admin listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RegisterIssuerKey {
    /// The public key, 1952 bytes.
    #[cfg_attr(feature = "openapi", schemars(with = "crate::schema::Base64Of<1952>"))]
    pub ml_dsa_65: Base64,
}

/// Answer to [`RegisterIssuerKey`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct RegisteredIssuerKey {
    /// Names the key in root statements.
    pub key_id: Hex<32>,
    /// The receipt of the registration; `null` if the key was registered already, or the receipt is not sealed yet.
    #[serde(default)]
    pub receipt: Option<Receipt>,
}

/// `GET /v1/credentials/roots/{tenant}`: every root that a tenant published, in order, in pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct RootLogPage {
    /// The tenant.
    pub tenant: Hex<16>,
    /// Every key that was registered for it, oldest first. An auditor compares them with the issuer's own list.
    pub issuer_keys: Vec<LoggedKey>,
    /// Roots of generation `from` and above, at most 64.
    pub roots: Vec<LoggedRoot>,
    /// The value of `from` for the next page, if there is one.
    pub next: Option<u32>,
}

/// A key in the root log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct LoggedKey {
    /// The public key.
    #[cfg_attr(feature = "openapi", schemars(with = "crate::schema::Base64Of<1952>"))]
    pub ml_dsa_65: Base64,
    /// When it was registered, unix seconds.
    pub registered_at: u64,
}

/// A root in the root log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct LoggedRoot {
    /// The statement as signed.
    pub statement: Base64,
    /// Its signature.
    pub signature: Base64,
    /// When the service took it, unix seconds.
    pub published_at: u64,
}

/// Answer to [`PublishRoot`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct PublishedRoot {
    /// The newest generation.
    pub generation: u32,
    /// The oldest accepted generation.
    pub generation_min: u32,
    /// The end of the root log, which the next statement names as its predecessor.
    pub head: Hex<32>,
    /// The receipt of the publication; `null` if it could not be sealed.
    #[serde(default)]
    pub receipt: Option<Receipt>,
}
