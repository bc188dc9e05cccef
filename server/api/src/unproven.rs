//! A login without a credential proof, at a tenant whose policy asks for none.

use super::{AttestationForm, Authentication, Hex, Nonce, Source, Vector};
use crate::text::audience;
use serde::{Deserialize, Serialize};
use trefoil_attest::UnprovenRequest;
use trefoil_types::{Handle, TenantId};

/// `POST /v1/authentications` where the tenant's policy says `"proof": "none"`. Nothing in it is signed: only the API key
/// authenticates the request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UnprovenAuthentication {
    /// The handle of the subject that logs in, which the tenant chose when it enrolled the subject.
    pub handle: Hex<32>,
    /// The relying party that the attestation is for, 1 to 255 bytes.
    #[serde(deserialize_with = "audience")]
    #[cfg_attr(feature = "openapi", schemars(with = "crate::schema::Text<255>"))]
    pub audience: String,
    /// The relying party's nonce; used once per subject.
    pub nonce: Nonce,
    /// Unix seconds, within a minute of the service's clock.
    pub issued_at: u64,
    /// The face.
    pub embedding: Vector,
    /// The model of the face, where two models of the tenant give as many numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(with = "Option<crate::schema::Text<64>>"))]
    pub embedder: Option<String>,
    /// The source of the login, named by the application, by which limits count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// How much of the attestation to answer with.
    #[serde(default)]
    pub attestation: AttestationForm,
}

impl UnprovenAuthentication {
    /// The `request_digest` that the attestation names: SHA3-256("trefoil/unproven-request/1" | tenant | handle | u64 issued at | probe
    /// digest | u32 length | audience | u32 length | nonce).
    pub fn request_digest(&self, tenant: &TenantId) -> [u8; 32] {
        UnprovenRequest {
            tenant: *tenant,
            handle: Handle::new(self.handle.0),
            audience: &self.audience,
            nonce: self.nonce.as_bytes(),
            issued_at: self.issued_at,
            probe_digest: &self.embedding.digest(),
        }
        .digest()
    }
}

/// A login in the form that the tenant's policy requires.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum AnyAuthentication {
    /// In a proof session.
    InSession(Authentication),
    /// Where the policy says `"proof": "none"`.
    Unproven(UnprovenAuthentication),
}
