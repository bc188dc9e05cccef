//! Tenants, API keys and credential roots in memory: snapshots that requests read without a lock.
//!
//! Changes are rare. Each takes the one lock, becomes durable, and then replaces the snapshot, so a reader sees either
//! the state before or the state after. Calls that change something block; async code makes them on the blocking pool.

use crate::problem::{Code, Problem};
use crate::store::{self, Root, Store, StoreError, TenantId};
use crate::tenant::{POLICY_ID, Pepper, Policy, Scopes, Tenant};
use crate::wire::{
    CreateApiKey, CreateTenant, CreatedApiKey, CreatedTenant, Hex, PublishRoot, PublishedRoot,
};
use crate::wrap::WrapKey;
use arc_swap::ArcSwap;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;
use trefoil_key_holder::Role;
use trefoil_matching::{Basis, KeyHolderError};
use trefoil_pipeline::{LIVE_ROOTS_MAX, Registry};

/// See the module.
pub(crate) struct Directory {
    store: Arc<dyn Store>,
    keyholder: Arc<dyn Role>,
    master: WrapKey,
    pepper: Pepper,
    in_flight_per_tenant: usize,
    registry: Registry,
    snapshot: ArcSwap<Snapshot>,
    changing: Mutex<()>,
}

#[derive(Clone, Default)]
struct Snapshot {
    tenants: HashMap<TenantId, Arc<Tenant>>,
    api_keys: HashMap<[u8; 8], store::ApiKey>,
}

impl Directory {
    /// Loads everything from the store.
    pub(crate) fn load(
        store: Arc<dyn Store>,
        keyholder: Arc<dyn Role>,
        master: WrapKey,
        pepper: Pepper,
        in_flight_per_tenant: usize,
    ) -> Result<Directory, String> {
        let store::Registry { tenants, api_keys, roots } =
            store.registry().map_err(|cause| cause.to_string())?;
        let directory = Directory {
            store,
            keyholder,
            master,
            pepper,
            in_flight_per_tenant,
            registry: Registry::default(),
            snapshot: ArcSwap::default(),
            changing: Mutex::default(),
        };
        let mut snapshot = Snapshot::default();
        for record in tenants {
            let tenant = directory.open(&record, &roots)?;
            directory.registry.put(tenant.attested());
            snapshot.tenants.insert(tenant.id, Arc::new(tenant));
        }
        snapshot.api_keys = api_keys.into_iter().map(|key| (key.id, key)).collect();
        directory.snapshot.store(Arc::new(snapshot));
        Ok(directory)
    }

    /// The pipeline's view of the tenants, kept up to date.
    pub(crate) fn registry(&self) -> Registry {
        self.registry.clone()
    }

    /// A keyed digest for idempotency, see [`Pepper::digest`].
    pub(crate) fn keyed_digest(&self, domain: &[u8], parts: &[&[u8]]) -> [u8; 32] {
        self.pepper.digest(domain, parts)
    }

    /// The tenant and rights that an API key speaks for, and the key's public part.
    pub(crate) fn caller(&self, api_key: &str) -> Option<(Arc<Tenant>, Scopes, [u8; 8])> {
        let snapshot = self.snapshot.load();
        let record = self.pepper.find(api_key, |id| snapshot.api_keys.get(id))?;
        let tenant = snapshot.tenants.get(&record.tenant)?;
        Some((Arc::clone(tenant), Scopes::from_bits(record.scopes), record.id))
    }

    /// Creates a tenant with a random identifier: keys first, then the record that makes it exist.
    pub(crate) fn create_tenant(&self, request: CreateTenant, now: u64) -> Result<CreatedTenant, Problem> {
        let CreateTenant { name, policy } = request;
        policy.check()?;
        let mut id = [0; 16];
        aws_lc_rs::rand::fill(&mut id).map_err(Problem::internal)?;
        let _changing = self.change();
        let basis_seed = self.keyholder.create_tenant(id, policy.decision())?;
        let (_, wrapped_key) = self.master.new_tenant_key(&id);
        let policy = serde_json::to_string(&policy).map_err(Problem::internal)?;
        let record = store::Tenant { id, name, policy, basis_seed, wrapped_key, created_at: now };
        let tenant = self.open(&record, &[]).map_err(Problem::internal)?;
        self.store.create_tenant(record).map_err(|cause| match cause {
            StoreError::Conflict => {
                Problem::new(Code::TenantExists, "the tenant exists; retry for another identifier")
            }
            other => other.into(),
        })?;
        self.publish(tenant);
        Ok(CreatedTenant { tenant_id: Hex(id), policy_id: POLICY_ID })
    }

    /// Creates an API key of a tenant.
    pub(crate) fn create_api_key(
        &self,
        tenant: &TenantId,
        request: &CreateApiKey,
        now: u64,
    ) -> Result<CreatedApiKey, Problem> {
        if request.scopes.is_empty() {
            let detail = "expected at least one of enrol, authenticate, issue";
            return Err(Problem::field(Code::FieldInvalid, "/scopes", detail));
        }
        let _changing = self.change();
        if !self.snapshot.load().tenants.contains_key(tenant) {
            return Err(Problem::new(Code::TenantUnknown, "no tenant has this identifier"));
        }
        let (text, record) = self.pepper.new_api_key(*tenant, Scopes::of(&request.scopes), now);
        self.store.add_api_key(record.clone())?;
        let mut snapshot = Snapshot::clone(&self.snapshot.load());
        snapshot.api_keys.insert(record.id, record);
        self.snapshot.store(Arc::new(snapshot));
        Ok(CreatedApiKey { api_key: text.to_string() })
    }

    /// Makes a root the newest of its tenant and withdraws those below its minimum generation.
    pub(crate) fn publish_root(
        &self,
        tenant: &TenantId,
        request: &PublishRoot,
        now: u64,
    ) -> Result<PublishedRoot, Problem> {
        let PublishRoot { root: Hex(root), generation, generation_min } = *request;
        let generation_min = generation_min.unwrap_or(generation);
        if generation_min > generation {
            let detail = "expected at most the new generation";
            return Err(Problem::field(Code::FieldInvalid, "/generation_min", detail));
        }
        if trefoil_zkp::Digest::from_bytes(&root).is_err() {
            let detail =
                "expected the root of a credential tree: eight little-endian limbs below 2^31 - 2^24 + 1";
            return Err(Problem::field(Code::FieldInvalid, "/root", detail));
        }
        let _changing = self.change();
        let current = self.snapshot.load().tenants.get(tenant).cloned();
        let current = current.ok_or_else(|| Problem::new(Code::TenantUnknown, "the tenant was removed"))?;
        let record = Root { tenant: *tenant, root, generation, generation_min, published_at: now };
        let mut roots = current.roots.clone();
        roots.retain(|root| root.generation >= generation_min);
        roots.push(record.clone());
        if roots.len() > LIVE_ROOTS_MAX {
            let detail = format!("at most {LIVE_ROOTS_MAX} generations are accepted at once; raise it");
            return Err(Problem::field(Code::FieldInvalid, "/generation_min", detail));
        }
        self.store.publish_root(record).map_err(|cause| match cause {
            StoreError::Conflict => Problem::new(
                Code::RootGenerationStale,
                "a root of this or a later generation is published; use a higher generation",
            ),
            other => other.into(),
        })?;
        self.publish(Tenant {
            id: current.id,
            policy: current.policy.clone(),
            key: Arc::clone(&current.key),
            basis: current.basis.clone(),
            roots,
            in_flight: Arc::clone(&current.in_flight),
        });
        Ok(PublishedRoot { generation, generation_min })
    }

    fn change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, tenant: Tenant) {
        self.registry.put(tenant.attested());
        let mut snapshot = Snapshot::clone(&self.snapshot.load());
        snapshot.tenants.insert(tenant.id, Arc::new(tenant));
        self.snapshot.store(Arc::new(snapshot));
    }

    fn open(&self, record: &store::Tenant, roots: &[Root]) -> Result<Tenant, String> {
        let store::Tenant { id, policy, basis_seed, wrapped_key, .. } = record;
        let policy: Policy = serde_json::from_str(policy)
            .map_err(|cause| format!("stored policy of {}: {cause}", hex::encode(id)))?;
        let key = self.master.open_tenant_key(id, wrapped_key).map_err(|cause| cause.to_string())?;
        Ok(Tenant {
            id: *id,
            policy,
            key: Arc::new(key),
            basis: Basis::from_seed(*basis_seed),
            roots: roots.iter().filter(|root| root.tenant == *id).cloned().collect(),
            in_flight: Arc::new(Semaphore::new(self.in_flight_per_tenant)),
        })
    }
}

impl From<KeyHolderError> for Problem {
    /// For calls about tenants and subjects that exist.
    fn from(cause: KeyHolderError) -> Problem {
        match cause {
            KeyHolderError::Unavailable(why) => {
                tracing::warn!(why, "the key-holder cannot be reached");
                Problem::new(Code::KeyHolderUnavailable, KEY_HOLDER_UNAVAILABLE)
            }
            KeyHolderError::Forbidden(_) => {
                let detail = "ask the key-holder's operator: its limits on policies are in its configuration, and \
                              `trefoil key-holder lift-freeze` and `set-policy` run there";
                Problem::new(Code::KeyHolderForbids, detail)
            }
            other => Problem::internal(other),
        }
    }
}

/// What a caller is told while the key-holder is away.
pub(crate) const KEY_HOLDER_UNAVAILABLE: &str =
    "the key-holder cannot be reached, and nothing is accepted without it; retry after a second";

impl From<StoreError> for Problem {
    /// For calls that cannot conflict.
    fn from(cause: StoreError) -> Problem {
        match cause {
            StoreError::Busy => Problem::new(Code::Overloaded, "too many writes wait; retry after a second"),
            StoreError::Conflict | StoreError::Fault(_) => Problem::internal(cause),
        }
    }
}
