//! Templates in memory, loaded from the store on first use.
//!
//! Two generations approximate least-recently-used within a hard bound: a look-up moves a template into the newer one,
//! and when that is full it becomes the older and the older is dropped. A template is 48 or 96 KiB in a slot of an arena of its
//! key structure, shared by reference count, so the entries themselves are small.

#![expect(
    clippy::disallowed_types,
    reason = "on the path of a login: one of 16 locks for one look-up, see ARCHITECTURE.md"
)]

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use trefoil_matching::{Arena, ArenaSize, KeyStructure, Template};
use trefoil_storage::store::{Handle, TenantId};

/// Locks, so that I/O threads seldom meet.
const SHARDS: usize = 16;

/// Templates that batches in flight may hold in addition.
const IN_FLIGHT: usize = 1024;

type Key = (TenantId, Handle);

/// See the module.
pub struct Templates {
    shards: [Mutex<Generations>; SHARDS],
    per_generation_max: usize,
    /// Memory is allocated on use, so a key structure without tenants takes none.
    own_keys: Arena,
    tenant_keys: Arena,
}

#[derive(Default)]
struct Generations {
    newer: HashMap<Key, Template>,
    older: HashMap<Key, Template>,
}

impl Templates {
    /// Holds at most about `capacity` templates.
    pub fn new(capacity: usize) -> Templates {
        let per_generation_max = (capacity / SHARDS / 2).max(1);
        // Both generations of all shards, and the templates that batches may still read after they were dropped.
        let slots = 2 * SHARDS * per_generation_max + IN_FLIGHT;
        let arena = |keys| Template::arena(keys, slots);
        Templates {
            shards: Default::default(),
            per_generation_max,
            own_keys: arena(KeyStructure::PerSubject),
            tenant_keys: arena(KeyStructure::PerTenant),
        }
    }

    /// The template, if it is in memory.
    pub fn get(&self, tenant: &TenantId, handle: &Handle) -> Option<Template> {
        let key = (*tenant, *handle);
        let mut shard = self.shard(handle);
        if let Some(template) = shard.newer.get(&key) {
            return Some(template.clone());
        }
        let template = shard.older.remove(&key)?;
        self.put(&mut shard, key, template.clone());
        Some(template)
    }

    /// Adds a template.
    pub fn insert(&self, template: Template) {
        let template = match template.structure() {
            KeyStructure::PerSubject => template.stored_in(&self.own_keys),
            KeyStructure::PerTenant => template.stored_in(&self.tenant_keys),
        };
        let key = (template.tenant, template.handle);
        let mut shard = self.shard(&template.handle);
        shard.older.remove(&key);
        self.put(&mut shard, key, template);
    }

    /// Forgets a template.
    pub fn remove(&self, tenant: &TenantId, handle: &Handle) {
        let key = (*tenant, *handle);
        let mut shard = self.shard(handle);
        shard.newer.remove(&key);
        shard.older.remove(&key);
    }

    /// Forgets all templates of a tenant.
    pub fn remove_tenant(&self, tenant: &TenantId) {
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.newer.retain(|(of, _), _| of != tenant);
            shard.older.retain(|(of, _), _| of != tenant);
        }
    }

    /// Number of templates in memory.
    pub fn held(&self) -> usize {
        let count = |shard: &Mutex<Generations>| {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.newer.len() + shard.older.len()
        };
        self.shards.iter().map(count).sum()
    }

    /// The memory behind them, by key structure.
    pub fn arenas(&self) -> [(KeyStructure, ArenaSize); 2] {
        [(KeyStructure::PerSubject, self.own_keys.size()), (KeyStructure::PerTenant, self.tenant_keys.size())]
    }

    fn put(&self, shard: &mut Generations, key: Key, template: Template) {
        if shard.newer.len() >= self.per_generation_max {
            shard.older = std::mem::take(&mut shard.newer);
        }
        shard.newer.insert(key, template);
    }

    /// Handles are outputs of a hash, or chosen by an authenticated tenant for itself: good enough to spread.
    fn shard(&self, handle: &Handle) -> MutexGuard<'_, Generations> {
        self.shards[usize::from(handle.as_bytes()[0]) % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
