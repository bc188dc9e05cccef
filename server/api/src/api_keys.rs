//! API keys of tenants.

use super::{Hex, Receipt};
use crate::text::{label, time};
use serde::{Deserialize, Serialize};
use trefoil_types::Scope;

/// `POST /v1/tenants/{tenant}/api-keys` on the admin listener.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateApiKey {
    /// What the key may do.
    #[cfg_attr(feature = "openapi", schemars(length(min = 1)))]
    pub scopes: Vec<Scope>,
    /// Name for operators, 1 to 256 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "label")]
    #[cfg_attr(feature = "openapi", schemars(with = "crate::schema::Text<256>"))]
    pub label: Option<String>,
    /// Time from which the key is refused, Unix seconds; absent for never.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "time")]
    #[cfg_attr(feature = "openapi", schemars(range(max = 253_402_300_799u64)))]
    pub expires_at: Option<u64>,
}

/// Answer to [`CreateApiKey`]. The only time that the secret is shown.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct CreatedApiKey {
    /// The key, for `Authorization: Bearer`.
    pub api_key: String,
    /// Its public part, by which it is listed and revoked.
    pub id: Hex<8>,
    /// Time from which it is refused, Unix seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// The receipt of the creation; `null` if it is not sealed yet.
    #[serde(default)]
    pub receipt: Option<Receipt>,
}

/// An API key in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ApiKey {
    /// Public part.
    pub id: Hex<8>,
    /// Name for operators; may be empty.
    pub label: String,
    /// What the key may do.
    pub scopes: Vec<Scope>,
    /// Whether it is accepted.
    pub state: ApiKeyState,
    /// Unix seconds.
    pub created_at: u64,
    /// Time from which it is refused, Unix seconds; `null` for never.
    pub expires_at: Option<u64>,
    /// When it was revoked, Unix seconds.
    pub revoked_at: Option<u64>,
    /// The hour of its last use, Unix seconds; `null` if it was never used.
    pub last_used_at: Option<u64>,
}

/// Whether an API key is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApiKeyState {
    /// Yes.
    Active,
    /// No, it has expired.
    Expired,
    /// No, an operator revoked it.
    Revoked,
}

/// `GET /v1/tenants/{tenant}/api-keys?from={id}` on the admin listener: a page of at most 256.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ApiKeyPage {
    /// The keys, in the order of their ids.
    pub api_keys: Vec<ApiKey>,
    /// The value of `from` for the next page; `null` at the end.
    pub next: Option<Hex<8>>,
}
