//! The JSON bodies of the API, shared by the service and its clients.
//!
//! Fixed-size byte strings are hexadecimal; long ones are base64. Unknown fields are refused. A value of a type here is
//! well-formed: lengths, ranges and finiteness are checked while it is read, so errors carry a JSON pointer.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use trefoil_attest::RequestHeader;
pub use trefoil_types::{
    AttemptPolicy, DIM, Decision, OutOfRange, Policy, ProbeMode, ProofNeed, Role, SCORE_MAX,
    SESSIONS_IN_MEMORY_MAX, Scope, Threshold,
};
use trefoil_types::{Handle, SessionId};

mod batch;
mod encoding;
mod face;
mod operators;
mod outcomes;
mod pin;
#[cfg(feature = "openapi")]
mod schema;
mod source;
mod status;
mod unproven;
mod usage;

pub use batch::{AuthenticatedBatch, AuthenticationBatch, BATCH_MAX, Outcome};
pub use encoding::{Base64, Hex, Nonce};
pub use face::{Shares, Vector};
pub use operators::{
    AuditEntry, AuditOutcome, AuditPage, ChangedOperator, ChangedTenant, CreateOperator, CreateOperatorToken,
    CreatedOperatorToken, DeletedTenant, Operator, OperatorPage, OperatorToken, OwnTenant, ResetAttempts,
    ResetMalformed, RevokedApiKey, StartedRotation,
};
pub use outcomes::{LoginOutcomes, TenantLogins};
pub use pin::{Pin, PinError};
pub use source::Source;
pub use status::{
    BatchCounts, BudgetTrips, CacheCounts, DiskRoom, Filled, Finding, FleetNode, KeyHolderCounts,
    KeyHolderSeat, Level, ListenerConnections, LoginCounts, ProblemCount, ProcessFigures, ProofCounts,
    RequestTimes, SealCounts, ServiceStatus, StageTimes,
};
pub use unproven::{AnyAuthentication, UnprovenAuthentication};
pub use usage::{DayOfUse, UsagePage};

/// The last second of the year 9999: the latest time that a body may name. A store counts seconds in 63 bits.
pub const TIME_MAX: u64 = 253_402_300_799;

/// Media type of a proof upload.
pub const PROOF_MEDIA_TYPE: &str = "application/octet-stream";

/// `POST /v1/subjects/{handle}/templates`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Enrolment {
    /// The face, where the tenant's probe mode is `plain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Vector>,
    /// The face in two shares, where it is `shared`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<Shares>,
    /// Unix second at which the device sealed its share, within a minute of the service's clock; where there are shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued_at: Option<u64>,
    /// The caller's reference to the subject's consent, 1 to 256 bytes; kept with the template.
    #[serde(deserialize_with = "reference")]
    #[cfg_attr(feature = "openapi", schemars(with = "schema::Text<256>"))]
    pub consent_ref: String,
}

/// The receipt of a change, sealed in the same log as decisions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Receipt {
    /// SHA3-256 of the change: its leaf.
    pub id: Hex<32>,
    /// The change and its seal, or the seal's name, CBOR.
    pub attestation: Base64,
    /// The seal's number.
    pub seal_number: u64,
}

/// Answer to [`Enrolment`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Enrolled {
    /// The subject's handle.
    pub handle: Hex<32>,
    /// Generation of the template that is now active.
    pub generation: u32,
    /// The receipt of the enrolment; `null` if it could not be sealed.
    #[serde(default)]
    pub receipt: Option<Receipt>,
}

/// Answer to `PUT /v1/subjects/{handle}/templates`, which takes an [`Enrolment`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Replaced {
    /// The subject's handle.
    pub handle: Hex<32>,
    /// Generation of the template that is now active.
    pub generation: u32,
    /// Generation of the template that was active before and is now destroyed.
    pub replaced: u32,
    /// The receipt of the replacement; `null` if it could not be sealed.
    pub receipt: Option<Receipt>,
}

/// Answer to `POST /v1/subjects/{handle}/revoke`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Revoked {
    /// The subject's handle.
    pub handle: Hex<32>,
    /// Generation of its template, which decides no login any more.
    pub generation: u32,
    /// When it was revoked first, Unix seconds.
    pub revoked_at: u64,
    /// The receipt of the revocation; `null` if it could not be sealed, as on a full disk.
    pub receipt: Option<Receipt>,
}

/// `GET /v1/subjects/{handle}`: a subject with a template. Nothing about the template is disclosed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Subject {
    /// The subject's handle.
    pub handle: Hex<32>,
    /// Generation of its template.
    pub generation: u32,
    /// Whether its logins are decided.
    pub state: SubjectState,
    /// When it was revoked, Unix seconds; `null` for an active subject.
    pub revoked_at: Option<u64>,
    /// Numbers in the vector of its template: the tenant's dimension.
    pub dimension: u32,
    /// When it was enrolled, Unix seconds.
    pub enrolled_at: u64,
    /// The caller's reference to the subject's consent.
    pub consent_ref: String,
}

/// Whether a subject's logins are decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SubjectState {
    /// Yes.
    Active,
    /// No, the tenant revoked it. Another template makes it active again.
    Revoked,
}

/// `GET /v1/subjects`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct SubjectPage {
    /// The subjects, in the order of their handles.
    pub subjects: Vec<Subject>,
    /// The value of `from` for the next page; `null` at the end.
    pub next: Option<Hex<32>>,
}

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

/// Answer to `DELETE /v1/subjects/{handle}/templates`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Erased {
    /// The subject's handle.
    pub handle: Hex<32>,
    /// Generation of the newest destroyed template. No template of the subject is left.
    pub generation: u32,
    /// When, Unix seconds.
    pub erased_at: u64,
    /// The receipt of the erasure; `null` if it could not be sealed, as on a full disk.
    pub receipt: Option<Receipt>,
}

/// `POST /v1/credentials/roots`: a `trefoil_client::credentials::SignedRoot`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PublishRoot {
    /// The encoding of the root statement.
    #[cfg_attr(feature = "openapi", schemars(with = "schema::Base64Of<132>"))]
    pub statement: Base64,
    /// ML-DSA-65 under the tenant's registered issuer key.
    #[cfg_attr(feature = "openapi", schemars(with = "schema::Base64Of<3309>"))]
    pub signature: Base64,
}

/// `PUT /v1/tenants/{tenant}/issuer-key` on the admin listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RegisterIssuerKey {
    /// The public key, 1952 bytes.
    #[cfg_attr(feature = "openapi", schemars(with = "schema::Base64Of<1952>"))]
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
    #[cfg_attr(feature = "openapi", schemars(with = "schema::Base64Of<1952>"))]
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

/// A value of a session's hash chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reveal {
    /// Position counted from the chain's tip; 1 for the first request of a session.
    #[cfg_attr(feature = "openapi", schemars(range(min = 1)))]
    pub position: u32,
    /// The value.
    pub value: Hex<32>,
}

impl From<trefoil_attest::Reveal> for Reveal {
    fn from(reveal: trefoil_attest::Reveal) -> Reveal {
        Reveal { position: reveal.position, value: Hex(reveal.value) }
    }
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
    #[cfg_attr(feature = "openapi", schemars(with = "schema::Text<255>"))]
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
    /// The next value of the session's hash chain, if its proof commits to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reveal: Option<Reveal>,
    /// MAC under the session's key, see [`Authentication::header`].
    pub mac: Hex<32>,
    /// The source of the login, named by the application, by which limits count. The MAC does not cover it, because the application adds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// How much of the attestation to answer with.
    #[serde(default)]
    pub attestation: AttestationForm,
}

impl Authentication {
    /// The value that the request reveals, in the form of the attestation.
    pub fn reveal(&self) -> Option<trefoil_attest::Reveal> {
        self.reveal.map(|Reveal { position, value }| trefoil_attest::Reveal { position, value: value.0 })
    }

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
            reveal: self.reveal(),
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

/// `POST /v1/tenants` on the admin listener.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateTenant {
    /// Name for operators, 1 to 256 bytes.
    #[serde(deserialize_with = "reference")]
    #[cfg_attr(feature = "openapi", schemars(with = "schema::Text<256>"))]
    pub name: String,
    /// The policy that decides the tenant's requests.
    pub policy: Policy,
}

/// `GET /v1/fhe/keys/{tenant}`: how a tenant's faces are encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct FheKeys {
    /// The tenant.
    pub tenant: Hex<16>,
    /// Its probe mode.
    pub probe_mode: ProbeMode,
    /// The epochs of its keys, oldest first: two while they are rotated.
    pub epochs: Vec<u32>,
    /// The key to which devices seal their shares, 1216 bytes, see `trefoil-split`.
    #[cfg_attr(feature = "openapi", schemars(with = "schema::Base64Of<1216>"))]
    pub sealing_key: Base64,
    /// Its fingerprint, for people to compare. A device compares the key itself with the fingerprint that it was given.
    pub sealing_key_fingerprint: Hex<32>,
}

/// Answer to [`CreateTenant`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct CreatedTenant {
    /// The tenant.
    pub tenant_id: Hex<16>,
    /// The policy's number, part of every session context.
    pub policy_id: u32,
    /// The receipt of the creation; `null` if it is not sealed yet.
    #[serde(default)]
    pub receipt: Option<Receipt>,
}

/// Answer to `GET /v1/tenants/{tenant}/key-rotation` on the admin listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct RotationStatus {
    /// The tenant.
    pub tenant: Hex<16>,
    /// Whether the rotation runs.
    pub state: RotationState,
    /// The epoch of the newest keys.
    pub epoch: u32,
    /// Templates under them.
    pub renewed: u64,
    /// Templates that are still under the previous keys.
    pub left: u64,
    /// Why it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Whether the keys of a tenant are being rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RotationState {
    /// No; every template is under the newest keys.
    Idle,
    /// Yes.
    Running,
    /// It has begun and has stopped: request it again.
    Stopped,
}

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
    #[cfg_attr(feature = "openapi", schemars(with = "schema::Text<256>"))]
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

/// A tenant in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TenantSummary {
    /// The tenant.
    pub tenant_id: Hex<16>,
    /// Name for operators.
    pub name: String,
    /// Numbers in the vectors of its faces; cannot change.
    pub dimension: u32,
    /// Unix seconds.
    pub created_at: u64,
    /// Time since which its API keys are refused, Unix seconds; `null` while it is enabled.
    pub disabled_at: Option<u64>,
}

/// `GET /v1/tenants?from={tenant}` on the admin listener: a page of at most 256.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TenantPage {
    /// The tenants, in the order of their identifiers.
    pub tenants: Vec<TenantSummary>,
    /// The value of `from` for the next page; `null` at the end.
    pub next: Option<Hex<16>>,
}

/// `GET /v1/tenants/{tenant}` on the admin listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TenantDetail {
    /// The same fields as in the list.
    #[serde(flatten)]
    pub summary: TenantSummary,
    /// The policy's number.
    pub policy_id: u32,
    /// Its version, as attestations say it.
    pub policy_version: u32,
    /// The policy that decides the tenant's requests.
    pub policy: Policy,
    /// The newest credential root; `null` before the first.
    pub root_generation: Option<u32>,
    /// Logins that were refused with `distinct-failures` since the service started.
    #[serde(default)]
    pub distinct_failures_refused: u64,
    /// Subjects that have no attempt now: during a delay, for the day, or permanently; `null` if the
    /// key-holder cannot say. With three it is the second largest of their counts, and `null` if two cannot say.
    #[serde(default)]
    pub locked_out: Option<u64>,
}

/// `PUT /v1/tenants/{tenant}/policy` on the admin listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SetPolicy {
    /// The policy that decides the tenant's requests from now on.
    pub policy: Policy,
}

/// A version of a tenant's policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct PolicyVersion {
    /// The policy's number.
    pub policy_id: u32,
    /// Its version, as attestations say it.
    pub policy_version: u32,
    /// When it was made, Unix seconds.
    pub made_at: u64,
    /// SHA3-256 of the policy in canonical JSON (RFC 8785), as receipts name it.
    pub policy_digest: Hex<32>,
    /// The policy.
    pub policy: Policy,
}

/// Answer to [`SetPolicy`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ChangedPolicy {
    /// The version in force.
    #[serde(flatten)]
    pub version: PolicyVersion,
    /// The receipt; `null` if it could not be sealed.
    pub receipt: Option<Receipt>,
}

/// `GET /v1/tenants/{tenant}/policies` on the admin listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct PolicyPage {
    /// The versions, oldest first.
    pub policies: Vec<PolicyVersion>,
    /// The value of `from` for the next page; `null` at the end.
    pub next: Option<u32>,
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match Option::deserialize(deserializer)? {
        Some(time) if time > TIME_MAX => {
            Err(D::Error::custom(format_args!("expected a time until {TIME_MAX}, the end of the year 9999")))
        }
        time => Ok(time),
    }
}

fn label<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    reference(deserializer).map(Some)
}

fn reference<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    text(deserializer, 256)
}

fn operator_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    text(deserializer, trefoil_attest::OPERATOR_NAME_BYTES_MAX)
}

fn audience<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    text(deserializer, 255)
}

fn is_text(text: &str, bytes_max: usize) -> bool {
    (1..=bytes_max).contains(&text.len()) && !text.chars().any(char::is_control)
}

fn text<'de, D: Deserializer<'de>>(deserializer: D, bytes_max: usize) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if is_text(&text, bytes_max) {
        return Ok(text);
    }
    let cause = match text.chars().any(char::is_control) {
        true => "expected one line of text, without line breaks and other control characters",
        false => return Err(D::Error::custom(format_args!("expected 1 to {bytes_max} bytes of text"))),
    };
    Err(D::Error::custom(cause))
}

#[cfg(test)]
mod tests;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
