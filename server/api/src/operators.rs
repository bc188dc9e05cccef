//! Bodies about operators and their changes.

#[cfg(feature = "openapi")]
use crate::schema;
use crate::text::{operator_name, time};
use crate::{ApiKey, Hex, Receipt, Role, RotationStatus, TenantSummary};
use serde::{Deserialize, Serialize};

/// `POST /v1/operators` on the admin listener.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateOperator {
    /// Name for people, 1 to 64 bytes. The audit trail shows it.
    #[serde(deserialize_with = "operator_name")]
    #[cfg_attr(feature = "openapi", schemars(with = "schema::Text<64>"))]
    pub name: String,
    /// What the operator may do.
    pub role: Role,
    /// Time from which its first token is refused, Unix seconds; absent for never.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "time")]
    #[cfg_attr(feature = "openapi", schemars(range(max = 253_402_300_799u64)))]
    pub expires_at: Option<u64>,
}

/// `POST /v1/operators/{operator}/tokens` on the admin listener.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateOperatorToken {
    /// Time from which it is refused, Unix seconds; absent for never.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "time")]
    #[cfg_attr(feature = "openapi", schemars(range(max = 253_402_300_799u64)))]
    pub expires_at: Option<u64>,
}

/// Answer to [`CreateOperator`] and [`CreateOperatorToken`]. The only time that the token is shown.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct CreatedOperatorToken {
    /// The operator.
    pub operator_id: Hex<8>,
    /// The token, for `Authorization: Bearer` on the admin listener.
    pub token: String,
    /// Counts the operator's tokens from 1.
    pub number: u32,
    /// Time from which it is refused, Unix seconds; `null` for never.
    pub expires_at: Option<u64>,
    /// The receipt of the creation; `null` if it is not sealed yet.
    pub receipt: Option<Receipt>,
}

/// An operator of the service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Operator {
    /// Identifier. All zeros for the operator of the file `admin.token`.
    pub operator_id: Hex<8>,
    /// Name for people.
    pub name: String,
    /// What the operator may do.
    pub role: Role,
    /// Unix seconds; `null` for the operator of the file `admin.token`.
    pub created_at: Option<u64>,
    /// When all of its tokens were revoked, Unix seconds.
    pub revoked_at: Option<u64>,
    /// Its tokens, oldest first, including expired and revoked ones. The token in the file `admin.token` is not among them.
    pub tokens: Vec<OperatorToken>,
}

/// A token of an operator, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct OperatorToken {
    /// Counts the operator's tokens from 1.
    pub number: u32,
    /// Unix seconds.
    pub created_at: u64,
    /// Time from which it is refused, Unix seconds; `null` for never.
    pub expires_at: Option<u64>,
    /// When it was revoked, Unix seconds.
    pub revoked_at: Option<u64>,
}

/// `GET /v1/operators?from={operator}` on the admin listener: a page of at most 256.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct OperatorPage {
    /// The operators, in the order of their identifiers.
    pub operators: Vec<Operator>,
    /// The value of `from` for the next page; `null` at the end.
    pub next: Option<Hex<8>>,
}

/// Answer to a revocation of an operator or of one of its tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ChangedOperator {
    /// The same fields as in the list.
    #[serde(flatten)]
    pub operator: Operator,
    /// The receipt of the revocation; `null` if it was revoked already, or the receipt is not sealed yet.
    pub receipt: Option<Receipt>,
}

/// Answer to `POST /v1/tenants/{tenant}/disable` and `/enable` on the admin listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ChangedTenant {
    /// The same fields as in the list.
    #[serde(flatten)]
    pub summary: TenantSummary,
    /// The receipt; `null` if nothing changed, or the receipt is not sealed yet.
    pub receipt: Option<Receipt>,
}

/// Answer to `DELETE /v1/tenants/{tenant}` on the admin listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct DeletedTenant {
    /// The tenant.
    pub tenant_id: Hex<16>,
    /// Templates that were destroyed.
    pub templates: u64,
    /// When, Unix seconds.
    pub deleted_at: u64,
    /// The receipt of the deletion; `null` if it is not sealed yet.
    pub receipt: Option<Receipt>,
}

/// Answer to `DELETE /v1/tenants/{tenant}/api-keys/{id}` on the admin listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct RevokedApiKey {
    /// The same fields as in the list.
    #[serde(flatten)]
    pub key: ApiKey,
    /// The receipt of the revocation; `null` if it was revoked already, or the receipt is not sealed yet.
    pub receipt: Option<Receipt>,
}

/// Answer to `POST /v1/tenants/{tenant}/key-rotation` on the admin listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct StartedRotation {
    /// The progress of the rotation.
    #[serde(flatten)]
    pub status: RotationStatus,
    /// The receipt of its beginning; `null` if it had begun before, or the receipt is not sealed yet.
    pub receipt: Option<Receipt>,
}

/// Answer to `POST /v1/tenants/{tenant}/reset-malformed` on the admin listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ResetMalformed {
    /// The receipt of the reset; `null` if it is not sealed yet.
    pub receipt: Option<Receipt>,
}

/// Answer to `POST /v1/tenants/{tenant}/subjects/{handle}/reset-attempts` on the admin listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ResetAttempts {
    /// The receipt of the reset, without the subject; `null` if it is not sealed yet.
    pub receipt: Option<Receipt>,
}

/// `GET /v1/tenant`: the tenant that the API key belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct OwnTenant {
    /// The tenant.
    pub tenant_id: Hex<16>,
    /// Subjects that have no attempt now: during a delay, for the day, or permanently; `null` if the
    /// key-holder cannot say. With three it is the second largest of their counts, and `null` if two cannot say.
    pub locked_out: Option<u64>,
    /// Logins that were refused with `distinct-failures` since the service started.
    pub distinct_failures_refused: u64,
}

/// An entry of the audit trail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct AuditEntry {
    /// Counts from 1.
    pub number: u64,
    /// When, Unix seconds.
    pub at: u64,
    /// The operator that did it; `null` if the service did it on its own, as the end of a key rotation.
    pub operator_id: Option<Hex<8>>,
    /// The operator's name.
    pub operator_name: Option<String>,
    /// The tenant that was changed; `null` if the change concerns the service itself.
    pub tenant: Option<Hex<16>>,
    /// The kind of the change or refused change, such as `policy_changed`.
    pub action: String,
    /// Whether the change was made.
    pub outcome: AuditOutcome,
    /// The object of the change: the public part of an API key, an operator, a version and so on, as in the receipt.
    pub object: Option<String>,
    /// Its receipt, compact; `null` if it is not sealed yet.
    pub receipt: Option<Receipt>,
}

/// The outcome of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AuditOutcome {
    /// It was done.
    Done,
    /// The operator's role does not allow it, and nothing was changed.
    Refused,
}

/// `GET /v1/audit?from={number}&tenant={tenant}` on the admin listener: a page of at most 256.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct AuditPage {
    /// The entries, oldest first.
    pub entries: Vec<AuditEntry>,
    /// The value of `from` for the next page; `null` at the end.
    pub next: Option<u64>,
}
