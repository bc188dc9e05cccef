//! The JSON bodies of the API, shared by the service and its clients.
//!
//! Fixed-size byte strings are hexadecimal; long ones are base64. Unknown fields are refused. A value of a type here is
//! well-formed: lengths, ranges and finiteness are checked while it is read, so errors carry a JSON pointer.

use serde::{Deserialize, Serialize};
pub use trefoil_types::{
    AttemptPolicy, Decision, OutOfRange, Policy, ProbeMode, ProofNeed, Role, SCORE_MAX,
    SESSIONS_IN_MEMORY_MAX, Scope, Threshold,
};

mod api_keys;
mod batch;
mod encoding;
mod face;
mod logins;
mod operators;
mod outcomes;
mod pin;
mod roots;
#[cfg(feature = "openapi")]
mod schema;
mod sessions;
mod source;
mod status;
mod subjects;
mod tenants;
mod text;
mod unproven;
mod usage;

pub use api_keys::{ApiKey, ApiKeyPage, ApiKeyState, CreateApiKey, CreatedApiKey};
pub use batch::{AuthenticatedBatch, AuthenticationBatch, BATCH_MAX, Outcome};
pub use encoding::{Base64, Hex, Nonce};
pub use face::{NUMBERS_MAX, NUMBERS_MIN, PHOTOGRAPHS_MAX, Shares, Vector};
pub use logins::{AttestationForm, Authenticated, Authentication};
pub use operators::{
    AuditEntry, AuditOutcome, AuditPage, ChangedOperator, ChangedTenant, CreateOperator, CreateOperatorToken,
    CreatedOperatorToken, DeletedTenant, Operator, OperatorPage, OperatorToken, OwnTenant, ResetAttempts,
    ResetMalformed, RevokedApiKey, StartedRotation,
};
pub use outcomes::{LoginOutcomes, TenantLogins};
pub use pin::{Pin, PinError};
pub use roots::{
    LoggedKey, LoggedRoot, PublishRoot, PublishedRoot, RegisterIssuerKey, RegisteredIssuerKey, RootLogPage,
};
pub use sessions::{EndedSession, LiveSession, ProofSession, SessionPage};
pub use source::Source;
pub use status::{
    BatchCounts, BudgetTrips, CacheCounts, DiskRoom, Filled, Finding, FleetNode, KeyHolderCounts,
    KeyHolderSeat, Level, ListenerConnections, LoginCounts, ProblemCount, ProcessFigures, ProofCounts,
    RequestTimes, SealCounts, ServiceStatus, StageTimes,
};
pub use subjects::{Enrolled, Enrolment, Erased, Replaced, Revoked, Subject, SubjectPage, SubjectState};
pub use tenants::{
    ChangedPolicy, CreateTenant, CreatedTenant, FheKeys, PolicyPage, PolicyVersion, RotationState,
    RotationStatus, SetPolicy, TenantDetail, TenantPage, TenantSummary,
};
pub use unproven::{AnyAuthentication, UnprovenAuthentication};
pub use usage::{DayOfUse, UsagePage};

/// The last second of the year 9999: the latest time that a body may name. A store counts seconds in 63 bits.
pub const TIME_MAX: u64 = 253_402_300_799;

/// Media type of a proof upload.
pub const PROOF_MEDIA_TYPE: &str = "application/octet-stream";

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

#[cfg(test)]
mod tests;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
