//! What the gateway keeps: tenants, API keys, templates, credential roots, proof sessions, seals, idempotency keys.
//!
//! A [`Store`] moves opaque bytes: templates and sessions arrive already wrapped (see [`wrap`]), so no
//! implementation sees one in the clear. Calls block; async code makes them on the blocking pool. A write returns once
//! it is durable. The key-holder's secrets are in another database behind another type, because another role holds
//! them.

mod memory;
mod seal_reader;
mod sqlite;
#[cfg(test)]
mod suite;
pub mod wrap;

pub use crate::database::StoreError;
pub use memory::Memory;
pub use seal_reader::SealReader;
pub use sqlite::Sqlite;
pub use sqlite::VERSION;

use trefoil_attest::HEADER_BYTES_MAX;
use trefoil_attest::Restoration;
use trefoil_attest::tree::Hash;
pub use trefoil_types::{ApiKeyId, Handle, SessionId, TenantId};

/// What is longer is a seal with its signatures, what is not is the header of one.
const PRUNED_BYTES_MAX: usize = HEADER_BYTES_MAX;

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Identifier.
    pub id: TenantId,
    /// Name for operators.
    pub name: String,
    /// The policy as JSON; its type is `trefoil_api::Policy`.
    pub policy: String,
    /// Counts the tenant's policies from 1.
    pub policy_version: u32,
    /// Public key of the tenant's templates, see [`trefoil_matching::PublicKey`].
    pub public_key: Vec<u8>,
    /// The one that follows it, while the keys are rotated.
    pub next_key: Option<Vec<u8>>,
    /// The tenant's data key, wrapped.
    pub wrapped_key: Vec<u8>,
    /// Unix seconds.
    pub created_at: u64,
    /// Since when its API keys are refused, Unix seconds.
    pub disabled_at: Option<u64>,
}

/// A version of a tenant's policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyVersion {
    /// Tenant.
    pub tenant: TenantId,
    /// Counts from 1.
    pub version: u32,
    /// As [`Tenant::policy`].
    pub policy: String,
    /// Unix seconds.
    pub made_at: u64,
}

/// An API key without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Public part.
    pub id: ApiKeyId,
    /// The tenant it speaks for.
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
    /// The hour of its last use, Unix seconds; noted later than the use.
    pub last_used_at: Option<u64>,
}

impl AsRef<ApiKey> for ApiKey {
    fn as_ref(&self) -> &ApiKey {
        self
    }
}

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

/// An enrolled template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Tenant.
    pub tenant: TenantId,
    /// Names the subject.
    pub handle: Handle,
    /// Counts enrolments of the subject, across deletions.
    pub generation: u32,
    /// The lane, 0 to 31.
    pub lane: u8,
    /// The epoch of the tenant's keys that it is under.
    pub epoch: u32,
    /// The subject's data key under the tenant's key. Deleting it makes every copy of `wrapped` unreadable.
    pub wrapped_key: Vec<u8>,
    /// The template under the data key.
    pub wrapped: Vec<u8>,
    /// The caller's reference to the subject's consent.
    pub consent_ref: String,
    /// Unix seconds.
    pub created_at: u64,
}

/// A subject with a template, without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Who.
    pub handle: Handle,
    /// Of the template.
    pub generation: u32,
    /// The caller's reference to the subject's consent.
    pub consent_ref: String,
    /// Unix seconds.
    pub created_at: u64,
}

/// A proof session, kept so that neither eviction of its verdict nor a restart ends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Tenant.
    pub tenant: TenantId,
    /// Statement digest.
    pub id: SessionId,
    /// Unix seconds.
    pub expires_at: u64,
    /// The session, its key too, under the tenant's key; see [`wrap::SessionName`]. Empty once it was ended.
    pub wrapped: Vec<u8>,
}

/// The answer to a create, for callers that ask again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// Tenant.
    pub tenant: TenantId,
    /// The caller's key.
    pub key: String,
    /// Keyed digest of route and body.
    pub request_digest: [u8; 32],
    /// The JSON answer.
    pub body: String,
    /// Unix seconds.
    pub created_at: u64,
}

/// What a process reads at start and keeps in memory.
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
}

/// The gateway's durable state. Implementations are compared by one test suite.
pub trait Store: Send + Sync + 'static {
    /// Makes the file complete without its write-ahead log.
    fn checkpoint(&self) -> Result<(), StoreError>;
    /// Tenants, API keys and accepted roots.
    fn registry(&self) -> Result<Registry, StoreError>;
    /// Adds a tenant with the version of its policy; `Conflict` if it exists.
    fn create_tenant(&self, tenant: Tenant) -> Result<(), StoreError>;
    /// Adds a version of a policy and makes it the tenant's, both or neither; `Conflict` if the version exists.
    fn put_policy(&self, version: PolicyVersion) -> Result<(), StoreError>;
    /// Versions of a tenant's policy from one on, in order, at most `count`.
    fn policies(&self, tenant: &TenantId, from: u32, count: usize) -> Result<Vec<PolicyVersion>, StoreError>;
    /// Adds an API key; `Conflict` if its id exists.
    fn add_api_key(&self, key: ApiKey) -> Result<(), StoreError>;
    /// Revokes an API key; the first revocation stays.
    fn revoke_api_key(&self, id: &ApiKeyId, at: u64) -> Result<(), StoreError>;
    /// Notes when API keys were last used; a later time stays.
    fn note_api_key_uses(&self, uses: Vec<(ApiKeyId, u64)>) -> Result<(), StoreError>;
    /// Disables a tenant from this time on, or enables it.
    fn set_tenant_disabled(&self, tenant: &TenantId, at: Option<u64>) -> Result<(), StoreError>;
    /// Adds a root; `Conflict` unless its generation is above all earlier ones of the tenant.
    fn publish_root(&self, root: Root) -> Result<(), StoreError>;
    /// Roots of a tenant from a generation on, in order, at most `count`; withdrawn ones too.
    fn roots(&self, tenant: &TenantId, from: u32, count: usize) -> Result<Vec<Root>, StoreError>;
    /// Adds an issuer key; `Conflict` if the number exists.
    fn add_issuer_key(&self, key: IssuerKey) -> Result<(), StoreError>;
    /// Reserves the next generation of a subject; `Conflict` while a template is active. Numbers never come back.
    fn reserve_generation(&self, tenant: &TenantId, handle: &Handle) -> Result<u32, StoreError>;
    /// Adds a template with its idempotency record, both or neither; `Conflict` if one is active.
    fn enrol(&self, template: Template, answer: Idempotency) -> Result<(), StoreError>;
    /// Replaces a tenant's public keys.
    fn set_tenant_keys(
        &self,
        tenant: &TenantId,
        public_key: Vec<u8>,
        next_key: Option<Vec<u8>>,
    ) -> Result<(), StoreError>;
    /// How many templates of a tenant are of an epoch of its keys.
    fn count_epoch(&self, tenant: &TenantId, epoch: u32) -> Result<u64, StoreError>;
    /// Subjects whose template is of an epoch of the tenant's keys, at most `count`.
    fn subjects_of_epoch(
        &self,
        tenant: &TenantId,
        epoch: u32,
        count: usize,
    ) -> Result<Vec<Handle>, StoreError>;
    /// Reserves the next generation of a subject with a template; `Conflict` without one. Numbers never come back.
    fn reserve_renewal(&self, tenant: &TenantId, handle: &Handle) -> Result<u32, StoreError>;
    /// Replaces the template of a subject, and its data key, if it is of generation `from`; whether it was. The consent stays.
    fn renew_template(&self, template: Template, from: u32) -> Result<bool, StoreError>;
    /// The active template.
    fn template(&self, tenant: &TenantId, handle: &Handle) -> Result<Option<Template>, StoreError>;
    /// Subjects of a tenant with a template, by handle from one on, at most `count`.
    fn subjects(&self, tenant: &TenantId, from: &Handle, count: usize) -> Result<Vec<Subject>, StoreError>;
    /// Deletes template and data key and overwrites their bytes; the generation that was active.
    fn delete_template(&self, tenant: &TenantId, handle: &Handle) -> Result<Option<u32>, StoreError>;
    /// Adds or replaces proof sessions, all or none.
    fn put_sessions(&self, sessions: Vec<Session>) -> Result<(), StoreError>;
    /// At most `limit` proof sessions of a tenant that end after `now`, by identifier, from behind `after` on.
    fn live_sessions(
        &self,
        tenant: &TenantId,
        after: Option<&SessionId>,
        now: u64,
        limit: usize,
    ) -> Result<Vec<Session>, StoreError>;
    /// A proof session, expired or not.
    fn session(&self, tenant: &TenantId, id: &SessionId) -> Result<Option<Session>, StoreError>;
    /// The answer that was given under an idempotency key.
    fn idempotency(&self, tenant: &TenantId, key: &str) -> Result<Option<Idempotency>, StoreError>;
    /// Removes sessions that expired before `now` and idempotency records made before `idempotency_before`.
    fn expire(&self, now: u64, idempotency_before: u64) -> Result<(), StoreError>;
    /// Appends a seal with the nodes that it completes in the log's tree, both or neither: node `l` of `completed` is
    /// number `number >> l` of level `l`. `Conflict` if the number exists.
    fn put_seal(&self, number: u64, bytes: Vec<u8>, completed: Vec<Hash>) -> Result<(), StoreError>;
    /// A seal, or the header that [`Store::prune_seals`] left of it.
    fn seal(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError>;
    /// The newest seal.
    fn last_seal(&self) -> Result<Option<(u64, Vec<u8>)>, StoreError>;
    /// Replaces seals by their headers, all or none.
    fn prune_seals(&self, headers: Vec<(u64, Vec<u8>)>) -> Result<(), StoreError>;
    /// The number of the newest seal that was pruned.
    fn last_pruned(&self) -> Result<Option<u64>, StoreError>;
    /// The first seal above this number that was not pruned.
    fn unpruned_after(&self, number: u64) -> Result<Option<u64>, StoreError>;
    /// Gives space that deletions left to the file system, a bounded step of all but so many bytes; whether there is more.
    fn shrink(&self, kept: u64) -> Result<bool, StoreError>;
    /// Appends a witness's cosignature of the log of `size` seals, a line of a note. `Conflict` if there is one of this
    /// witness at this size: the first one stays.
    fn put_cosignature(&self, size: u64, witness: String, line: String) -> Result<(), StoreError>;
    /// The cosignatures at a size, by the names of the witnesses.
    fn cosignatures(&self, size: u64) -> Result<Vec<String>, StoreError>;
    /// The largest size that any witness has cosigned.
    fn last_cosigned(&self) -> Result<Option<u64>, StoreError>;
    /// Notes that the store was restored from a backup. `Conflict` if it was at that time already.
    fn put_restoration(&self, restoration: Restoration) -> Result<(), StoreError>;
    /// The newest restoration.
    fn last_restoration(&self) -> Result<Option<Restoration>, StoreError>;
    /// A complete node of the log's tree, see [`trefoil_attest::log`].
    fn log_node(&self, level: u8, number: u64) -> Result<Option<Hash>, StoreError>;
}
