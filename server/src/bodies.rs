//! What the service says of its tenants, as bodies of the API.

use trefoil_api::{
    ApiKey, ApiKeyState, Base64, Hex, LoggedKey, LoggedRoot, PolicyPage, PolicyVersion, PublishedRoot,
    RootLogPage, RotationState, RotationStatus, TenantDetail, TenantSummary,
};
use trefoil_service::directory::api_keys::{self, State};
use trefoil_service::directory::{self, LoggedRoots, PolicyForm};
use trefoil_service::rotation;
use trefoil_service::tenant::{POLICY_ID, Scopes, Tenant};
use trefoil_storage::store::{self, IssuerKey, Root, TenantId};
use trefoil_wallet::credentials::RootStatement;

/// Policies in the store, as operators send them.
pub(crate) const POLICIES: PolicyForm = PolicyForm {
    read: |text| serde_json::from_str(text).map_err(|cause| cause.to_string()),
    write: |policy| serde_json::to_string(policy).map_err(|cause| cause.to_string()),
};

/// A tenant in a list.
pub(crate) fn summary(tenant: &Tenant) -> TenantSummary {
    TenantSummary {
        tenant_id: Hex(tenant.id.to_bytes()),
        name: tenant.name.clone(),
        created_at: tenant.created_at,
        disabled_at: tenant.disabled_at,
    }
}

/// A tenant alone.
pub(crate) fn shown(tenant: &Tenant) -> TenantDetail {
    TenantDetail {
        summary: summary(tenant),
        policy_id: POLICY_ID,
        policy_version: tenant.policy_version,
        policy: tenant.policy.clone(),
        root_generation: tenant.roots.last().map(|root| root.generation),
    }
}

/// A version of a tenant's policy.
pub(crate) fn policy_version(version: directory::PolicyVersion) -> PolicyVersion {
    let directory::PolicyVersion { version, made_at, policy } = version;
    PolicyVersion { policy_id: POLICY_ID, policy_version: version, made_at, policy }
}

/// A page of them.
pub(crate) fn policies(versions: Vec<directory::PolicyVersion>, next: Option<u32>) -> PolicyPage {
    PolicyPage { policies: versions.into_iter().map(policy_version).collect(), next }
}

/// An API key without its secret.
pub(crate) fn api_key(key: api_keys::ApiKey) -> ApiKey {
    let api_keys::ApiKey { record, state, last_used_at } = key;
    let store::ApiKey { id, scopes, created_at, label, expires_at, revoked_at, .. } = record;
    let state = match state {
        State::Active => ApiKeyState::Active,
        State::Expired => ApiKeyState::Expired,
        State::Revoked => ApiKeyState::Revoked,
    };
    let (id, scopes) = (Hex(id.to_bytes()), Scopes::from_bits(scopes).list());
    ApiKey { id, label, scopes, state, created_at, expires_at, revoked_at, last_used_at }
}

/// A credential root that is published now, or was.
pub(crate) fn published(statement: &RootStatement) -> PublishedRoot {
    let RootStatement { generation, generation_min, .. } = *statement;
    PublishedRoot { generation, generation_min, head: Hex(statement.digest()) }
}

/// A page of a tenant's root log.
pub(crate) fn root_log(
    tenant: TenantId,
    LoggedRoots { issuer_keys, roots, next }: LoggedRoots,
) -> RootLogPage {
    let key = |IssuerKey { key, registered_at, .. }| LoggedKey { ml_dsa_65: Base64(key), registered_at };
    let root = |Root { statement, signature, published_at, .. }| LoggedRoot {
        statement: Base64(statement),
        signature: Base64(signature),
        published_at,
    };
    RootLogPage {
        tenant: Hex(tenant.to_bytes()),
        issuer_keys: issuer_keys.into_iter().map(key).collect(),
        roots: roots.into_iter().map(root).collect(),
        next,
    }
}

/// Where a rotation stands.
pub(crate) fn rotation(tenant: TenantId, standing: rotation::Standing) -> RotationStatus {
    let rotation::Standing { state, epoch, renewed, left, why } = standing;
    let state = match state {
        rotation::State::Idle => RotationState::Idle,
        rotation::State::Running => RotationState::Running,
        rotation::State::Stopped => RotationState::Stopped,
    };
    RotationStatus { tenant: Hex(tenant.to_bytes()), state, epoch, renewed, left, error: why }
}
