//! Access tokens by OAuth 2.0: client credentials (RFC 6749 section 4.4) and metadata (RFC 8414).

use serde::{Deserialize, Serialize};

/// `POST /oauth2/token`, form-encoded. Unknown parameters are ignored, as RFC 6749 requires.
#[derive(Deserialize)]
#[cfg_attr(feature = "openapi", derive(Serialize, schemars::JsonSchema))]
pub struct TokenRequest {
    /// `client_credentials`.
    #[cfg_attr(feature = "openapi", schemars(extend("enum" = ["client_credentials"])))]
    pub grant_type: Option<String>,
    /// Scopes of the API key, separated by spaces. Absent: all scopes of the key.
    #[cfg_attr(feature = "openapi", serde(skip_serializing_if = "Option::is_none"))]
    pub scope: Option<String>,
    /// The API key's `id`, if there is no header `Authorization: Basic`.
    pub client_id: Option<String>,
    /// The API key, if there is no header `Authorization: Basic`.
    pub client_secret: Option<String>,
}

/// Answer to [`TokenRequest`].
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Token {
    /// Send it as `Authorization: Bearer`, in place of the API key.
    pub access_token: String,
    /// `Bearer`.
    pub token_type: String,
    /// Seconds for which it is valid.
    pub expires_in: u64,
    /// Its scopes, separated by spaces.
    pub scope: String,
}

/// Why there is no token (RFC 6749 section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TokenError {
    /// A parameter is missing, repeated or malformed.
    InvalidRequest,
    /// The API key is unknown, expired or revoked, or has another id.
    InvalidClient,
    /// The operator disabled the tenant.
    UnauthorizedClient,
    /// Only `client_credentials` is supported.
    UnsupportedGrantType,
    /// No scope of the API key has this name.
    InvalidScope,
}

/// The body of a refusal by `POST /oauth2/token`.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TokenRefusal<'a> {
    /// Why.
    pub error: TokenError,
    /// What was wrong with this request, and the next step.
    pub error_description: &'a str,
}
