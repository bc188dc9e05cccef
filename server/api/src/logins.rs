//! Logins.

use super::{Base64, Hex, Nonce, Shares, Source, Vector};
use crate::text::audience;
use serde::{Deserialize, Serialize};
use trefoil_attest::RequestHeader;
use trefoil_types::{Decision, Handle, SessionId};

/// How much of the attestation an answer carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AttestationForm {
    /// The attestation with its three signatures, about 22 KB; verifies offline.
    #[default]
    Full,
    /// The attestation with the name of its seal, which `GET /v1/seals/{n}` returns; about 1 KB.
    Compact,
    /// No attestation. The login is sealed all the same.
    None,
}

/// `POST /v1/authentications`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Authentication {
    /// The handle of the subject that logs in.
    pub handle: Hex<32>,
    /// A proof session of this handle.
    pub session_id: Hex<32>,
    /// The relying party that the attestation is for, 1 to 255 bytes.
    #[serde(deserialize_with = "audience")]
    #[cfg_attr(feature = "openapi", schemars(with = "crate::schema::Text<255>"))]
    pub audience: String,
    /// The relying party's nonce; used once per session.
    pub nonce: Nonce,
    /// Unix seconds, within a minute of the service's clock.
    pub issued_at: u64,
    /// The face, where the tenant's probe mode is `plain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Vector>,
    /// The face in two shares, where it is `shared`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<Shares>,
    /// MAC under the session's key, see [`Authentication::header`].
    pub mac: Hex<32>,
    /// The model of the face, where two models of the tenant give as many numbers. The MAC does not cover it: the decision is under the
    /// template's own model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(with = "Option<crate::schema::Text<64>>"))]
    pub embedder: Option<String>,
    /// The source of the login, named by the application, by which limits count. The MAC does not cover it, because the application adds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// How much of the attestation to answer with.
    #[serde(default)]
    pub attestation: AttestationForm,
}

impl Authentication {
    /// SHA3-256 of the probe as it was sent: [`Vector::digest`] or [`Shares::digest`]; zeros without one.
    pub fn probe_digest(&self) -> [u8; 32] {
        match (&self.embedding, &self.shares) {
            (Some(embedding), _) => embedding.digest(),
            (None, Some(shares)) => shares.digest(),
            (None, None) => [0; 32],
        }
    }

    /// The header that `mac` covers; `probe_digest` is [`Authentication::probe_digest`].
    pub fn header<'a>(&'a self, probe_digest: &'a [u8; 32]) -> RequestHeader<'a> {
        RequestHeader {
            session_id: SessionId::new(self.session_id.0),
            handle: Handle::new(self.handle.0),
            audience: &self.audience,
            nonce: self.nonce.as_bytes(),
            issued_at: self.issued_at,
            probe_digest,
        }
    }
}

/// Answer to [`Authentication`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Authenticated {
    /// Digest of the attested statement.
    pub id: Hex<32>,
    /// The decision, also inside the attestation.
    pub decision: Decision,
    /// The attestation, CBOR; absent if the request asked for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attestation: Option<Base64>,
    /// The seal that covers it.
    pub seal_number: u64,
}
