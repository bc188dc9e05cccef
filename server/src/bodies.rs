//! Requests to the service and its answers, as bodies of the API.

use crate::problem::Problem;
use trefoil_api::{
    ApiKey, ApiKeyState, AttestationForm, AuditEntry, AuditOutcome, Authenticated, Authentication, Base64,
    DayOfUse, Hex, LoggedKey, LoggedRoot, Operator, OperatorToken, PolicyPage, PolicyVersion, PublishedRoot,
    Receipt, RootLogPage, RotationState, RotationStatus, Shares, TenantDetail, TenantSummary,
    UnprovenAuthentication, UsagePage, Vector,
};
use trefoil_attest::{Attestation, Change, Evidence, SERVICE, What, policy_digest, statement_digest};
use trefoil_pipeline::SealedTree;
use trefoil_service::limits::sources::Source;
use trefoil_service::log::seal_log::Answer;
use trefoil_service::login::logins::{LoginRequest, Signed, Voucher};
use trefoil_service::subjects::face::{self, Face};
use trefoil_service::subjects::rotation;
use trefoil_service::tenants::directory::api_keys::{self, State};
use trefoil_service::tenants::directory::{self, LoggedRoots};
use trefoil_service::tenants::operators;
use trefoil_service::tenants::tenant::{POLICY_ID, Scopes, Tenant};
use trefoil_storage::store::{self, IssuerKey, Root, TenantId};
use trefoil_types::{ApiKeyId, Handle, SessionId};
use trefoil_wallet::credentials::RootStatement;

/// A tenant in a list.
pub(crate) fn summary(tenant: &Tenant) -> TenantSummary {
    TenantSummary {
        tenant_id: Hex(tenant.id.to_bytes()),
        name: tenant.name.clone(),
        dimension: tenant.policy.dimension,
        created_at: tenant.created_at,
        disabled_at: tenant.disabled_at,
    }
}

/// A tenant alone.
pub(crate) fn shown(
    tenant: &Tenant,
    distinct_failures_refused: u64,
    locked_out: Option<u64>,
) -> TenantDetail {
    TenantDetail {
        summary: summary(tenant),
        policy_id: POLICY_ID,
        policy_version: tenant.policy_version,
        policy: tenant.policy.clone(),
        root_generation: tenant.roots.last().map(|root| root.generation),
        distinct_failures_refused,
        locked_out,
    }
}

/// A version of a tenant's policy.
pub(crate) fn policy_version(version: directory::PolicyVersion) -> PolicyVersion {
    let directory::PolicyVersion { version, made_at, policy } = version;
    let policy_digest = Hex(policy_digest(&policy));
    PolicyVersion { policy_id: POLICY_ID, policy_version: version, made_at, policy_digest, policy }
}

/// A page of what API keys were used for.
pub(crate) fn usage(tenant: TenantId, rows: Vec<store::Usage>, next: Option<ApiKeyId>) -> UsagePage {
    let day = |row: store::Usage| {
        let store::UsageCounts { matched, not_matched, enrolments, refusals } = row.counts;
        let (api_key, day) = (Hex(row.api_key.to_bytes()), row.day * 86_400);
        DayOfUse { api_key, day, matched, not_matched, enrolments, refusals }
    };
    let usage = rows.into_iter().map(day).collect();
    UsagePage { tenant_id: Hex(tenant.to_bytes()), usage, next: next.map(|id| Hex(id.to_bytes())) }
}

/// The face in a body, which has `plain` or shares.
pub(crate) fn face(plain: Option<Face>, shares: Option<Shares>) -> Face {
    match (plain, shares) {
        (Some(plain), None) => plain,
        (None, Some(Shares { open, sealed })) => {
            Face::Shared(face::Shares { open: open.0, sealed: sealed.0 })
        }
        (Some(_), Some(_)) | (None, None) => Face::Unclear,
    }
}

/// The photographs in a body, if it has any.
pub(crate) fn photographs(embeddings: Vec<Vector>) -> Option<Face> {
    let vectors: Vec<_> = embeddings.into_iter().map(Vector::into_coordinates).collect();
    (!vectors.is_empty()).then_some(Face::Photographs(vectors))
}

fn vector(embedding: Vector) -> Face {
    Face::Plain(embedding.into_coordinates())
}

/// A login as the service takes it.
pub(crate) fn login_request(body: Authentication) -> LoginRequest {
    let probe_digest = body.probe_digest();
    let Authentication {
        handle,
        session_id,
        audience,
        nonce,
        issued_at,
        embedding,
        shares,
        mac,
        embedder,
        source,
        ..
    } = body;
    LoginRequest {
        handle: Handle::new(handle.0),
        voucher: Voucher::Holder(Signed { session: SessionId::new(session_id.0), mac: mac.0 }),
        audience,
        nonce: nonce.into_bytes(),
        issued_at,
        face: face(embedding.map(vector), shares),
        probe_digest,
        embedder,
        source: source.map(named),
    }
}

/// A source as the service counts it, which has no name.
fn named(source: trefoil_api::Source) -> Source {
    Source::named(source.as_str())
}

/// A login at a tenant that asks for no proof.
pub(crate) fn unproven_request(body: UnprovenAuthentication) -> LoginRequest {
    let probe_digest = body.embedding.digest();
    let UnprovenAuthentication { handle, audience, nonce, issued_at, embedding, embedder, source, .. } = body;
    LoginRequest {
        handle: Handle::new(handle.0),
        voucher: Voucher::Application,
        audience,
        nonce: nonce.into_bytes(),
        issued_at,
        face: vector(embedding),
        probe_digest,
        embedder,
        source: source.map(named),
    }
}

/// The answer to a login.
pub(crate) fn authenticated(answer: &Answer, form: AttestationForm) -> Result<Authenticated, Problem> {
    let undecided = || Problem::internal("a login was sealed without a decision");
    Ok(Authenticated {
        id: Hex(answer.digest),
        decision: answer.decision.ok_or_else(undecided)?,
        attestation: encoding(form).map(|encoding| attestation(answer, encoding)).transpose()?,
        seal_number: answer.under.seal.header.seal_number,
    })
}

/// A receipt, with its seal or with the seal's name, if there is a seal.
pub(crate) fn receipt(answer: Option<Answer>, encoding: Encoding) -> Result<Option<Receipt>, Problem> {
    let receipt = |answer: Answer| {
        let Answer { digest, ref under, .. } = answer;
        let (id, seal_number) = (Hex(digest), under.seal.header.seal_number);
        Ok(Receipt { id, attestation: attestation(&answer, encoding)?, seal_number })
    };
    answer.map(receipt).transpose()
}

/// The form of an attestation.
#[derive(Clone, Copy)]
pub(crate) enum Encoding {
    /// A statement with its seal.
    Full,
    /// A statement with the seal's name.
    Compact,
}

/// Writes the attestation of an answer.
fn encoding(form: AttestationForm) -> Option<Encoding> {
    match form {
        AttestationForm::Full => Some(Encoding::Full),
        AttestationForm::Compact => Some(Encoding::Compact),
        AttestationForm::None => None,
    }
}

fn attestation(answer: &Answer, encoding: Encoding) -> Result<Base64, Problem> {
    let no_leaf = || Problem::internal("an answer is no leaf of its seal");
    let bytes = match encoding {
        Encoding::Full => {
            let Answer { statement, leaf_index, under, .. } = answer;
            let SealedTree { seal, tree, .. } = &**under;
            let path = tree.path(*leaf_index).ok_or_else(no_leaf)?;
            seal.attestation(statement, *leaf_index, &path)
        }
        Encoding::Compact => answer.compact().ok_or_else(no_leaf)?,
    };
    Ok(Base64(bytes))
}

/// A page of the versions of a policy.
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

/// An operator without the secrets of its tokens.
pub(crate) fn operator(operator: operators::Operator) -> Operator {
    let operators::Operator { record, role, tokens } = operator;
    let store::Operator { id, name, created_at, revoked_at, .. } = record;
    let token = |token| {
        let store::OperatorToken { number, created_at, expires_at, revoked_at, .. } = token;
        OperatorToken { number, created_at, expires_at, revoked_at }
    };
    Operator {
        operator_id: Hex(id.to_bytes()),
        name,
        role,
        created_at: (id != operators::BOOTSTRAP).then_some(created_at),
        revoked_at,
        tokens: tokens.into_iter().map(token).collect(),
    }
}

/// An entry of the audit trail.
pub(crate) fn audit_entry(entry: store::AuditEntry) -> Result<AuditEntry, Problem> {
    let store::AuditEntry { number, statement, receipt, .. } = entry;
    let Change { tenant, changed_at, what, by, .. } =
        Change::decode(&statement).map_err(Problem::internal)?;
    let (action, outcome) = match what {
        What::Refused { action } => (action, AuditOutcome::Refused),
        _ => (what.kind(), AuditOutcome::Done),
    };
    let sealed = |receipt: Vec<u8>| {
        let attestation = Attestation::decode(&receipt).map_err(Problem::internal)?;
        let seal_number = match &attestation.evidence {
            Evidence::Full(seal) => seal.header.seal_number,
            Evidence::Compact(seal) => seal.seal_number,
        };
        let id = Hex(statement_digest(&statement));
        Ok::<_, Problem>(Receipt { id, attestation: Base64(receipt), seal_number })
    };
    Ok(AuditEntry {
        number,
        at: changed_at,
        operator_id: by.map(|by| Hex(by.operator.to_bytes())),
        operator_name: by.map(|by| by.name.to_owned()),
        tenant: (tenant != SERVICE).then(|| Hex(tenant.to_bytes())),
        action: action.name().to_owned(),
        outcome,
        object: object(&what),
        receipt: receipt.map(sealed).transpose()?,
    })
}

/// The object of a change, in a word.
fn object(what: &What) -> Option<String> {
    match what {
        What::PolicyChanged { version, .. } => Some(format!("version {version}")),
        What::ApiKeyCreated { key, .. } | What::ApiKeyRevoked { key } => Some(hex::encode(key)),
        What::IssuerKeyRegistered { key } => Some(hex::encode(key)),
        What::KeyRotationBegun { epoch } | What::KeyRotationEnded { epoch } => Some(format!("epoch {epoch}")),
        What::OperatorCreated { operator, .. } | What::OperatorRevoked { operator } => {
            Some(hex::encode(operator))
        }
        What::OperatorTokenCreated { operator, token } | What::OperatorTokenRevoked { operator, token } => {
            Some(format!("{} token {token}", hex::encode(operator)))
        }
        _ => None,
    }
}

/// A credential root that is or was published.
pub(crate) fn published(statement: &RootStatement) -> PublishedRoot {
    let RootStatement { generation, generation_min, .. } = *statement;
    PublishedRoot { generation, generation_min, head: Hex(statement.digest()), receipt: None }
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

/// The progress of a rotation.
pub(crate) fn rotation(tenant: TenantId, standing: rotation::Standing) -> RotationStatus {
    let rotation::Standing { state, epoch, renewed, left, why } = standing;
    let state = match state {
        rotation::State::Idle => RotationState::Idle,
        rotation::State::Running => RotationState::Running,
        rotation::State::Stopped => RotationState::Stopped,
    };
    RotationStatus { tenant: Hex(tenant.to_bytes()), state, epoch, renewed, left, error: why }
}
