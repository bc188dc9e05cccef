//! Bodies about operators, and about what they changed.

#[cfg(feature = "openapi")]
use crate::schema;
use crate::{ApiKey, Hex, Receipt, RotationStatus, TenantSummary, operator_name, time};
use serde::{Deserialize, Serialize};

/// What an operator may do; each role may do what the one before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Read everything on the admin listener.
    Viewer = 1,
    /// Change tenants, policies, API keys, issuer keys and template keys.
    Operator = 2,
    /// Manage operators.
    Owner = 3,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 3] = [Role::Viewer, Role::Operator, Role::Owner];

    /// As the API writes it.
    pub fn name(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Owner => "owner",
        }
    }

    /// As receipts and the store have it.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The role with this number.
    pub fn of_number(number: u8) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.number() == number)
    }
}

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
    /// From when on its first token is refused, Unix seconds; never without it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "time")]
    #[cfg_attr(feature = "openapi", schemars(range(max = 253_402_300_799u64)))]
    pub expires_at: Option<u64>,
}

/// `POST /v1/operators/{operator}/tokens` on the admin listener.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateOperatorToken {
    /// From when on it is refused, Unix seconds; never without it.
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
    /// From when on it is refused, Unix seconds; `null` for never.
    pub expires_at: Option<u64>,
    /// That it was created; `null` where that is not sealed yet.
    pub receipt: Option<Receipt>,
}

/// An operator of the service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Operator {
    /// Identifier. Zeros are the operator of the file `admin.token`.
    pub operator_id: Hex<8>,
    /// Name for people.
    pub name: String,
    /// What the operator may do.
    pub role: Role,
    /// Unix seconds; `null` for the operator of the file `admin.token`.
    pub created_at: Option<u64>,
    /// When all of its tokens were revoked, Unix seconds.
    pub revoked_at: Option<u64>,
    /// Its tokens, oldest first, the ended ones too. That of the file `admin.token` is not among them.
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
    /// From when on it is refused, Unix seconds; `null` for never.
    pub expires_at: Option<u64>,
    /// When it was revoked, Unix seconds.
    pub revoked_at: Option<u64>,
}

/// `GET /v1/operators?from={operator}` on the admin listener: a page of at most 256.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct OperatorPage {
    /// The operators, by their identifiers.
    pub operators: Vec<Operator>,
    /// Where the next page begins; `null` at the end.
    pub next: Option<Hex<8>>,
}

/// Answer to a revocation of an operator or of one of its tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ChangedOperator {
    /// As in the list.
    #[serde(flatten)]
    pub operator: Operator,
    /// That it was revoked; `null` where it was already, or where that is not sealed yet.
    pub receipt: Option<Receipt>,
}

/// Answer to `POST /v1/tenants/{tenant}/disable` and `/enable` on the admin listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ChangedTenant {
    /// As in the list.
    #[serde(flatten)]
    pub summary: TenantSummary,
    /// That it was changed; `null` where it was so already, or where that is not sealed yet.
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
    /// That it was deleted; `null` where that is not sealed yet.
    pub receipt: Option<Receipt>,
}

/// Answer to `DELETE /v1/tenants/{tenant}/api-keys/{id}` on the admin listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct RevokedApiKey {
    /// As in the list.
    #[serde(flatten)]
    pub key: ApiKey,
    /// That it was revoked; `null` where it was already, or where that is not sealed yet.
    pub receipt: Option<Receipt>,
}

/// Answer to `POST /v1/tenants/{tenant}/key-rotation` on the admin listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct StartedRotation {
    /// Where it stands.
    #[serde(flatten)]
    pub status: RotationStatus,
    /// That it began; `null` where it had begun before, or where that is not sealed yet.
    pub receipt: Option<Receipt>,
}

/// Answer to `POST /v1/tenants/{tenant}/reset-malformed` on the admin listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ResetMalformed {
    /// That the count was reset; `null` where that is not sealed yet.
    pub receipt: Option<Receipt>,
}

/// Answer to `POST /v1/tenants/{tenant}/subjects/{handle}/reset-attempts` on the admin listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ResetAttempts {
    /// That it was reset, without the subject; `null` where that is not sealed yet.
    pub receipt: Option<Receipt>,
}

/// `GET /v1/tenant`: the tenant whose API key asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct OwnTenant {
    /// The tenant.
    pub tenant_id: Hex<16>,
    /// Subjects that have no attempt now: for a delay, for the day, or for good; `null` where the key-holder cannot say.
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
    /// Who did it; `null` where the service did it on its own, as the end of a key rotation.
    pub operator_id: Option<Hex<8>>,
    /// The operator's name.
    pub operator_name: Option<String>,
    /// Whose change; `null` where it concerns the service itself.
    pub tenant: Option<Hex<16>>,
    /// What was changed, or would have been: a kind of change, such as `policy_changed`.
    pub action: String,
    /// Whether it was changed.
    pub outcome: AuditOutcome,
    /// What it was done to: the public part of an API key, an operator, a version, ... as the receipt has it.
    pub object: Option<String>,
    /// Its receipt, compact; `null` where that is not sealed yet.
    pub receipt: Option<Receipt>,
}

/// What became of an action.
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
    /// Where the next page begins; `null` at the end.
    pub next: Option<u64>,
}
