//! The rows of a store.

use crate::record;
use trefoil_attest::HEADER_BYTES_MAX;
use trefoil_matching::{Model, PublicKey};
use trefoil_types::{ApiKeyId, Handle, OperatorId, SessionId, TenantId};

/// Longer bytes are a seal with its signatures, shorter ones the header of a seal.
pub const PRUNED_BYTES_MAX: usize = HEADER_BYTES_MAX;

/// An operator's word that the clock was right at a moment when the newest seals were dated ahead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptedClock {
    /// Counts them.
    pub id: u64,
    /// The number of the next seal then.
    pub first: u64,
    /// What the clock said, Unix seconds.
    pub at: u64,
    /// Requests dated from here on, Unix seconds, until [`AcceptedClock::until`] may have been accepted while the clock was wrong.
    pub from: u64,
    /// See [`AcceptedClock::from`].
    pub until: u64,
}
record!(
    "accepted_clocks", 1, Rows, AcceptedClock { id, first: first_seal, at, from: since, until } => id, first_seal, at, since, until
);

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Identifier.
    pub id: TenantId,
    /// Name for operators.
    pub name: String,
    /// The policy as JSON; its type is `trefoil_types::Policy`.
    pub policy: String,
    /// Counts the tenant's policies from 1.
    pub policy_version: u32,
    /// Public key of the tenant's templates, see [`trefoil_matching::PublicKey`].
    pub public_key: Vec<u8>,
    /// The next public key, while the keys are rotated.
    pub next_key: Option<Vec<u8>>,
    /// The tenant's data key, wrapped.
    pub wrapped_key: Vec<u8>,
    /// Unix seconds.
    pub created_at: u64,
    /// Time since which its API keys are refused, Unix seconds.
    pub disabled_at: Option<u64>,
    /// When it was deleted, Unix seconds. The other fields are then empty.
    pub deleted_at: Option<u64>,
}
record!(
    "tenants",
    1,
    Registry,
    Tenant {
        id,
        name,
        policy,
        policy_version,
        public_key,
        next_key,
        wrapped_key,
        created_at,
        disabled_at,
        deleted_at
    }
);

/// Whether a template under this epoch is under a tenant's newest keys, of which this is the encoding, or under newer ones. Only those may be stored: a
/// rotation of keys destroys the keys before once no stored template is under them.
pub fn takes(newest: &[u8], epoch: u32) -> bool {
    PublicKey::epoch_of(newest).is_some_and(|newest| epoch >= newest)
}

/// A version of a tenant's policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyVersion {
    /// Tenant.
    pub tenant: TenantId,
    /// Counts from 1.
    pub version: u32,
    /// Like [`Tenant::policy`].
    pub policy: String,
    /// Unix seconds.
    pub made_at: u64,
}
record!("policies", 2, Registry, PolicyVersion { tenant, version, policy, made_at });

/// An API key without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Public part.
    pub id: ApiKeyId,
    /// The tenant that it belongs to.
    pub tenant: TenantId,
    /// Keyed hash of the secret part.
    pub tag: [u8; 32],
    /// Bits of an API key.
    pub scopes: u8,
    /// Unix seconds.
    pub created_at: u64,
    /// Name for operators; may be empty.
    pub label: String,
    /// From when on it is refused, Unix seconds.
    pub expires_at: Option<u64>,
    /// When it was revoked, Unix seconds.
    pub revoked_at: Option<u64>,
    /// The hour of its last use, Unix seconds; stored with a delay.
    pub last_used_at: Option<u64>,
}
record!(
    "api_keys",
    2,
    Registry,
    ApiKey { tenant, id, tag, scopes, created_at, label, expires_at, revoked_at, last_used_at }
);

impl AsRef<ApiKey> for ApiKey {
    fn as_ref(&self) -> &ApiKey {
        self
    }
}

/// An operator of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// Identifier.
    pub id: OperatorId,
    /// Name for people.
    pub name: String,
    /// Number of a role.
    pub role: u8,
    /// Unix seconds.
    pub created_at: u64,
    /// When all of its tokens were revoked, Unix seconds.
    pub revoked_at: Option<u64>,
}
record!("operators", 1, Registry, Operator { id, name, role, created_at, revoked_at });

/// A token of an operator without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorToken {
    /// The operator.
    pub operator: OperatorId,
    /// Counts the operator's tokens from 1.
    pub number: u32,
    /// Keyed hash of the secret part.
    pub tag: [u8; 32],
    /// Unix seconds.
    pub created_at: u64,
    /// From when on it is refused, Unix seconds.
    pub expires_at: Option<u64>,
    /// When it was revoked, Unix seconds.
    pub revoked_at: Option<u64>,
}
record!(
    "operator_tokens",
    2,
    Registry,
    OperatorToken { operator, number, tag, created_at, expires_at, revoked_at }
);

/// A note of a change for the audit trail, written in the transaction of the change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The tenant that the change is about.
    pub tenant: TenantId,
    /// A [`trefoil_attest::Change`], encoded.
    pub statement: Vec<u8>,
    /// The request, if it must not be made twice.
    pub once: Option<Once>,
}

/// A request that an operator may repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Once {
    /// The operator.
    pub operator: OperatorId,
    /// The operator's idempotency key.
    pub key: String,
    /// Keyed digest of route and body.
    pub request_digest: [u8; 32],
    /// Unix seconds.
    pub at: u64,
}

/// An entry of the audit trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Counts from 1.
    pub number: u64,
    /// See [`Note::tenant`].
    pub tenant: TenantId,
    /// See [`Note::statement`].
    pub statement: Vec<u8>,
    /// Its compact receipt, once it is sealed.
    pub receipt: Option<Vec<u8>>,
}
record!("audit", 1, Rows, AuditEntry { number, tenant, statement, receipt });

/// A credential root that an issuer published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Tenant.
    pub tenant: TenantId,
    /// Root of the credential tree.
    pub root: [u8; 32],
    /// Strictly increasing per tenant.
    pub generation: u32,
    /// Proofs against older generations are refused from now on.
    pub generation_min: u32,
    /// The signed statement, see `trefoil_wallet::credentials::RootStatement`.
    pub statement: Vec<u8>,
    /// The issuer's signature over it.
    pub signature: Vec<u8>,
    /// Unix seconds.
    pub published_at: u64,
}
record!(
    "roots",
    2,
    Registry,
    Root { tenant, generation, root, generation_min, statement, signature, published_at }
);

/// A key under which a tenant's roots verify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerKey {
    /// Tenant.
    pub tenant: TenantId,
    /// Counts the tenant's keys from 0; the last one signs.
    pub number: u32,
    /// ML-DSA-65 public key.
    pub key: Vec<u8>,
    /// Unix seconds.
    pub registered_at: u64,
}
record!("issuer_keys", 2, Registry, IssuerKey { tenant, number, key, registered_at });

/// An enrolled template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// All but its bytes.
    pub subject: Subject,
    /// The template under the data key.
    pub wrapped: Vec<u8>,
}

/// A subject with a template, without the template's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Tenant.
    pub tenant: TenantId,
    /// Names the subject.
    pub handle: Handle,
    /// Counts enrolments of the subject, across deletions.
    pub generation: u32,
    /// The lane, 0 to 31.
    pub lane: u8,
    /// The model of the template's vector.
    pub model: Model,
    /// The epoch of the tenant's keys that the template is under.
    pub epoch: u32,
    /// The subject's data key under the tenant's key. Deleting it makes every copy of the template's bytes unreadable.
    pub wrapped_key: Vec<u8>,
    /// The caller's reference to the subject's consent.
    pub consent_ref: String,
    /// Unix seconds.
    pub created_at: u64,
    /// When it was revoked, Unix seconds: since then its template decides no login.
    pub revoked_at: Option<u64>,
}
record!(
    "templates",
    2,
    Rows,
    Subject {
        tenant,
        handle,
        generation,
        lane,
        model,
        epoch,
        wrapped_key,
        consent_ref,
        created_at,
        revoked_at
    }
);

/// The template that a replacement is to replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Present {
    /// Its generation.
    pub generation: u32,
    /// When its subject was revoked, Unix seconds.
    pub revoked_at: Option<u64>,
}

/// A subject that was revoked, now or earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revocation {
    /// Generation of the template, which decides no login any more.
    pub generation: u32,
    /// When it was revoked first, Unix seconds.
    pub revoked_at: u64,
}

/// A proof session, stored so that it survives eviction of its verdict and a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Tenant.
    pub tenant: TenantId,
    /// Statement digest.
    pub id: SessionId,
    /// When its proof was accepted, Unix seconds.
    pub opened_at: u64,
    /// Unix seconds.
    pub expires_at: u64,
    /// The session with its key, wrapped under the tenant's key; see [`super::wrap::SessionName`]. Empty once it was ended.
    pub wrapped: Vec<u8>,
}
record!("sessions", 2, LargeRows, Session { tenant, id, opened_at, expires_at, wrapped });

/// The answer to an enrolment or a replacement, for callers that repeat the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// Tenant.
    pub tenant: TenantId,
    /// The caller's key.
    pub key: String,
    /// Keyed digest of route and body.
    pub request_digest: [u8; 32],
    /// The generation that was stored.
    pub generation: u32,
    /// The one that it replaced, if it replaced one.
    pub replaced: Option<u32>,
    /// Unix seconds.
    pub created_at: u64,
}
record!(
    "idempotency",
    2,
    Rows,
    Idempotency { tenant, key, request_digest, generation, replaced, created_at }
);

/// The records that a process reads at its start and keeps in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registry {
    /// All tenants.
    pub tenants: Vec<Tenant>,
    /// All API keys.
    pub api_keys: Vec<ApiKey>,
    /// The newest root of each tenant and older ones that are still accepted.
    pub roots: Vec<Root>,
    /// All issuer keys, in the order of their numbers.
    pub issuer_keys: Vec<IssuerKey>,
    /// All operators with a row.
    pub operators: Vec<Operator>,
    /// All of their tokens.
    pub operator_tokens: Vec<OperatorToken>,
}
