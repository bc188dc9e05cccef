//! Tenants and what belongs to them as a whole: policies, API keys and their usage, credential roots, keys.

use super::records::{
    ApiKey, Idempotency, IssuerKey, Operator, OperatorToken, PolicyVersion, Registry, Root, Session, Subject,
    Tenant,
};
use super::rows::{Call, Calls, StoreRows, Tables};
use super::subjects::{Generation, TemplateBytes};
use super::usage::{Usage, UsageWrite};
use super::{Note, StoreError};
use crate::table::{Column as _, Record as _, Records as _, Value, key};
use std::time::{SystemTime, UNIX_EPOCH};
use trefoil_attest::SERVICE;
use trefoil_types::{ApiKeyId, TenantId};

/// Roots that are accepted: the newest one of a tenant and those from the generation on that it names.
const ACCEPTED: &str =
    "AS r WHERE generation >= (SELECT generation_min FROM roots AS n WHERE n.tenant = r.tenant
    ORDER BY n.generation DESC LIMIT 1)";

/// What a store keeps of tenants. See [`super::Store`].
pub trait Tenants: Tables {
    /// Tenants, API keys, accepted roots and operators.
    fn registry(&self) -> Result<Registry, StoreError> {
        self.look(Call::LONG, |rows| {
            Ok(Registry {
                tenants: rows.select("ORDER BY id", &[])?,
                api_keys: rows.select("ORDER BY id", &[])?,
                roots: rows.select(&format!("{ACCEPTED} ORDER BY tenant, generation"), &[])?,
                issuer_keys: rows.select("ORDER BY tenant, number", &[])?,
                ..operators(rows)?
            })
        })
    }

    /// What the registry has of one tenant.
    fn registry_of(&self, tenant: &TenantId) -> Result<Registry, StoreError> {
        let tenant = *tenant;
        self.look(Call::of(&tenant), move |rows| {
            let of = key([&tenant]);
            Ok(Registry {
                tenants: rows.select("WHERE id = $1", &of)?,
                api_keys: rows.select("WHERE tenant = $1 ORDER BY id", &of)?,
                roots: rows.select(&format!("{ACCEPTED} AND tenant = $1 ORDER BY generation"), &of)?,
                issuer_keys: rows.select("WHERE tenant = $1 ORDER BY number", &of)?,
                ..Registry::default()
            })
        })
    }

    /// The operators, in a registry without tenants.
    fn operators(&self) -> Result<Registry, StoreError> {
        self.look(Call::ALL, operators)
    }

    /// Adds a tenant with the version of its policy; `Conflict` if it exists.
    fn create_tenant(&self, tenant: Tenant, note: Note) -> Result<u64, StoreError> {
        let Tenant { id, policy_version, created_at, .. } = tenant;
        let policy = tenant.policy.clone();
        let first = PolicyVersion { tenant: id, version: policy_version, policy, made_at: created_at };
        self.noted(Call::ALL, note, move |rows| {
            rows.insert(&tenant)?;
            rows.insert(&first)
        })
    }

    /// Adds a version of a policy and makes it the tenant's, both or neither; `Conflict` if the version exists.
    fn put_policy(&self, version: PolicyVersion, note: Note) -> Result<u64, StoreError> {
        self.noted(Call::ALL, note, move |rows| {
            rows.insert(&version)?;
            let PolicyVersion { tenant, version, policy, .. } = version;
            change_tenant(rows, &tenant, |found| (found.policy, found.policy_version) = (policy, version))
        })
    }

    /// Versions of a tenant's policy in order, starting at one, at most `count`.
    fn policies(&self, tenant: &TenantId, from: u32, count: usize) -> Result<Vec<PolicyVersion>, StoreError> {
        let tenant = *tenant;
        self.look(Call::of(&tenant), move |rows| {
            let values = [tenant.value(), from.value(), Value::limit(count)];
            rows.select("WHERE tenant = $1 AND version >= $2 ORDER BY version LIMIT $3", &values)
        })
    }

    /// Adds an API key; `Conflict` if its id exists.
    fn add_api_key(&self, new: ApiKey, note: Note) -> Result<u64, StoreError> {
        self.noted(Call::ALL, note, move |rows| match api_key(rows, &new.id)? {
            Some(_) => Err(StoreError::Conflict),
            None => rows.insert(&new),
        })
    }

    /// Revokes an API key. A second revocation keeps the time of the first.
    fn revoke_api_key(&self, id: &ApiKeyId, at: u64, note: Note) -> Result<u64, StoreError> {
        let id = *id;
        self.noted(Call::ALL, note, move |rows| match api_key(rows, &id)? {
            Some(found) if found.revoked_at.is_none() => {
                rows.update(&ApiKey { revoked_at: Some(at), ..found })
            }
            _ => Ok(()),
        })
    }

    /// Notes when API keys were last used. The later time wins.
    fn note_api_key_uses(&self, uses: Vec<(ApiKeyId, u64)>) -> Result<(), StoreError> {
        self.change(Call::ALL, move |rows| {
            for (id, at) in uses {
                let found = api_key(rows, &id)?;
                if let Some(found) = found.filter(|found| found.last_used_at.is_none_or(|before| before < at))
                {
                    rows.update(&ApiKey { last_used_at: Some(at), ..found })?;
                }
            }
            Ok(())
        })
    }

    /// Adds counts to their days, and deletes days before `oldest_day`. Where a write may have been stored although it failed, the next one of the process
    /// with the same number adds nothing then.
    fn add_usage(&self, write: UsageWrite, more: Vec<Usage>, oldest_day: u64) -> Result<(), StoreError> {
        self.change(Call::ALL, move |rows| {
            if !is_new(rows, write)? {
                return Ok(());
            }
            for added in more {
                let Usage { tenant, api_key, day, counts } = added;
                let before: Option<Usage> = rows.get(&key([&tenant, &api_key, &day]))?;
                let counts = before.map_or(counts, |before| before.counts.plus(&counts));
                rows.put(&Usage { counts, ..added })?;
            }
            rows.delete::<Usage>("day < $1", &[Value::bound(oldest_day)]).map(drop)
        })
    }

    /// The usage since a day of at most `keys` of a tenant's API keys, starting at one; by key, then by day.
    fn usage(
        &self,
        tenant: &TenantId,
        from: ApiKeyId,
        since_day: u64,
        keys: usize,
    ) -> Result<Vec<Usage>, StoreError> {
        let sql = "WHERE tenant = $1 AND day >= $3 AND api_key IN (
                SELECT DISTINCT api_key FROM usage WHERE tenant = $1 AND api_key >= $2 AND day >= $3
                ORDER BY api_key LIMIT $4
            ) ORDER BY api_key, day";
        let tenant = *tenant;
        self.look(Call::of(&tenant), move |rows| {
            let values = [tenant.value(), from.value(), Value::bound(since_day), Value::limit(keys)];
            rows.select(sql, &values)
        })
    }

    /// Disables a tenant at this time, or enables it.
    fn set_tenant_disabled(&self, tenant: &TenantId, at: Option<u64>, note: Note) -> Result<u64, StoreError> {
        let tenant = *tenant;
        self.noted(Call::ALL, note, move |rows| change_tenant(rows, &tenant, |found| found.disabled_at = at))
    }

    /// Deletes all data of a tenant and overwrites the bytes, except its issuer's keys and its root log. From then on its
    /// enrolments are refused.
    fn delete_tenant(&self, tenant: &TenantId, at: u64, note: Note) -> Result<u64, StoreError> {
        let tenant = *tenant;
        let of_tenant = [
            Subject::TABLE,
            TemplateBytes::TABLE,
            Generation::TABLE,
            Session::TABLE,
            Idempotency::TABLE,
            ApiKey::TABLE,
            PolicyVersion::TABLE,
            Usage::TABLE,
        ];
        self.noted(Call { shreds: true, ..Call::LONG }, note, move |rows| {
            for table in &of_tenant {
                rows.delete_rows(table, "tenant = $1", &key([&tenant]))?;
            }
            change_tenant(rows, &tenant, |found| {
                let Tenant { id, policy_version, created_at, disabled_at, .. } = *found;
                *found = Tenant {
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
            })
        })
    }

    /// Replaces a tenant's public keys.
    fn set_tenant_keys(
        &self,
        tenant: &TenantId,
        public_key: Vec<u8>,
        next_key: Option<Vec<u8>>,
        note: Note,
    ) -> Result<u64, StoreError> {
        let tenant = *tenant;
        // At the end of a rotation the wrapped keys of old templates are gone too.
        self.noted(Call { shreds: true, ..Call::ALL }, note, move |rows| {
            change_tenant(rows, &tenant, |found| (found.public_key, found.next_key) = (public_key, next_key))
        })
    }

    /// Adds a root; `Conflict` unless its generation is above all earlier ones of the tenant.
    fn publish_root(&self, root: Root) -> Result<(), StoreError> {
        self.change(Call::of(&root.tenant), move |rows| {
            rows.change_registry(root.tenant)?;
            let later = key([&root.tenant, &root.generation]);
            match rows.one::<Root>("WHERE tenant = $1 AND generation >= $2", &later)? {
                Some(_) => Err(StoreError::Conflict),
                None => rows.insert(&root),
            }
        })
    }

    /// Roots of a tenant in order, starting at a generation, at most `count`, including withdrawn ones.
    fn roots(&self, tenant: &TenantId, from: u32, count: usize) -> Result<Vec<Root>, StoreError> {
        let tenant = *tenant;
        self.look(Call::of(&tenant), move |rows| {
            let values = [tenant.value(), from.value(), Value::limit(count)];
            rows.select("WHERE tenant = $1 AND generation >= $2 ORDER BY generation LIMIT $3", &values)
        })
    }

    /// Adds an issuer key; `Conflict` if the number exists.
    fn add_issuer_key(&self, new: IssuerKey, note: Note) -> Result<u64, StoreError> {
        self.noted(Call::ALL, note, move |rows| rows.insert(&new))
    }
}

impl<T: Tables + ?Sized> Tenants for T {}

fn operators(rows: &dyn StoreRows) -> Result<Registry, StoreError> {
    let operators: Vec<Operator> = rows.select("ORDER BY id", &[])?;
    let operator_tokens: Vec<OperatorToken> = rows.select("ORDER BY operator, number", &[])?;
    Ok(Registry { operators, operator_tokens, ..Registry::default() })
}

fn api_key(rows: &dyn StoreRows, id: &ApiKeyId) -> Result<Option<ApiKey>, StoreError> {
    rows.one("WHERE id = $1", &key([id]))
}

/// Changes the tenant's row, if there is one.
fn change_tenant(
    rows: &dyn StoreRows,
    tenant: &TenantId,
    change: impl FnOnce(&mut Tenant),
) -> Result<(), StoreError> {
    let Some(mut found) = rows.get::<Tenant>(&key([tenant]))? else { return Ok(()) };
    change(&mut found);
    rows.update(&found)
}

/// Notes a write of usage in place of the one before of its process. Returns whether it is not stored yet: the answer to its commit may have been lost.
/// The note is among the idempotency keys, as one of the service, and goes with them; the number is in the place of the digest.
fn is_new(rows: &dyn StoreRows, write: UsageWrite) -> Result<bool, StoreError> {
    let UsageWrite { process, number } = write;
    let (name, mut request_digest) = (format!("usage of {process:016x}"), [0; 32]);
    request_digest[..8].copy_from_slice(&number.to_le_bytes());
    let of_process = key([&SERVICE, &name]);
    let before: Option<Idempotency> = rows.get(&of_process)?;
    if before.is_some_and(|before| before.request_digest == request_digest) {
        return Ok(false);
    }
    rows.remove::<Idempotency>(&of_process)?;
    let created_at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let note = Idempotency {
        tenant: SERVICE,
        key: name.clone(),
        request_digest,
        generation: 0,
        replaced: None,
        created_at,
    };
    rows.insert(&note)?;
    Ok(true)
}
