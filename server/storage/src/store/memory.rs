//! A store in memory: the reference that the database is compared with, and the store of tests without a disk.

#![expect(clippy::disallowed_types, reason = "a store for tests")]

use super::operations::Store;
use super::records::{
    ApiKey, AuditEntry, Idempotency, IssuerKey, Note, Once, Operator, OperatorToken, PRUNED_BYTES_MAX,
    PolicyVersion, Registry, Root, Session, Subject, Template, Tenant, Usage, UsageCounts,
};
use crate::database::StoreError;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};
use trefoil_attest::Restoration;
use trefoil_attest::tree::Hash;
use trefoil_matching::TemplateName;
use trefoil_types::{ApiKeyId, Handle, OperatorId, SessionId, TenantId};

/// See the module.
#[derive(Default)]
pub struct Memory(Mutex<Tables>);

#[derive(Default)]
struct Tables {
    tenants: BTreeMap<TenantId, Tenant>,
    policies: BTreeMap<(TenantId, u32), PolicyVersion>,
    api_keys: BTreeMap<ApiKeyId, ApiKey>,
    roots: BTreeMap<(TenantId, u32), Root>,
    issuer_keys: BTreeMap<(TenantId, u32), IssuerKey>,
    generations: BTreeMap<(TenantId, Handle), u32>,
    templates: BTreeMap<(TenantId, Handle), Template>,
    leftovers: BTreeSet<(TenantId, Handle, u32)>,
    sessions: BTreeMap<(TenantId, SessionId), Session>,
    idempotency: BTreeMap<(TenantId, String), Idempotency>,
    seals: BTreeMap<u64, Vec<u8>>,
    log_nodes: BTreeMap<(u8, u64), Hash>,
    cosignatures: BTreeMap<(u64, String), String>,
    restorations: BTreeMap<u64, u64>,
    usage: BTreeMap<(TenantId, ApiKeyId, u64), UsageCounts>,
    operators: BTreeMap<OperatorId, Operator>,
    operator_tokens: BTreeMap<(OperatorId, u32), OperatorToken>,
    audit: Vec<AuditEntry>,
    creates: BTreeMap<(OperatorId, String), (Once, u64)>,
}

impl Tables {
    /// Whether the request was made.
    fn is_made(&self, note: &Note) -> bool {
        note.once.as_ref().is_some_and(|once| self.creates.contains_key(&(once.operator, once.key.clone())))
    }

    fn note(&mut self, mut note: Note) -> u64 {
        let number = self.audit.len() as u64 + 1;
        if let Some(once) = note.once.take() {
            self.creates.insert((once.operator, once.key.clone()), (once, number));
        }
        self.audit.push(AuditEntry { number, note, receipt: None });
        number
    }
}

impl Memory {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn insert<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: V) -> Result<(), StoreError> {
    match map.entry(key) {
        Entry::Occupied(_) => Err(StoreError::Conflict),
        Entry::Vacant(slot) => {
            slot.insert(value);
            Ok(())
        }
    }
}

impl Store for Memory {
    fn checkpoint(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn registry(&self) -> Result<Registry, StoreError> {
        let tables = self.tables();
        let newest = |tenant: &TenantId| tables.roots.range((*tenant, 0)..=(*tenant, u32::MAX)).next_back();
        let accepted =
            |root: &&Root| newest(&root.tenant).is_some_and(|(_, n)| root.generation >= n.generation_min);
        Ok(Registry {
            tenants: tables.tenants.values().cloned().collect(),
            api_keys: tables.api_keys.values().cloned().collect(),
            roots: tables.roots.values().filter(accepted).cloned().collect(),
            issuer_keys: tables.issuer_keys.values().cloned().collect(),
            operators: tables.operators.values().cloned().collect(),
            operator_tokens: tables.operator_tokens.values().cloned().collect(),
        })
    }

    fn create_tenant(&self, tenant: Tenant, note: Note) -> Result<u64, StoreError> {
        let mut tables = self.tables();
        let Tenant { id, policy_version: version, ref policy, created_at: made_at, .. } = tenant;
        let first = PolicyVersion { tenant: id, version, policy: policy.clone(), made_at };
        if tables.is_made(&note) {
            return Err(StoreError::Conflict);
        }
        insert(&mut tables.tenants, id, tenant)?;
        insert(&mut tables.policies, (id, version), first)?;
        Ok(tables.note(note))
    }

    fn put_policy(&self, new: PolicyVersion, note: Note) -> Result<u64, StoreError> {
        let mut tables = self.tables();
        insert(&mut tables.policies, (new.tenant, new.version), new.clone())?;
        if let Some(tenant) = tables.tenants.get_mut(&new.tenant) {
            (tenant.policy, tenant.policy_version) = (new.policy, new.version);
        }
        Ok(tables.note(note))
    }

    fn policies(&self, tenant: &TenantId, from: u32, count: usize) -> Result<Vec<PolicyVersion>, StoreError> {
        let tables = self.tables();
        let range = tables.policies.range((*tenant, from)..=(*tenant, u32::MAX));
        Ok(range.take(count).map(|(_, version)| version.clone()).collect())
    }

    fn add_api_key(&self, key: ApiKey, note: Note) -> Result<u64, StoreError> {
        let mut tables = self.tables();
        if tables.is_made(&note) {
            return Err(StoreError::Conflict);
        }
        insert(&mut tables.api_keys, key.id, key)?;
        Ok(tables.note(note))
    }

    fn revoke_api_key(&self, id: &ApiKeyId, at: u64, note: Note) -> Result<u64, StoreError> {
        let mut tables = self.tables();
        if let Some(key) = tables.api_keys.get_mut(id) {
            key.revoked_at.get_or_insert(at);
        }
        Ok(tables.note(note))
    }

    fn note_api_key_uses(&self, uses: Vec<(ApiKeyId, u64)>) -> Result<(), StoreError> {
        let mut tables = self.tables();
        for (id, at) in uses {
            if let Some(key) = tables.api_keys.get_mut(&id) {
                key.last_used_at = key.last_used_at.max(Some(at));
            }
        }
        Ok(())
    }

    fn add_usage(&self, more: Vec<Usage>, oldest_day: u64) -> Result<(), StoreError> {
        let usage = &mut self.tables().usage;
        for Usage { tenant, api_key, day, counts } in more {
            let sum = usage.entry((tenant, api_key, day)).or_default();
            *sum = sum.plus(&counts);
        }
        usage.retain(|(_, _, day), _| *day >= oldest_day);
        Ok(())
    }

    fn usage(
        &self,
        tenant: &TenantId,
        from: ApiKeyId,
        since_day: u64,
        keys: usize,
    ) -> Result<Vec<Usage>, StoreError> {
        let tables = self.tables();
        let since = tables
            .usage
            .iter()
            .filter(|((of, key, day), _)| of == tenant && *key >= from && *day >= since_day);
        let rows: Vec<Usage> =
            since.map(|(&(tenant, api_key, day), &counts)| Usage { tenant, api_key, day, counts }).collect();
        let mut ids: Vec<ApiKeyId> = rows.iter().map(|row| row.api_key).collect();
        ids.dedup();
        let first = &ids[..keys.min(ids.len())];
        Ok(rows.into_iter().filter(|row| first.contains(&row.api_key)).collect())
    }

    fn set_tenant_disabled(&self, tenant: &TenantId, at: Option<u64>, note: Note) -> Result<u64, StoreError> {
        let mut tables = self.tables();
        if let Some(record) = tables.tenants.get_mut(tenant) {
            record.disabled_at = at;
        }
        Ok(tables.note(note))
    }

    fn delete_tenant(&self, tenant: &TenantId, at: u64, note: Note) -> Result<u64, StoreError> {
        let mut tables = self.tables();
        if let Some(record) = tables.tenants.get_mut(tenant) {
            let Tenant { id, policy_version, created_at, disabled_at, .. } = *record;
            *record = Tenant {
                id,
                name: String::new(),
                policy: String::new(),
                policy_version,
                public_key: Vec::new(),
                next_key: None,
                wrapped_key: Vec::new(),
                created_at,
                disabled_at,
                deleted_at: Some(at),
            };
        }
        tables.policies.retain(|(of, _), _| of != tenant);
        tables.api_keys.retain(|_, key| key.tenant != *tenant);
        tables.generations.retain(|(of, _), _| of != tenant);
        tables.templates.retain(|(of, _), _| of != tenant);
        tables.sessions.retain(|(of, _), _| of != tenant);
        tables.idempotency.retain(|(of, _), _| of != tenant);
        tables.usage.retain(|(of, ..), _| of != tenant);
        Ok(tables.note(note))
    }

    fn put_operator(
        &self,
        operator: Operator,
        token: Option<OperatorToken>,
        note: Note,
    ) -> Result<u64, StoreError> {
        let mut tables = self.tables();
        if tables.is_made(&note) {
            return Err(StoreError::Conflict);
        }
        let revoked_at = operator.revoked_at;
        tables.operators.entry(operator.id).or_insert(operator).revoked_at = revoked_at;
        tables.operator_tokens.extend(token.map(|token| ((token.operator, token.number), token)));
        Ok(tables.note(note))
    }

    fn put_operator_token(&self, token: OperatorToken, note: Note) -> Result<u64, StoreError> {
        let mut tables = self.tables();
        if tables.is_made(&note) {
            return Err(StoreError::Conflict);
        }
        let revoked_at = token.revoked_at;
        tables.operator_tokens.entry((token.operator, token.number)).or_insert(token).revoked_at = revoked_at;
        Ok(tables.note(note))
    }

    fn note(&self, note: Note) -> Result<u64, StoreError> {
        Ok(self.tables().note(note))
    }

    fn created(
        &self,
        operator: &OperatorId,
        key: &str,
    ) -> Result<Option<([u8; 32], AuditEntry)>, StoreError> {
        let tables = self.tables();
        let Some((once, number)) = tables.creates.get(&(*operator, key.to_owned())) else { return Ok(None) };
        let entry = tables.audit.iter().find(|entry| entry.number == *number).cloned();
        Ok(entry.map(|entry| (once.request_digest, entry)))
    }

    fn seal_note(&self, number: u64, receipt: Vec<u8>) -> Result<(), StoreError> {
        let mut tables = self.tables();
        if let Some(entry) = tables.audit.iter_mut().find(|entry| entry.number == number) {
            entry.receipt.get_or_insert(receipt);
        }
        Ok(())
    }

    fn audit(
        &self,
        from: u64,
        tenant: Option<&TenantId>,
        count: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let tables = self.tables();
        let from = tables.audit.iter().filter(|entry| entry.number >= from);
        let own = from.filter(|entry| tenant.is_none_or(|tenant| entry.note.tenant == *tenant));
        Ok(own.take(count).cloned().collect())
    }

    fn unsealed_notes(&self, count: usize) -> Result<Vec<AuditEntry>, StoreError> {
        let tables = self.tables();
        let unsealed = tables.audit.iter().filter(|entry| entry.receipt.is_none());
        Ok(unsealed.take(count).cloned().collect())
    }

    fn publish_root(&self, root: Root) -> Result<(), StoreError> {
        let mut tables = self.tables();
        if tables.roots.range((root.tenant, root.generation)..=(root.tenant, u32::MAX)).next().is_some() {
            return Err(StoreError::Conflict);
        }
        tables.roots.insert((root.tenant, root.generation), root);
        Ok(())
    }

    fn roots(&self, tenant: &TenantId, from: u32, count: usize) -> Result<Vec<Root>, StoreError> {
        let tables = self.tables();
        let range = tables.roots.range((*tenant, from)..=(*tenant, u32::MAX));
        Ok(range.take(count).map(|(_, root)| root.clone()).collect())
    }

    fn add_issuer_key(&self, key: IssuerKey, note: Note) -> Result<u64, StoreError> {
        let mut tables = self.tables();
        insert(&mut tables.issuer_keys, (key.tenant, key.number), key)?;
        Ok(tables.note(note))
    }

    fn reserve_generation(&self, tenant: &TenantId, handle: &Handle) -> Result<u32, StoreError> {
        let mut tables = self.tables();
        if tables.templates.contains_key(&(*tenant, *handle)) {
            return Err(StoreError::Conflict);
        }
        let generation = tables.generations.entry((*tenant, *handle)).or_default();
        *generation += 1;
        Ok(*generation)
    }

    fn enrol(&self, template: Template, answer: Idempotency) -> Result<(), StoreError> {
        let mut tables = self.tables();
        let deleted = tables.tenants.get(&template.tenant).is_some_and(|tenant| tenant.deleted_at.is_some());
        if deleted || tables.idempotency.contains_key(&(answer.tenant, answer.key.clone())) {
            return Err(StoreError::Conflict);
        }
        insert(&mut tables.templates, (template.tenant, template.handle), template)?;
        insert(&mut tables.idempotency, (answer.tenant, answer.key.clone()), answer)
    }

    fn set_tenant_keys(
        &self,
        tenant: &TenantId,
        public_key: Vec<u8>,
        next_key: Option<Vec<u8>>,
        note: Note,
    ) -> Result<u64, StoreError> {
        let mut tables = self.tables();
        if let Some(record) = tables.tenants.get_mut(tenant) {
            (record.public_key, record.next_key) = (public_key, next_key);
        }
        Ok(tables.note(note))
    }

    fn count_epoch(&self, tenant: &TenantId, epoch: u32) -> Result<u64, StoreError> {
        self.subjects_of_epoch(tenant, epoch, usize::MAX).map(|subjects| subjects.len() as u64)
    }

    fn subjects_of_epoch(
        &self,
        tenant: &TenantId,
        epoch: u32,
        count: usize,
    ) -> Result<Vec<Handle>, StoreError> {
        let tables = self.tables();
        let of_epoch = |template: &&Template| template.tenant == *tenant && template.epoch == epoch;
        Ok(tables.templates.values().filter(of_epoch).take(count).map(|template| template.handle).collect())
    }

    fn reserve_renewal(&self, tenant: &TenantId, handle: &Handle) -> Result<u32, StoreError> {
        let mut tables = self.tables();
        if !tables.templates.contains_key(&(*tenant, *handle)) {
            return Err(StoreError::Conflict);
        }
        let generation = tables.generations.entry((*tenant, *handle)).or_default();
        *generation += 1;
        Ok(*generation)
    }

    fn renew_template(&self, template: Template, from: u32) -> Result<bool, StoreError> {
        let mut tables = self.tables();
        let current = tables.templates.get_mut(&(template.tenant, template.handle));
        let Some(current) = current.filter(|current| current.generation == from) else { return Ok(false) };
        let (consent_ref, created_at) = (std::mem::take(&mut current.consent_ref), current.created_at);
        *current = Template { consent_ref, created_at, ..template };
        Ok(true)
    }

    fn reserve_replacement(&self, tenant: &TenantId, handle: &Handle) -> Result<(u32, u32), StoreError> {
        let mut tables = self.tables();
        let present = tables.templates.get(&(*tenant, *handle)).ok_or(StoreError::Conflict)?.generation;
        let next = tables.generations.entry((*tenant, *handle)).or_default();
        *next += 1;
        let next = *next;
        tables.leftovers.insert((*tenant, *handle, next));
        Ok((next, present))
    }

    fn replace_template(
        &self,
        template: Template,
        from: u32,
        answer: Idempotency,
    ) -> Result<bool, StoreError> {
        let mut tables = self.tables();
        let Template { tenant, handle, generation, .. } = template;
        let is_of = |current: &Template| current.generation == from;
        if !tables.templates.get(&(tenant, handle)).is_some_and(is_of) {
            return Ok(false);
        }
        insert(&mut tables.idempotency, (answer.tenant, answer.key.clone()), answer)?;
        tables.templates.insert((tenant, handle), template);
        if tables.leftovers.remove(&(tenant, handle, generation)) {
            tables.leftovers.insert((tenant, handle, from));
        }
        Ok(true)
    }

    fn leftovers(&self) -> Result<Vec<TemplateName>, StoreError> {
        let name = |&(tenant, handle, generation): &(TenantId, Handle, u32)| TemplateName {
            tenant,
            handle,
            generation,
        };
        Ok(self.tables().leftovers.iter().map(name).collect())
    }

    fn forget_leftover(&self, name: &TemplateName) -> Result<(), StoreError> {
        let TemplateName { tenant, handle, generation } = *name;
        self.tables().leftovers.remove(&(tenant, handle, generation));
        Ok(())
    }

    fn template(&self, tenant: &TenantId, handle: &Handle) -> Result<Option<Template>, StoreError> {
        Ok(self.tables().templates.get(&(*tenant, *handle)).cloned())
    }

    fn subjects(&self, tenant: &TenantId, from: &Handle, count: usize) -> Result<Vec<Subject>, StoreError> {
        let tables = self.tables();
        let range = tables.templates.range((*tenant, *from)..=(*tenant, Handle::new([u8::MAX; 32])));
        let subject = |template: &Template| Subject {
            handle: template.handle,
            generation: template.generation,
            consent_ref: template.consent_ref.clone(),
            created_at: template.created_at,
        };
        Ok(range.take(count).map(|(_, template)| subject(template)).collect())
    }

    fn delete_template(&self, tenant: &TenantId, handle: &Handle) -> Result<Option<u32>, StoreError> {
        Ok(self.tables().templates.remove(&(*tenant, *handle)).map(|template| template.generation))
    }

    fn put_sessions(&self, sessions: Vec<Session>) -> Result<(), StoreError> {
        let sessions = sessions.into_iter().map(|session| ((session.tenant, session.id), session));
        self.tables().sessions.extend(sessions);
        Ok(())
    }

    fn live_sessions(
        &self,
        tenant: &TenantId,
        after: Option<&SessionId>,
        now: u64,
        limit: usize,
    ) -> Result<Vec<Session>, StoreError> {
        let tables = self.tables();
        let live = tables.sessions.values().filter(|session| {
            session.tenant == *tenant
                && session.expires_at > now
                && after.is_none_or(|after| session.id > *after)
        });
        Ok(live.take(limit).cloned().collect())
    }

    fn session(&self, tenant: &TenantId, id: &SessionId) -> Result<Option<Session>, StoreError> {
        Ok(self.tables().sessions.get(&(*tenant, *id)).cloned())
    }

    fn idempotency(&self, tenant: &TenantId, key: &str) -> Result<Option<Idempotency>, StoreError> {
        Ok(self.tables().idempotency.get(&(*tenant, key.to_owned())).cloned())
    }

    fn expire(&self, now: u64, idempotency_before: u64) -> Result<(), StoreError> {
        let mut tables = self.tables();
        tables.sessions.retain(|_, session| session.expires_at >= now);
        tables.idempotency.retain(|_, record| record.created_at >= idempotency_before);
        tables.creates.retain(|_, (once, _)| once.at >= idempotency_before);
        Ok(())
    }

    fn put_seal(&self, number: u64, bytes: Vec<u8>, completed: Vec<Hash>) -> Result<(), StoreError> {
        let mut tables = self.tables();
        insert(&mut tables.seals, number, bytes)?;
        let nodes = (0_u8..).zip(completed).map(|(level, hash)| ((level, number >> level), hash));
        tables.log_nodes.extend(nodes);
        Ok(())
    }

    fn seal(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.tables().seals.get(&number).cloned())
    }

    fn last_seal(&self) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        Ok(self.tables().seals.last_key_value().map(|(number, bytes)| (*number, bytes.clone())))
    }

    fn prune_seals(&self, headers: Vec<(u64, Vec<u8>)>) -> Result<(), StoreError> {
        self.tables().seals.extend(headers);
        Ok(())
    }

    fn last_pruned(&self) -> Result<Option<u64>, StoreError> {
        let is_pruned = |(_, bytes): &(&u64, &Vec<u8>)| bytes.len() <= PRUNED_BYTES_MAX;
        Ok(self.tables().seals.iter().rev().find(is_pruned).map(|(number, _)| *number))
    }

    fn unpruned_after(&self, number: u64) -> Result<Option<u64>, StoreError> {
        let tables = self.tables();
        let mut later = tables.seals.range((Bound::Excluded(number), Bound::Unbounded));
        Ok(later.find(|(_, bytes)| bytes.len() > PRUNED_BYTES_MAX).map(|(number, _)| *number))
    }

    fn shrink(&self, _: u64) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn put_cosignature(&self, size: u64, witness: String, line: String) -> Result<(), StoreError> {
        insert(&mut self.tables().cosignatures, (size, witness), line)
    }

    fn cosignatures(&self, size: u64) -> Result<Vec<String>, StoreError> {
        let tables = self.tables();
        let of_size = tables.cosignatures.iter().filter(|((cosigned, _), _)| *cosigned == size);
        Ok(of_size.map(|(_, line)| line.clone()).collect())
    }

    fn last_cosigned(&self) -> Result<Option<u64>, StoreError> {
        Ok(self.tables().cosignatures.last_key_value().map(|((size, _), _)| *size))
    }

    fn put_restoration(&self, Restoration { time, first }: Restoration) -> Result<(), StoreError> {
        insert(&mut self.tables().restorations, time, first)
    }

    fn last_restoration(&self) -> Result<Option<Restoration>, StoreError> {
        let tables = self.tables();
        Ok(tables.restorations.last_key_value().map(|(&time, &first)| Restoration { time, first }))
    }

    fn log_node(&self, level: u8, number: u64) -> Result<Option<Hash>, StoreError> {
        Ok(self.tables().log_nodes.get(&(level, number)).copied())
    }
}
