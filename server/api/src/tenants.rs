//! Tenants, their policies, and the keys of their templates.

use super::{Base64, Hex, Receipt};
use crate::text::reference;
use serde::{Deserialize, Serialize};
use trefoil_types::{Policy, ProbeMode};

/// `POST /v1/tenants` on the admin listener.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateTenant {
    /// Name for operators, 1 to 256 bytes.
    #[serde(deserialize_with = "reference")]
    #[cfg_attr(feature = "openapi", schemars(with = "crate::schema::Text<256>"))]
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
    #[cfg_attr(feature = "openapi", schemars(with = "crate::schema::Base64Of<1216>"))]
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
