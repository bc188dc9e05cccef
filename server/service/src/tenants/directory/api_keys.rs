//! API keys from creation to expiry or revocation.

use super::{Directory, Snapshot};
use crate::limits::distinct_failures::DistinctFailures;
use crate::refused::Refused;
use crate::tenants::notes::{By, Noted};
use crate::tenants::tenant::{Scope, Scopes, Tenant};
use crate::tenants::usage::Uses;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use trefoil_attest::What;
use trefoil_storage::store::{self, StoreError, TenantId, UsageCounts};
use trefoil_types::ApiKeyId;
use zeroize::Zeroizing;

/// API keys in one page of a list.
const PAGE: usize = 256;
/// Resolution of a key's last use, seconds. Only the key's first request in each period of this length writes to memory.
const USE_PERIOD_S: u64 = 3600;

/// An API key as its tenant's operator sees it.
pub struct ApiKey {
    /// The stored record.
    pub record: store::ApiKey,
    /// Whether it is accepted.
    pub state: State,
    /// The hour of its last use, Unix seconds; `None` if it was never used.
    pub last_used_at: Option<u64>,
}

/// The caller that an API key stands for.
pub struct Known {
    /// The tenant.
    pub tenant: Arc<Tenant>,
    /// What it may do.
    pub scopes: Scopes,
    /// Its public part.
    pub id: ApiKeyId,
    /// Counts its uses.
    pub uses: Arc<Uses>,
    /// What its subjects did.
    pub failures: Arc<DistinctFailures>,
}

/// Whether an API key is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Yes.
    Active,
    /// No, it has expired.
    Expired,
    /// No, an operator revoked it.
    Revoked,
}

/// An API key in memory.
pub(super) struct HeldKey {
    record: store::ApiKey,
    /// The period of the last use, Unix seconds, 0 if never.
    used: AtomicU64,
    /// The period that the store has, 0 if it has none.
    noted: AtomicU64,
    /// What its subjects did.
    failures: Arc<DistinctFailures>,
    /// Its uses.
    uses: Arc<Uses>,
}

impl AsRef<store::ApiKey> for HeldKey {
    fn as_ref(&self) -> &store::ApiKey {
        &self.record
    }
}

impl HeldKey {
    pub(super) fn new(record: store::ApiKey) -> HeldKey {
        HeldKey::again(record, &Snapshot::default())
    }

    /// The key of this record, with what a snapshot before has of it in memory.
    pub(super) fn again(record: store::ApiKey, before: &Snapshot) -> HeldKey {
        let (held, noted) = (before.held(&record.id), record.last_used_at.unwrap_or(0));
        HeldKey {
            used: held.map_or(noted, |held| held.used.load(Relaxed).max(noted)).into(),
            noted: noted.into(),
            failures: held.map(|held| Arc::clone(&held.failures)).unwrap_or_default(),
            uses: held.map(|held| Arc::clone(&held.uses)).unwrap_or_default(),
            record,
        }
    }

    pub(super) fn tenant(&self) -> TenantId {
        self.record.tenant
    }

    fn is_live(&self, now: u64) -> bool {
        self.record.revoked_at.is_none() && self.record.expires_at.is_none_or(|end| now < end)
    }

    /// One load, except for the first use in a period.
    fn touch(&self, now: u64) {
        let period = now - now % USE_PERIOD_S;
        if self.used.load(Relaxed) < period {
            self.used.store(period, Relaxed);
        }
    }

    fn shown(&self, now: u64) -> ApiKey {
        let state = match self.record.revoked_at {
            Some(_) => State::Revoked,
            None if self.is_live(now) => State::Active,
            None => State::Expired,
        };
        let used = self.used.load(Relaxed);
        ApiKey { record: self.record.clone(), state, last_used_at: (used > 0).then_some(used) }
    }
}

impl Snapshot {
    fn held(&self, id: &ApiKeyId) -> Option<&HeldKey> {
        self.api_keys.get(id).map(Arc::as_ref)
    }

    fn known(&self, key: &HeldKey, now: u64) -> Result<Known, Refused> {
        if !key.is_live(now) {
            return Err(Refused::Caller);
        }
        let tenant = self.tenants.get(&key.record.tenant).ok_or(Refused::Caller)?;
        if tenant.disabled_at.is_some() {
            return Err(Refused::TenantDisabled);
        }
        key.touch(now);
        Ok(Known {
            tenant: Arc::clone(tenant),
            scopes: Scopes::from_bits(key.record.scopes),
            id: key.record.id,
            uses: Arc::clone(&key.uses),
            failures: Arc::clone(&key.failures),
        })
    }
}

impl Directory {
    /// The caller that an API key stands for. Keys that are unknown, expired or revoked get the same answer, after the same work.
    pub fn caller(&self, api_key: &str, now: u64) -> Result<Known, Refused> {
        self.look_ups.add_one();
        let snapshot = self.snapshot.load();
        let found = self.pepper.find(api_key, |id| snapshot.held(id));
        snapshot.known(found.ok_or(Refused::Caller)?, now)
    }

    /// The uses of each API key since the process began.
    pub(crate) fn uses(&self) -> Vec<(TenantId, ApiKeyId, Arc<Uses>)> {
        let snapshot = self.snapshot.load();
        let keys = snapshot.api_keys.values();
        keys.map(|key| (key.record.tenant, key.record.id, Arc::clone(&key.uses))).collect()
    }

    /// The uses of each tenant's API keys since the process began, by the tenant's identifier.
    pub fn tenant_usage(&self) -> BTreeMap<TenantId, UsageCounts> {
        let mut sums: BTreeMap<TenantId, UsageCounts> =
            self.snapshot.load().tenants.keys().map(|tenant| (*tenant, UsageCounts::default())).collect();
        for (tenant, _, uses) in self.uses() {
            let sum = sums.entry(tenant).or_default();
            *sum = sum.plus(&uses.sums());
        }
        sums
    }

    /// Creates an API key of a tenant. Returns its text, which is kept nowhere, and its id.
    pub fn create_api_key(
        &self,
        tenant: &TenantId,
        (scopes, label, expires_at): (&[Scope], String, Option<u64>),
        by: &By,
        now: u64,
    ) -> Result<(Zeroizing<String>, ApiKeyId, Noted), Refused> {
        if scopes.is_empty() {
            return Err(Refused::NoScope);
        }
        if let Some(end) = expires_at.filter(|&end| end <= now) {
            return Err(Refused::Over { end, now });
        }
        let _changing = self.change()?;
        self.tenant(tenant)?;
        let (text, record) = self.pepper.new_api_key(*tenant, Scopes::of(scopes), now);
        let record = store::ApiKey { label, expires_at, ..record };
        let id = record.id;
        let created = (*tenant, now, What::ApiKeyCreated { key: id, scopes: record.scopes });
        let noted =
            self.notes.with(created, Some(by), |note| self.store.add_api_key(record.clone(), note))?;
        self.hold(HeldKey::new(record));
        Ok((text, id, noted))
    }

    /// A page of a tenant's API keys ordered by id, starting at an id, with those that expired or were revoked, and the start of the next page.
    pub fn api_keys(
        &self,
        tenant: &TenantId,
        from: ApiKeyId,
        now: u64,
    ) -> Result<(Vec<ApiKey>, Option<ApiKeyId>), Refused> {
        self.tenant(tenant)?;
        let snapshot = self.snapshot.load();
        let own = snapshot.api_keys.values();
        let mut own: Vec<_> =
            own.filter(|key| key.record.tenant == *tenant && key.record.id >= from).collect();
        own.sort_unstable_by_key(|key| key.record.id);
        let next = own.get(PAGE).map(|key| key.record.id);
        Ok((own.into_iter().take(PAGE).map(|key| key.shown(now)).collect(), next))
    }

    /// Revokes an API key: the next request with it is refused. A key that is revoked already stays as it is.
    pub fn revoke_api_key(
        &self,
        tenant: &TenantId,
        id: ApiKeyId,
        by: &By,
        now: u64,
    ) -> Result<(ApiKey, Option<Noted>), Refused> {
        let _changing = self.change()?;
        self.tenant(tenant)?;
        let held = self.snapshot.load().api_keys.get(&id).cloned();
        let held = held.filter(|key| key.record.tenant == *tenant).ok_or(Refused::ApiKeyUnknown)?;
        if held.record.revoked_at.is_some() {
            return Ok((held.shown(now), None));
        }
        let revoked = (*tenant, now, What::ApiKeyRevoked { key: id });
        let noted = self.notes.with(revoked, Some(by), |note| self.store.revoke_api_key(&id, now, note))?;
        let record = store::ApiKey { revoked_at: Some(now), ..held.record.clone() };
        let revoked = HeldKey::again(record, &self.snapshot.load());
        let shown = revoked.shown(now);
        self.hold(revoked);
        Ok((shown, Some(noted)))
    }

    /// Logins that were refused since the start because too many different subjects failed: of one tenant's keys, or of all.
    pub fn refused_for_failures(&self, tenant: Option<&TenantId>) -> u64 {
        let snapshot = self.snapshot.load();
        let own =
            snapshot.api_keys.values().filter(|key| tenant.is_none_or(|tenant| key.record.tenant == *tenant));
        own.map(|key| key.failures.refused()).sum::<u64>() + self.refused_for_source(tenant)
    }

    /// Those refused because too many different subjects failed from their source.
    pub fn refused_for_source(&self, tenant: Option<&TenantId>) -> u64 {
        let snapshot = self.snapshot.load();
        let own = snapshot.tenants.values().filter(|own| tenant.is_none_or(|tenant| own.id == *tenant));
        own.map(|own| own.sources.refused()).sum()
    }

    /// Stores changed times of the last use of API keys. For a task in the background.
    pub fn note_uses(&self) -> Result<(), StoreError> {
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
