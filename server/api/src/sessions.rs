//! Proof sessions.

use super::{Hex, Receipt};
use serde::{Deserialize, Serialize};

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct LiveSession {
    /// Digest of the proven statement.
    pub session_id: Hex<32>,
    /// When its proof was accepted, Unix seconds.
    pub opened_at: u64,
    /// Unix seconds at which it ends by itself.
    pub expires_at: u64,
}

/// `GET /v1/proof-sessions`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct SessionPage {
    /// The sessions, in the order of their identifiers.
    pub sessions: Vec<LiveSession>,
    /// The value of `from` for the next page; `null` at the end.
    pub next: Option<Hex<32>>,
}

/// Answer to `DELETE /v1/proof-sessions/{session_id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct EndedSession {
    /// Digest of the proven statement.
    pub session_id: Hex<32>,
    /// The receipt of its end; `null` if it could not be sealed.
    pub receipt: Option<Receipt>,
}

/// Answer to an upload to `POST /v1/proof-sessions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ProofSession {
    /// Digest of the proven statement.
    pub session_id: Hex<32>,
    /// Unix seconds at which the session ends, if its root is not withdrawn before.
    pub expires_at: u64,
    /// The receipt of its opening, compact; `null` if it was open already, or the receipt could not be sealed.
    #[serde(default)]
    pub receipt: Option<Receipt>,
}
