//! Tenants, API keys and credential roots in memory: snapshots that requests read without a lock.
//!
//! Changes are rare. Each takes the one lock, becomes durable, and then replaces the snapshot, so a reader sees either
//! the state before or the state after. Calls that change something block; async code makes them on the blocking pool.

#![expect(clippy::disallowed_types, reason = "changes of a tenant are rare; readers have a snapshot")]

pub mod api_keys;
mod policies;
mod tenants;

use crate::counters::Apart;
use crate::refused::Refused;
use crate::tenants::changing::Changing;
use crate::tenants::notes::{By, Noted, Notes};
use crate::tenants::second_look::SecondLook;
use crate::tenants::tenant::accounts::{self, AccountSecret};
use crate::tenants::tenant::{Pepper, Policy, ProofNeed, Tenant, policy};
use crate::tenants::usage::Storing;
use crate::tenants::verdicts::Verdicts;
use crate::tenants::wiring::{VerdictCache, VerdictCacheConfig};
use api_keys::HeldKey;
use arc_swap::ArcSwap;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use trefoil_attest::{What, policy_digest};
use trefoil_matching::{KeyHolding, PublicKey};
use trefoil_pipeline::{LIVE_ROOTS_MAX, Registry};
use trefoil_storage::store::wrap::WrapKey;
use trefoil_storage::store::{self, IssuerKey, Root, Store, StoreError, TenantId, read_policy, write_policy};
use trefoil_types::{ApiKeyId, OutOfRange};
use trefoil_wallet::credentials::{IssuerKeyId, IssuerPublicKey, RootLog, RootStatement, SignedRoot};

/// Roots in one page of the log: 64 of 3.4 KB stay below what a client reads.
const ROOT_LOG_PAGE: usize = 64;
/// How far an issuer's clock may be ahead, seconds.
const CLOCK_SKEW_S: u64 = 300;

/// See the module.
pub struct Directory {
    pub(crate) store: Arc<dyn Store>,
    key_holder: Arc<dyn KeyHolding>,
    master: WrapKey,
    pepper: Pepper,
    registry: Registry<VerdictCache>,
    room: VerdictRoom,
    notes: Notes,
    snapshot: ArcSwap<Snapshot>,
    /// How often a request looked up its tenant.
    look_ups: Apart,
    changing: Mutex<()>,
    pub(crate) second_look: SecondLook,
    /// Held while usage is stored.
    pub(crate) storing_usage: Mutex<Storing>,
}

/// How many verdicts each tenant may have in memory.
#[derive(Clone, Copy)]
pub struct VerdictRoom {
    /// The largest cache of a tenant whose policy does not say how many.
    pub default: VerdictCacheConfig,
    /// The most that a policy may ask for. A cache grows as sessions are opened, and those of one tenant must not take all of the machine's memory.
    pub quota_max: u32,
}

impl VerdictRoom {
    /// Refuses a policy that asks for more.
    fn check(&self, policy: &Policy) -> Result<(), Refused> {
        let max = self.quota_max;
        if policy.sessions_in_memory.is_none_or(|quota| quota <= max) {
            return Ok(());
        }
        let detail = format!(
            "expected at most {max}, which is the service's `proofs.sessions_in_memory_max`; ask for less, or raise it there"
        );
        Err(Refused::Policy(OutOfRange { pointer: "/sessions_in_memory".to_owned(), detail }))
    }

    /// The cache of a tenant at its largest. A stored policy may be older than the present maximum; its cache is then no larger than that.
    fn cache(&self, policy: &Policy) -> VerdictCacheConfig {
        let VerdictCacheConfig { capacity, sampling } = self.default;
        let quota = policy.sessions_in_memory.map(|quota| quota.min(self.quota_max) as usize);
        let capacity = match policy.proof {
            ProofNeed::Credential => quota.unwrap_or(capacity),
            // A tenant without sessions needs no cache.
            ProofNeed::None => 1,
        };
        VerdictCacheConfig { capacity, sampling }
    }
}

pub use policies::PolicyVersion;

/// A page of a tenant's root log.
pub struct LoggedRoots {
    /// Every issuer key that was registered for it, oldest first.
    pub issuer_keys: Vec<IssuerKey>,
    /// Roots in their order.
    pub roots: Vec<Root>,
    /// The start of the next page, if there is one.
    pub next: Option<u32>,
}

#[derive(Clone, Default)]
struct Snapshot {
    tenants: HashMap<TenantId, Arc<Tenant>>,
    api_keys: HashMap<ApiKeyId, Arc<HeldKey>>,
    /// The issuers' keys of deleted tenants, for readers of their root logs.
    deleted: HashMap<TenantId, Vec<IssuerKey>>,
}

impl Snapshot {
    /// All but what it has of this tenant.
    fn without(&self, tenant: &TenantId) -> Snapshot {
        let mut rest = self.clone();
        rest.tenants.remove(tenant);
        rest.deleted.remove(tenant);
        rest.api_keys.retain(|_, key| key.tenant() != *tenant);
        rest
    }
}

impl Directory {
    /// Loads everything from the store.
    pub fn load(
        store: Arc<dyn Store>,
        key_holder: Arc<dyn KeyHolding>,
        master: WrapKey,
        pepper: Pepper,
        room: VerdictRoom,
        notes: Notes,
    ) -> Result<Directory, String> {
        let registry = store.registry().map_err(|cause| cause.to_string())?;
        let directory = Directory {
            store,
            key_holder,
            master,
            pepper,
            registry: Registry::default(),
            room,
            notes,
            snapshot: ArcSwap::default(),
            look_ups: Apart::default(),
            changing: Mutex::default(),
            second_look: SecondLook::default(),
            storing_usage: Mutex::new(Storing::new()),
        };
        directory.take(None, registry)?;
        Ok(directory)
    }

    /// Replaces the snapshot, or the part of one tenant, by what the store has now. What tenants and API keys have in memory beside their records stays.
    /// Returns the tenants that are gone. Requests go on with the snapshot before; changes of this node wait.
    pub(crate) fn refresh(
        &self,
        of: Option<&TenantId>,
        read: impl FnOnce() -> Result<store::Registry, StoreError>,
    ) -> Result<Vec<TenantId>, String> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.take(of, read().map_err(|cause| cause.to_string())?)
    }

    /// Puts this registry into memory, in the place of all that is there, or of one tenant.
    fn take(&self, of: Option<&TenantId>, registry: store::Registry) -> Result<Vec<TenantId>, String> {
        let store::Registry { tenants, api_keys, roots, issuer_keys, .. } = registry;
        let before = self.snapshot.load_full();
        let mut snapshot = of.map_or_else(Snapshot::default, |tenant| before.without(tenant));
        for record in tenants {
            if record.deleted_at.is_some() {
                let own = issuer_keys.iter().filter(|key| key.tenant == record.id).cloned().collect();
                snapshot.deleted.insert(record.id, own);
                continue;
            }
            let held = before.tenants.get(&record.id);
            let tenant = self.open(&record, &roots, &issuer_keys, held)?;
            self.registry.put(tenant.attested(), tenant.verdicts.cache());
            snapshot.tenants.insert(tenant.id, Arc::new(tenant));
        }
        let held = |key: store::ApiKey| (key.id, Arc::new(HeldKey::again(key, &before)));
        snapshot.api_keys.extend(api_keys.into_iter().map(held));
        let is_gone = |id: &&TenantId| !snapshot.tenants.contains_key(*id);
        let gone: Vec<TenantId> = before.tenants.keys().filter(is_gone).copied().collect();
        gone.iter().for_each(|id| self.registry.remove(id));
        let snapshot = Arc::new(snapshot);
        self.snapshot.store(Arc::clone(&snapshot));
        for tenant in snapshot.tenants.values() {
            let is_withdrawn = |root: &Root| !tenant.accepts(root.generation);
            if before.tenants.get(&tenant.id).is_some_and(|held| held.roots.iter().any(is_withdrawn)) {
                tenant.verdicts.withdraw(|generation| tenant.accepts(generation));
            }
        }
        Ok(gone)
    }

    /// Gives larger partitions of the verdict cache to tenants whose sessions need them. Requests go on meanwhile. Blocks.
    pub fn make_room(&self, now: u64) {
        self.all().iter().for_each(|tenant| self.make_room_of(tenant, 0, now));
    }

    /// The same for one tenant, which is to have room for so many more verdicts.
    pub(crate) fn make_room_of(&self, tenant: &Tenant, more: usize, now: u64) {
        let Some(larger) = tenant.verdicts.larger(more, now) else { return };
        // All else that shows a partition to the workers holds this lock too: otherwise a change of the tenant could show them the old one afterwards.
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        tenant.verdicts.grow(&larger, now, || self.registry.give(&tenant.id, &larger));
    }

    /// The pipeline's view of the tenants, which is kept up to date.
    pub fn registry(&self) -> Registry<VerdictCache> {
        self.registry.clone()
    }

    /// A keyed digest for idempotency, see [`Pepper::digest`].
    pub fn keyed_digest(&self, domain: &[u8], parts: &[&[u8]]) -> [u8; 32] {
        self.pepper.digest(domain, parts)
    }

    /// Creates a tenant with a random identifier: keys first, then the record that makes it exist.
    pub fn create_tenant(
        &self,
        name: String,
        policy: Policy,
        by: &By,
        now: u64,
    ) -> Result<(TenantId, Noted), Refused> {
        policy.check().map_err(Refused::Policy)?;
        self.room.check(&policy)?;
        let mut id = [0; 16];
        aws_lc_rs::rand::fill(&mut id).map_err(Refused::fault)?;
        let _changing = self.change()?;
        let public_key = self
            .key_holder
            .create_tenant(TenantId::new(id), policy::keys(policy.probe), policy::decision(&policy))?
            .to_bytes();
        let (_, wrapped_key) = self.master.new_tenant_key(&TenantId::new(id));
        let digest = policy_digest(&policy);
        let policy = write_policy(&policy).map_err(Refused::fault)?;
        let record = store::Tenant {
            id: TenantId::new(id),
            name,
            policy,
            policy_version: 1,
            public_key,
            next_key: None,
            wrapped_key,
            created_at: now,
            disabled_at: None,
            deleted_at: None,
        };
        let tenant = self.open(&record, &[], &[], None).map_err(Refused::fault)?;
        let created = (TenantId::new(id), now, What::TenantCreated { digest });
        let noted = self.notes.with(created, Some(by), |note| {
            self.store.create_tenant(record, note).map_err(|cause| match cause {
                StoreError::Conflict => Refused::TenantExists,
                other => other.into(),
            })
        })?;
        self.publish(tenant);
        Ok((TenantId::new(id), noted))
    }

    /// Makes a signed root the newest of its tenant and withdraws roots below its minimum generation. Returns when that was done. Sending the
    /// newest root again changes nothing.
    pub fn publish_root(
        &self,
        tenant: &TenantId,
        signed: SignedRoot,
        now: u64,
    ) -> Result<(RootStatement, u64), Refused> {
        let _changing = self.change()?;
        let current = self.tenant(tenant)?;
        if !current.needs_proof() {
            return Err(Refused::NoProofs);
        }
        if let Some(newest) = current.roots.last()
            && newest.statement == signed.statement
        {
            return published(newest);
        }
        let record = next_root(&current, signed, now)?;
        let mut roots = current.roots.clone();
        roots.retain(|root| root.generation >= record.generation_min);
        roots.push(record.clone());
        if roots.len() > LIVE_ROOTS_MAX {
            return Err(Refused::TooManyRoots);
        }
        let answer = published(&record)?;
        self.store.publish_root(record).map_err(stale)?;
        let withdrew = roots.len() <= current.roots.len();
        let next = Tenant { roots, ..Tenant::clone(&current) };
        self.publish(next.clone());
        if withdrew {
            // From now on no batch accepts verdicts under these roots; their session keys are dropped.
            next.verdicts.withdraw(|generation| next.accepts(generation));
        }
        Ok(answer)
    }

    /// Registers the key under which a tenant's roots verify from now on, and returns its name. Registering the present key again changes nothing.
    pub fn register_issuer_key(
        &self,
        tenant: &TenantId,
        key: &[u8],
        by: &By,
        now: u64,
    ) -> Result<(IssuerKeyId, Option<Noted>), Refused> {
        let key = IssuerPublicKey::from_bytes(key).ok_or(Refused::IssuerKey)?;
        let _changing = self.change()?;
        let current = self.tenant(tenant)?;
        if !current.needs_proof() {
            return Err(Refused::NoProofs);
        }
        if current.issuer_keys.last().is_some_and(|last| last.key == key.as_bytes()) {
            return Ok((key.id(), None));
        }
        let number = current.issuer_keys.last().map_or(0, |last| last.number + 1);
        let record = IssuerKey { tenant: *tenant, number, key: key.as_bytes().to_vec(), registered_at: now };
        let registered = (*tenant, now, What::IssuerKeyRegistered { key: key.id() });
        let noted =
            self.notes.with(registered, Some(by), |note| self.store.add_issuer_key(record.clone(), note))?;
        let mut issuer_keys = current.issuer_keys.clone();
        issuer_keys.push(record);
        self.publish(Tenant { issuer_keys, ..Tenant::clone(&current) });
        Ok((key.id(), Some(noted)))
    }

    /// A page of a tenant's root log, also of a deleted tenant.
    pub fn root_log(&self, tenant: &TenantId, from: u32) -> Result<LoggedRoots, Refused> {
        let deleted = self.snapshot.load().deleted.get(tenant).cloned();
        let issuer_keys = match deleted {
            Some(keys) => keys,
            None => self.tenant(tenant)?.issuer_keys.clone(),
        };
        let mut roots = self.store.roots(tenant, from, ROOT_LOG_PAGE + 1)?;
        let next = roots.get(ROOT_LOG_PAGE).map(|root| root.generation);
        roots.truncate(ROOT_LOG_PAGE);
        Ok(LoggedRoots { issuer_keys, roots, next })
    }

    /// Tenants whose keys are being rotated.
    pub(crate) fn rotating(&self) -> Vec<TenantId> {
        let snapshot = self.snapshot.load();
        snapshot.tenants.values().filter(|tenant| tenant.keys.len() > 1).map(|tenant| tenant.id).collect()
    }

    /// Replaces a tenant's public keys, oldest first, and notes the step `what` of its rotation. `from` are those that it must have now.
    pub(crate) fn set_keys(
        &self,
        tenant: &TenantId,
        (from, keys): (&[PublicKey], Vec<PublicKey>),
        (what, by): (What, Option<&By>),
        now: u64,
    ) -> Result<Noted, Refused> {
        let _changing = self.change()?;
        let current = self.tenant(tenant)?;
        if !current.keys.iter().map(PublicKey::epoch).eq(from.iter().map(PublicKey::epoch)) {
            return Err(Refused::fault(
                "another node changed the tenant's keys: look again at its key rotation",
            ));
        }
        let mut bytes = keys.iter().map(PublicKey::to_bytes);
        let public_key = bytes.next().ok_or_else(|| Refused::fault("a tenant has no keys"))?;
        let noted = self.notes.with((*tenant, now, what), by, |note| {
            self.store.set_tenant_keys(tenant, public_key, bytes.next(), note)
        })?;
        self.publish(Tenant { keys, ..Tenant::clone(&current) });
        Ok(noted)
    }

    /// The present snapshots of all tenants.
    pub fn all(&self) -> Vec<Arc<Tenant>> {
        self.snapshot.load().tenants.values().cloned().collect()
    }

    /// How often a tenant's present snapshot was asked for, by its identifier or an API key.
    pub fn look_ups(&self) -> u64 {
        self.look_ups.sum()
    }

    /// Whether there is such a tenant, or was one that is deleted.
    pub fn knows(&self, tenant: &TenantId) -> bool {
        let snapshot = self.snapshot.load();
        snapshot.tenants.contains_key(tenant) || snapshot.deleted.contains_key(tenant)
    }

    /// A tenant's present snapshot.
    pub fn tenant(&self, tenant: &TenantId) -> Result<Arc<Tenant>, Refused> {
        self.look_ups.add_one();
        let current = self.snapshot.load().tenants.get(tenant).cloned();
        current.ok_or(Refused::TenantUnknown)
    }

    /// The right to change something, from a snapshot that has every change of other nodes.
    fn change(&self) -> Result<Changing<'_>, Refused> {
        Ok(Changing::begin(&self.changing, &*self.store)?)
    }

    fn publish(&self, tenant: Tenant) {
        self.registry.put(tenant.attested(), tenant.verdicts.cache());
        let mut snapshot = Snapshot::clone(&self.snapshot.load());
        snapshot.tenants.insert(tenant.id, Arc::new(tenant));
        self.snapshot.store(Arc::new(snapshot));
    }

    /// A tenant from its record, with what an earlier snapshot of it has in memory.
    fn open(
        &self,
        record: &store::Tenant,
        roots: &[Root],
        issuer_keys: &[IssuerKey],
        held: Option<&Arc<Tenant>>,
    ) -> Result<Tenant, String> {
        let store::Tenant { id, policy, policy_version, public_key, next_key, .. } = record;
        let store::Tenant { wrapped_key, name, created_at, disabled_at, .. } = record;
        let policy: Policy =
            read_policy(policy).map_err(|cause| format!("stored policy of {}: {cause}", hex::encode(id)))?;
        let wrong = |cause: &dyn std::fmt::Display| format!("tenant {}: {cause}", hex::encode(id));
        let keys = std::iter::once(public_key).chain(next_key);
        let keys: Vec<PublicKey> = keys
            .map(|key| PublicKey::from_bytes(key).map_err(|cause| wrong(&cause)))
            .collect::<Result<_, _>>()?;
        if keys.iter().any(|key| key.structure() != policy::keys(policy.probe)) {
            return Err(wrong(&"its keys are not those of its probe mode"));
        }
        let key = self.master.open_tenant_key(id, wrapped_key).map_err(|cause| cause.to_string())?;
        let accounts = self.master.derive_tenant_secret(id, wrapped_key, accounts::PURPOSE);
        let accounts = AccountSecret::new(accounts.map_err(|cause| cause.to_string())?);
        let fresh = || Arc::new(Verdicts::new(self.room.cache(&policy)));
        let verdicts = held.map_or_else(fresh, |held| Arc::clone(&held.verdicts));
        let roots: Vec<Root> = roots.iter().filter(|root| root.tenant == *id).cloned().collect();
        let roots = match held {
            // They were verified.
            Some(held) if held.roots == roots => roots,
            _ => of_statements(&roots, id, issuer_keys).map_err(|cause| wrong(&cause))?,
        };
        Ok(Tenant {
            id: *id,
            name: name.clone(),
            created_at: *created_at,
            disabled_at: *disabled_at,
            policy,
            policy_version: *policy_version,
            key: Arc::new(key),
            accounts: Arc::new(accounts),
            keys,
            roots,
            issuer_keys: issuer_keys.iter().filter(|key| key.tenant == *id).cloned().collect(),
            in_flight: held.map(|held| Arc::clone(&held.in_flight)).unwrap_or_default(),
            ahead: held.map(|held| Arc::clone(&held.ahead)).unwrap_or_default(),
            verdicts,
            sources: held.map(|held| Arc::clone(&held.sources)).unwrap_or_default(),
            ended: held
                .filter(|held| held.policy_version == *policy_version)
                .map(|held| Arc::clone(&held.ended))
                .unwrap_or_default(),
        })
    }
}

/// A tenant's roots from their signed statements, and not from the columns beside them: an attacker who can only write to the store cannot
/// add a member.
fn of_statements(roots: &[Root], tenant: &TenantId, keys: &[IssuerKey]) -> Result<Vec<Root>, String> {
    roots
        .iter()
        .filter(|root| root.tenant == *tenant)
        .map(|record| {
            let altered = |cause: &dyn std::fmt::Display| {
                format!("credential root {}: {cause}; restore the database from a backup", record.generation)
            };
            let statement = RootStatement::decode(&record.statement).map_err(|cause| altered(&cause))?;
            let mut own = keys.iter().filter(|key| key.tenant == *tenant);
            let key = own.find_map(|key| {
                IssuerPublicKey::from_bytes(&key.key).filter(|key| key.id() == statement.key_id)
            });
            let key = key.ok_or_else(|| altered(&"signed by no key that was registered for it"))?;
            let Root { statement: bytes, signature, .. } = record.clone();
            SignedRoot { statement: bytes, signature }.verify(&key).map_err(|cause| altered(&cause))?;
            let RootStatement { generation, generation_min, root, .. } = statement;
            let signed = Root { generation, generation_min, root: root.to_bytes(), ..record.clone() };
            match signed == *record && statement.tenant == *tenant {
                true => Ok(signed),
                false => Err(altered(&"the record says something else than its signed statement")),
            }
        })
        .collect()
}

/// The record of a root that is the next of its tenant's chain, signed by the registered key.
fn next_root(current: &Tenant, signed: SignedRoot, now: u64) -> Result<Root, Refused> {
    let key = current.issuer_keys.last().and_then(|key| IssuerPublicKey::from_bytes(&key.key));
    let key = key.ok_or(Refused::IssuerKeyMissing)?;
    let last = current.roots.last().map(|root| RootStatement::decode(&root.statement));
    let last = last.transpose().map_err(Refused::fault)?;
    let mut log = RootLog::new(current.id, last);
    let statement = log.append(&signed, &key).map_err(Refused::Root)?.clone();
    if statement.issued_at > now.saturating_add(CLOCK_SKEW_S) {
        return Err(Refused::RootEarly);
    }
    let SignedRoot { statement: bytes, signature } = signed;
    Ok(Root {
        tenant: current.id,
        root: statement.root.to_bytes(),
        generation: statement.generation,
        generation_min: statement.generation_min,
        statement: bytes,
        signature,
        published_at: now,
    })
}

fn published(root: &Root) -> Result<(RootStatement, u64), Refused> {
    let statement = RootStatement::decode(&root.statement).map_err(Refused::fault)?;
    Ok((statement, root.published_at))
}

fn stale(cause: StoreError) -> Refused {
    match cause {
        StoreError::Conflict => Refused::RootOvertaken,
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;
    use trefoil_issuer::{public_key, sign};
    use trefoil_sign::{MlDsa65, SignatureFamily as _};
    use trefoil_zkp::Digest;

    const TENANT: TenantId = TenantId::new([1; 16]);

    /// A root as it is published, and the key that signed it.
    fn published_root() -> (Root, IssuerKey) {
        let mut rng = StdRng::seed_from_u64(2);
        let mut key = MlDsa65::generate(&mut rng).unwrap();
        let public = public_key(&key);
        let root = Digest::from_bytes(&[4; 32]).unwrap();
        let statement = RootStatement {
            tenant: TENANT,
            generation: 5,
            generation_min: 3,
            root,
            issued_at: 10,
            previous: [0; 32],
            key_id: public.id(),
        };
        let SignedRoot { statement: bytes, signature } = sign(&statement, &mut key, &mut rng).unwrap();
        let record = Root {
            tenant: TENANT,
            root: root.to_bytes(),
            generation: 5,
            generation_min: 3,
            statement: bytes,
            signature,
            published_at: 11,
        };
        let key = IssuerKey { tenant: TENANT, number: 0, key: public.as_bytes().to_vec(), registered_at: 9 };
        (record, key)
    }

    /// Claim V25.
    ///
    /// An attacker who can write to the store, and even to the tags of its rows, cannot add a member.
    #[test]
    fn a_root_is_what_its_signed_statement_says() {
        let (root, key) = published_root();
        let keys = [key];
        let read = |root: &Root| of_statements(std::slice::from_ref(root), &TENANT, &keys);
        assert_eq!(read(&root), Ok(vec![root.clone()]));
        let changes: [fn(&mut Root); 6] = [
            |root| root.root[0] ^= 1,
            |root| root.generation = 6,
            |root| root.generation_min = 1,
            |root| root.statement[30] ^= 1,
            |root| root.signature[0] ^= 1,
            |root| root.statement.truncate(100),
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let mut altered = root.clone();
            change(&mut altered);
            assert!(read(&altered).unwrap_err().contains("restore the database"), "change {index}");
        }
        assert!(of_statements(&[root], &TENANT, &[]).unwrap_err().contains("no key that was registered"));
    }
}
