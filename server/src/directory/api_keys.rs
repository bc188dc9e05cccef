//! API keys over their life: made, used, listed, expired, revoked.

use super::{Directory, Snapshot};
use crate::problem::{Code, Problem};
use crate::tenant::{Scopes, Tenant};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use trefoil_api::{ApiKey, ApiKeyPage, ApiKeyState, CreateApiKey, CreatedApiKey, Hex};
use trefoil_storage::store::{self, StoreError, TenantId};

/// API keys in one page of a list.
const PAGE: usize = 256;
/// How exactly the last use of a key is known, seconds. A key's first request in each such period writes to memory.
const USE_PERIOD_S: u64 = 3600;

/// An API key in memory.
pub(super) struct HeldKey {
    record: store::ApiKey,
    /// The period of the last use, Unix seconds, 0 if never.
    used: AtomicU64,
    /// What the store has of it.
    noted: AtomicU64,
}

impl AsRef<store::ApiKey> for HeldKey {
    fn as_ref(&self) -> &store::ApiKey {
        &self.record
    }
}

impl HeldKey {
    pub(super) fn new(record: store::ApiKey) -> HeldKey {
        let used = record.last_used_at.unwrap_or(0);
        HeldKey { record, used: used.into(), noted: used.into() }
    }

    fn is_live(&self, now: u64) -> bool {
        self.record.revoked_at.is_none() && self.record.expires_at.is_none_or(|end| now < end)
    }

    /// One load, but for the first use in a period.
    fn touch(&self, now: u64) {
        let period = now - now % USE_PERIOD_S;
        if self.used.load(Relaxed) < period {
            self.used.store(period, Relaxed);
        }
    }

    fn shown(&self, now: u64) -> ApiKey {
        let store::ApiKey { id, scopes, created_at, label, expires_at, revoked_at, .. } = &self.record;
        let state = match revoked_at {
            Some(_) => ApiKeyState::Revoked,
            None if self.is_live(now) => ApiKeyState::Active,
            None => ApiKeyState::Expired,
        };
        let used = self.used.load(Relaxed);
        ApiKey {
            id: Hex(*id),
            label: label.clone(),
            scopes: Scopes::from_bits(*scopes).list(),
            state,
            created_at: *created_at,
            expires_at: *expires_at,
            revoked_at: *revoked_at,
            last_used_at: (used > 0).then_some(used),
        }
    }
}

impl Directory {
    /// The tenant and rights that an API key speaks for, and the key's public part. A key that is unknown, expired or revoked gets one
    /// answer, after the same work.
    pub(crate) fn caller(&self, api_key: &str, now: u64) -> Result<(Arc<Tenant>, Scopes, [u8; 8]), Problem> {
        let snapshot = self.snapshot.load();
        let found = self.pepper.find(api_key, |id| snapshot.api_keys.get(id).map(AsRef::as_ref));
        let key: &HeldKey = found.filter(|key: &&HeldKey| key.is_live(now)).ok_or_else(unauthenticated)?;
        let tenant = snapshot.tenants.get(&key.record.tenant).ok_or_else(unauthenticated)?;
        if tenant.disabled_at.is_some() {
            let detail = "the service's operator disabled this tenant; ask the operator to enable it";
            return Err(Problem::new(Code::TenantDisabled, detail));
        }
        key.touch(now);
        Ok((Arc::clone(tenant), Scopes::from_bits(key.record.scopes), key.record.id))
    }

    /// Creates an API key of a tenant.
    pub(crate) fn create_api_key(
        &self,
        tenant: &TenantId,
        request: CreateApiKey,
        now: u64,
    ) -> Result<CreatedApiKey, Problem> {
        let CreateApiKey { scopes, label, expires_at } = request;
        if scopes.is_empty() {
            let detail = "expected at least one of enrol, authenticate, issue";
            return Err(Problem::field(Code::FieldInvalid, "/scopes", detail));
        }
        if let Some(end) = expires_at.filter(|&end| end <= now) {
            let detail = format!("{end} is over: the service's clock says {now}, in Unix seconds");
            return Err(Problem::field(Code::FieldInvalid, "/expires_at", detail));
        }
        let _changing = self.change();
        self.tenant(tenant)?;
        let (text, record) = self.pepper.new_api_key(*tenant, Scopes::of(&scopes), now);
        let record = store::ApiKey { label: label.unwrap_or_default(), expires_at, ..record };
        self.store.add_api_key(record.clone())?;
        let id = Hex(record.id);
        self.hold(HeldKey::new(record));
        Ok(CreatedApiKey { api_key: text.to_string(), id, expires_at })
    }

    /// A page of a tenant's API keys, from an id on, ordered by id; the ended ones too.
    pub(crate) fn api_keys(&self, tenant: &TenantId, from: [u8; 8], now: u64) -> Result<ApiKeyPage, Problem> {
        self.tenant(tenant)?;
        let snapshot = self.snapshot.load();
        let own = snapshot.api_keys.values();
        let mut own: Vec<_> =
            own.filter(|key| key.record.tenant == *tenant && key.record.id >= from).collect();
        own.sort_unstable_by_key(|key| key.record.id);
        let next = own.get(PAGE).map(|key| Hex(key.record.id));
        Ok(ApiKeyPage { api_keys: own.into_iter().take(PAGE).map(|key| key.shown(now)).collect(), next })
    }

    /// Revokes an API key: the next request with it is refused. One that is revoked already stays as it is.
    pub(crate) fn revoke_api_key(&self, tenant: &TenantId, id: [u8; 8], now: u64) -> Result<ApiKey, Problem> {
        let _changing = self.change();
        self.tenant(tenant)?;
        let held = self.snapshot.load().api_keys.get(&id).cloned();
        let held = held.filter(|key| key.record.tenant == *tenant).ok_or_else(|| {
            let detail =
                "this tenant has no API key with this id; GET /v1/tenants/{tenant}/api-keys lists them";
            Problem::new(Code::ApiKeyUnknown, detail)
        })?;
        if held.record.revoked_at.is_some() {
            return Ok(held.shown(now));
        }
        self.store.revoke_api_key(&id, now)?;
        let revoked = HeldKey {
            record: store::ApiKey { revoked_at: Some(now), ..held.record.clone() },
            used: held.used.load(Relaxed).into(),
            noted: held.noted.load(Relaxed).into(),
        };
        let shown = revoked.shown(now);
        self.hold(revoked);
        Ok(shown)
    }

    /// Stores when API keys were last used, where that changed. For a task in the background.
    pub(crate) fn note_uses(&self) -> Result<(), StoreError> {
        let snapshot = self.snapshot.load();
        let used = snapshot.api_keys.values().map(|key| (key, key.used.load(Relaxed)));
        let changed: Vec<_> = used.filter(|(key, used)| key.noted.load(Relaxed) < *used).collect();
        if changed.is_empty() {
            return Ok(());
        }
        self.store.note_api_key_uses(changed.iter().map(|(key, used)| (key.record.id, *used)).collect())?;
        changed.iter().for_each(|(key, used)| key.noted.store(*used, Relaxed));
        Ok(())
    }

    fn hold(&self, key: HeldKey) {
        let mut snapshot = Snapshot::clone(&self.snapshot.load());
        snapshot.api_keys.insert(key.record.id, Arc::new(key));
        self.snapshot.store(Arc::new(snapshot));
    }
}

/// The same for a key that is unknown, expired or revoked.
pub(crate) fn unauthenticated() -> Problem {
    let detail =
        "send `Authorization: Bearer <API key>` with a key that exists and is neither expired nor revoked";
    Problem::new(Code::CallerUnauthenticated, detail)
}
