//! The store of a node whose data is in PostgreSQL.
//!
//! | part | what |
//! |---|---|
//! | [`address`] | where the database is, the password, TLS |
//! | [`servers`], [`link`] | which server is the primary; one connection, with a deadline for each answer |
//! | [`node`] | the lock of the one process or of the fleet, the count of transactions |
//! | [`schema`] | the tables and their version |
//! | [`roles`] | what the role that serves may do |
//! | [`scope`] | whose rows a transaction sees |
//! | [`inspect`] | looks at a database that another process may use |
//! | [`fleet`] | what a node hears of the others, and its turns in the log |
//! | [`threads`] | the threads that own the connections |
//! | [`register`] | what the nodes of a fleet have used once |
//! | [`table`], [`records`] | rows with a keyed code |
//!
//! Of a SQLite file the process knows that nobody else has written to it. Here it knows that each row it reads is one that it wrote under that
//! key, and that the count of transactions never falls below the one it remembers. An administrator of the database can still remove a row, or
//! put an earlier version of one back; LIMITS.md says what follows.
//!
//! ```no_run
//! use trefoil_postgres::{Address, Opening, PasswordFiles, Postgres};
//! use trefoil_storage::{Supervisor, store::Store as _};
//! let files = PasswordFiles { own: Some("database.password".into()), libpq: None };
//! let address = Address::read("postgres://trefoil@db.example/trefoil", &files)?;
//! let patience = std::time::Duration::from_secs(1);
//! let store = Postgres::open(&Supervisor::default(), &address, &[7; 32], patience, Opening::default())?;
//! assert_eq!(store.last_seal()?, None);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod address;
mod connections;
mod fleet;
mod inspect;
mod link;
mod node;
mod pool;
mod records;
mod register;
mod roles;
mod schema;
mod scope;
mod servers;
mod table;
#[cfg(test)]
mod tests;
mod threads;
mod tls;
mod usage;

pub use address::{Address, PasswordFiles, without_password};
pub use connections::{CONNECTIONS_BESIDE, CONNECTIONS_OF_A_NODE, LINKS_OF_HANDLERS};
use fleet::Parts;
pub use fleet::Signs;
pub use inspect::Inspected;
pub use node::Opening;
use records::{Bytes, Cosignature, Create, Enrolled, Generation, LogNode, Seal};
pub use register::{Bounds as RegisterBounds, PostgresRegister};
pub use roles::{Rights, migrate};
use scope::Scope::{self, All};
use std::sync::Arc;
use std::time::Duration;
use table::{Change, Item, Record as _, Rows, Value};
use threads::Threads;
use trefoil_attest::{Restoration, tree::Hash};
use trefoil_matching::TemplateName;
use trefoil_storage::Supervisor;
use trefoil_storage::database::Count;
use trefoil_storage::store::fleet::Fleet;
use trefoil_storage::store::{
    AcceptedClock, ApiKey, AuditEntry, Idempotency, IssuerKey, Note, Once, Operator, OperatorToken,
    PRUNED_BYTES_MAX, PolicyVersion, Present, Registry, Revocation, Root, Session, Store, StoreError,
    Subject, Template, Tenant, Usage, UsageWrite, takes,
};
use trefoil_types::{ApiKeyId, Handle, OperatorId, SessionId, TenantId};

/// See the module.
pub struct Postgres(Threads, Option<Parts>);

impl Postgres {
    /// Takes the database for this process, and makes its tables if there are none. `secret` authenticates its rows. No statement takes longer than
    /// `patience`, except those over all rows of a tenant.
    ///
    /// # Errors
    /// [`StoreError::InUse`] when another process has it, [`StoreError::Unreachable`], [`StoreError::Forged`], and
    /// [`StoreError::Unusable`], which says what to do.
    pub fn open(
        supervisor: &Supervisor,
        address: &Address,
        secret: &[u8; 32],
        patience: Duration,
        opening: Opening,
    ) -> Result<Postgres, StoreError> {
        let name = opening.fleet.clone().filter(|_| opening.look.is_none());
        let (threads, begun) = Threads::start(supervisor, address, secret, patience, opening)?;
        let start = |name: String| Parts::start(supervisor, address, secret, patience, begun, &name);
        let fleet = name.map(start).transpose()?;
        Ok(Postgres(threads, fleet))
    }

    fn parts(&self) -> Result<&Parts, StoreError> {
        self.1.as_ref().ok_or_else(|| StoreError::Fault("this node is in no fleet".to_owned()))
    }

    /// One change of the registry by an operator. Returns the number of its entry in the audit trail.
    fn noted(
        &self,
        note: Note,
        change: impl FnOnce(&Rows<'_>) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<u64, StoreError> {
        self.0.write(All, move |rows| {
            rows.change_registry(note.tenant)?;
            change(rows)?;
            add_note(rows, note)
        })
    }
}

fn of(tenant: &TenantId) -> Value {
    Value::bytes(*tenant.as_bytes())
}

fn subject(tenant: &TenantId, handle: &Handle) -> [Value; 2] {
    [of(tenant), Value::bytes(*handle.as_bytes())]
}

fn count_of(count: usize) -> Value {
    Value::bound(count as u64)
}

/// Adds an entry to the audit trail and returns its number. One process writes, so the next number is free.
fn add_note(rows: &Rows<'_>, note: Note) -> Result<u64, StoreError> {
    let last = rows.number("SELECT max(number) FROM audit", &[])?.unwrap_or(0);
    let (number, Note { tenant, statement, once }) = (last + 1, note);
    rows.insert(&AuditEntry { number, note: Note { tenant, statement, once: None }, receipt: None })?;
    if let Some(Once { operator, key, request_digest, at }) = once {
        rows.insert(&Create { operator, key, request_digest, entry: number, created_at: at })?;
    }
    Ok(number)
}

/// Changes the tenant's row, if there is one.
fn change_tenant(
    rows: &Rows<'_>,
    tenant: &TenantId,
    change: impl FnOnce(&mut Tenant),
) -> Result<(), StoreError> {
    let Some(mut found) = rows.get::<Tenant>(&[of(tenant)])? else { return Ok(()) };
    change(&mut found);
    rows.update(&found)
}

/// Replaces the time of revocation of an operator that exists, or adds the operator.
fn put_operator(rows: &Rows<'_>, operator: &Operator) -> Result<(), StoreError> {
    match rows.get::<Operator>(&[Value::bytes(*operator.id.as_bytes())])? {
        Some(found) => rows.update(&Operator { revoked_at: operator.revoked_at, ..found }),
        None => rows.insert(operator),
    }
}

fn put_token(rows: &Rows<'_>, token: &OperatorToken) -> Result<(), StoreError> {
    let key = [Value::bytes(*token.operator.as_bytes()), Value::number(token.number)];
    match rows.get::<OperatorToken>(&key)? {
        Some(found) => rows.update(&OperatorToken { revoked_at: token.revoked_at, ..found }),
        None => rows.insert(token),
    }
}

fn enrolled(rows: &Rows<'_>, tenant: &TenantId, handle: &Handle) -> Result<Option<Enrolled>, StoreError> {
    rows.get(&subject(tenant, handle))
}

/// `OldKeys` unless a template under its epoch may be stored, and `Conflict` without a tenant.
fn check_keys(rows: &Rows<'_>, template: &Template) -> Result<(), StoreError> {
    let tenant: Option<Tenant> = rows.get(&[of(&template.tenant)])?;
    let Some(Tenant { public_key, next_key, deleted_at: None, .. }) = tenant else {
        return Err(StoreError::Conflict);
    };
    let newest = next_key.unwrap_or(public_key);
    if takes(&newest, template.epoch) { Ok(()) } else { Err(StoreError::OldKeys) }
}

/// Takes the next generation of a subject.
fn next_generation(rows: &Rows<'_>, tenant: TenantId, handle: Handle) -> Result<u32, StoreError> {
    let last: Option<Generation> = rows.get(&subject(&tenant, &handle))?;
    let generation = last.map_or(0, |last| last.generation) + 1;
    rows.put(&Generation { tenant, handle, generation })?;
    Ok(generation)
}

/// Removes the note of a generation. Returns whether there was one.
fn forget(rows: &Rows<'_>, name: &TemplateName) -> Result<bool, StoreError> {
    let [tenant, handle] = subject(&name.tenant, &name.handle);
    let noted = [tenant, handle, Value::number(name.generation)];
    Ok(rows.delete::<TemplateName>(&TemplateName::TABLE.keyed(), &noted)? == 1)
}

impl Store for Postgres {
    fn count(&self) -> Count {
        Arc::clone(&self.0.count)
    }

    fn follow(&self, vault: Count) -> u64 {
        let (beside, seen) = &self.0.beside;
        // A second one would be another vault.
        let _ = beside.set(vault);
        *seen
    }

    fn unready(&self) -> Option<String> {
        self.0.unready().or_else(|| self.1.as_ref().and_then(Parts::stale))
    }

    fn fleet(&self) -> Option<&dyn Fleet> {
        self.1.is_some().then_some(self)
    }

    /// The server does this by itself.
    fn checkpoint(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn registry(&self) -> Result<Registry, StoreError> {
        self.0.read_long(All, |rows| {
            let accepted =
                "AS r WHERE generation >= (SELECT generation_min FROM roots AS n WHERE n.tenant = r.tenant
                            ORDER BY n.generation DESC LIMIT 1) ORDER BY tenant, generation";
            Ok(Registry {
                tenants: rows.select("ORDER BY id", &[])?,
                api_keys: rows.select("ORDER BY id", &[])?,
                roots: rows.select(accepted, &[])?,
                issuer_keys: rows.select("ORDER BY tenant, number", &[])?,
                operators: rows.select("ORDER BY id", &[])?,
                operator_tokens: rows.select("ORDER BY operator, number", &[])?,
            })
        })
    }

    fn create_tenant(&self, tenant: Tenant, note: Note) -> Result<u64, StoreError> {
        let Tenant { id, policy_version, created_at, .. } = tenant;
        let policy = tenant.policy.clone();
        let first = PolicyVersion { tenant: id, version: policy_version, policy, made_at: created_at };
        self.noted(note, move |rows| {
            rows.insert(&tenant)?;
            rows.insert(&first)
        })
    }

    fn put_policy(&self, new: PolicyVersion, note: Note) -> Result<u64, StoreError> {
        self.noted(note, move |rows| {
            rows.insert(&new)?;
            let PolicyVersion { tenant, version, policy, .. } = new;
            change_tenant(rows, &tenant, |found| (found.policy, found.policy_version) = (policy, version))
        })
    }

    fn policies(&self, tenant: &TenantId, from: u32, count: usize) -> Result<Vec<PolicyVersion>, StoreError> {
        let values = [of(tenant), Value::number(from), count_of(count)];
        self.0.read(*tenant, move |rows| {
            rows.select("WHERE tenant = $1 AND version >= $2 ORDER BY version LIMIT $3", &values)
        })
    }

    fn add_api_key(&self, key: ApiKey, note: Note) -> Result<u64, StoreError> {
        self.noted(note, move |rows| {
            match rows.one::<ApiKey>("WHERE id = $1", &[Value::bytes(*key.id.as_bytes())])? {
                Some(_) => Err(StoreError::Conflict),
                None => rows.insert(&key),
            }
        })
    }

    fn revoke_api_key(&self, id: &ApiKeyId, at: u64, note: Note) -> Result<u64, StoreError> {
        let id = Value::bytes(*id.as_bytes());
        self.noted(note, move |rows| match rows.one::<ApiKey>("WHERE id = $1", &[id])? {
            Some(key) if key.revoked_at.is_none() => rows.update(&ApiKey { revoked_at: Some(at), ..key }),
            _ => Ok(()),
        })
    }

    fn note_api_key_uses(&self, uses: Vec<(ApiKeyId, u64)>) -> Result<(), StoreError> {
        self.0.write(All, move |rows| {
            for (id, at) in uses {
                let found = rows.one::<ApiKey>("WHERE id = $1", &[Value::bytes(*id.as_bytes())])?;
                if let Some(key) = found.filter(|key| key.last_used_at.is_none_or(|before| before < at)) {
                    rows.update(&ApiKey { last_used_at: Some(at), ..key })?;
                }
            }
            Ok(())
        })
    }

    fn add_usage(&self, write: UsageWrite, more: Vec<Usage>, oldest_day: u64) -> Result<(), StoreError> {
        self.0.write(All, move |rows| {
            if !usage::note(rows, write)? {
                return Ok(());
            }
            for added in more {
                let key =
                    [of(&added.tenant), Value::bytes(*added.api_key.as_bytes()), Value::number(added.day)];
                let before: Option<Usage> = rows.get(&key)?;
                let counts = before.map_or(added.counts, |before| before.counts.plus(&added.counts));
                rows.put(&Usage { counts, ..added })?;
            }
            rows.delete::<Usage>("day < $1", &[Value::bound(oldest_day)]).map(drop)
        })
    }

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
        let values = [of(tenant), Value::bytes(*from.as_bytes()), Value::bound(since_day), count_of(keys)];
        self.0.read(*tenant, move |rows| rows.select(sql, &values))
    }

    fn set_tenant_disabled(&self, tenant: &TenantId, at: Option<u64>, note: Note) -> Result<u64, StoreError> {
        let tenant = *tenant;
        self.noted(note, move |rows| change_tenant(rows, &tenant, |found| found.disabled_at = at))
    }

    fn delete_tenant(&self, tenant: &TenantId, at: u64, note: Note) -> Result<u64, StoreError> {
        let tenant = *tenant;
        self.0.write_long(All, move |rows| {
            rows.change_registry(tenant)?;
            let (its, key) = ("tenant = $1", [of(&tenant)]);
            rows.delete::<Enrolled>(its, &key)?;
            rows.delete::<Bytes>(its, &key)?;
            rows.delete::<Generation>(its, &key)?;
            rows.delete::<Session>(its, &key)?;
            rows.delete::<Idempotency>(its, &key)?;
            rows.delete::<ApiKey>(its, &key)?;
            rows.delete::<PolicyVersion>(its, &key)?;
            rows.delete::<Usage>(its, &key)?;
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
            })?;
            add_note(rows, note)
        })
    }

    fn put_operator(
        &self,
        operator: Operator,
        token: Option<OperatorToken>,
        note: Note,
    ) -> Result<u64, StoreError> {
        self.noted(note, move |rows| {
            put_operator(rows, &operator)?;
            token.map_or(Ok(()), |token| put_token(rows, &token))
        })
    }

    fn put_operator_token(&self, token: OperatorToken, note: Note) -> Result<u64, StoreError> {
        self.noted(note, move |rows| put_token(rows, &token))
    }

    fn note(&self, note: Note) -> Result<u64, StoreError> {
        self.0.write(All, move |rows| add_note(rows, note))
    }

    fn created(
        &self,
        operator: &OperatorId,
        key: &str,
    ) -> Result<Option<([u8; 32], AuditEntry)>, StoreError> {
        let key = [Value::bytes(*operator.as_bytes()), Value::bytes(key)];
        self.0.read(All, move |rows| {
            let Some(made) = rows.get::<Create>(&key)? else { return Ok(None) };
            let entry: Option<AuditEntry> = rows.get(&[Value::number(made.entry)])?;
            Ok(entry.map(|entry| (made.request_digest, entry)))
        })
    }

    fn seal_note(&self, number: u64, receipt: Vec<u8>) -> Result<(), StoreError> {
        self.0.write(All, move |rows| match rows.get::<AuditEntry>(&[Value::bound(number)])? {
            Some(entry) if entry.receipt.is_none() => {
                rows.update_only(&AuditEntry { receipt: Some(receipt), ..entry }, "receipt")
            }
            _ => Ok(()),
        })
    }

    fn audit(
        &self,
        from: u64,
        tenant: Option<&TenantId>,
        count: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let scope = tenant.map_or(All, |tenant| Scope::from(*tenant));
        let (from, count, tenant) = (Value::bound(from), count_of(count), tenant.map(of));
        self.0.read(scope, move |rows| match &tenant {
            None => {
                rows.select("WHERE number >= $1 ORDER BY number LIMIT $2", &[from.clone(), count.clone()])
            }
            Some(tenant) => rows.select(
                "WHERE tenant = $1 AND number >= $2 ORDER BY number LIMIT $3",
                &[tenant.clone(), from.clone(), count.clone()],
            ),
        })
    }

    fn unsealed_notes(&self, count: usize) -> Result<Vec<AuditEntry>, StoreError> {
        let count = [count_of(count)];
        self.0.read(All, move |rows| rows.select("WHERE receipt IS NULL ORDER BY number LIMIT $1", &count))
    }

    fn publish_root(&self, root: Root) -> Result<(), StoreError> {
        self.0.write(root.tenant, move |rows| {
            rows.change_registry(root.tenant)?;
            let later = [of(&root.tenant), Value::number(root.generation)];
            match rows.one::<Root>("WHERE tenant = $1 AND generation >= $2", &later)? {
                Some(_) => Err(StoreError::Conflict),
                None => rows.insert(&root),
            }
        })
    }

    fn roots(&self, tenant: &TenantId, from: u32, count: usize) -> Result<Vec<Root>, StoreError> {
        let values = [of(tenant), Value::number(from), count_of(count)];
        self.0.read(*tenant, move |rows| {
            rows.select("WHERE tenant = $1 AND generation >= $2 ORDER BY generation LIMIT $3", &values)
        })
    }

    fn add_issuer_key(&self, key: IssuerKey, note: Note) -> Result<u64, StoreError> {
        self.noted(note, move |rows| rows.insert(&key))
    }

    fn reserve_generation(&self, tenant: &TenantId, handle: &Handle) -> Result<u32, StoreError> {
        let (tenant, handle) = (*tenant, *handle);
        self.0.write(tenant, move |rows| match enrolled(rows, &tenant, &handle)? {
            Some(_) => Err(StoreError::Conflict),
            None => {
                let generation = next_generation(rows, tenant, handle)?;
                rows.insert(&TemplateName { tenant, handle, generation })?;
                Ok(generation)
            }
        })
    }

    fn enrol(&self, template: Template, answer: Idempotency) -> Result<bool, StoreError> {
        self.0.write(template.tenant, move |rows| {
            check_keys(rows, &template)?;
            let Template { tenant, handle, generation, .. } = template;
            if !forget(rows, &TemplateName { tenant, handle, generation })? {
                return Ok(false);
            }
            let (own, bytes) = Enrolled::of(template);
            rows.insert(&own)?;
            rows.put(&bytes)?;
            rows.insert(&answer)?;
            Ok(true)
        })
    }

    fn set_tenant_keys(
        &self,
        tenant: &TenantId,
        public_key: Vec<u8>,
        next_key: Option<Vec<u8>>,
        note: Note,
    ) -> Result<u64, StoreError> {
        let tenant = *tenant;
        self.noted(note, move |rows| {
            change_tenant(rows, &tenant, |found| (found.public_key, found.next_key) = (public_key, next_key))
        })
    }

    fn count_epoch(&self, tenant: &TenantId, epoch: u32) -> Result<u64, StoreError> {
        let values = [of(tenant), Value::number(epoch)];
        let sql = "SELECT count(*) FROM templates WHERE tenant = $1 AND epoch = $2";
        self.0.read_long(*tenant, move |rows| Ok(rows.number(sql, &values)?.unwrap_or(0)))
    }

    fn subjects_of_epoch(
        &self,
        tenant: &TenantId,
        epoch: u32,
        count: usize,
    ) -> Result<Vec<Handle>, StoreError> {
        let values = [of(tenant), Value::number(epoch), count_of(count)];
        self.0.read(*tenant, move |rows| {
            let found: Vec<Enrolled> =
                rows.select("WHERE tenant = $1 AND epoch = $2 AND revoked_at IS NULL LIMIT $3", &values)?;
            Ok(found.into_iter().map(|found| found.handle).collect())
        })
    }

    fn reserve_renewal(&self, tenant: &TenantId, handle: &Handle) -> Result<u32, StoreError> {
        let (tenant, handle) = (*tenant, *handle);
        self.0.write(tenant, move |rows| match enrolled(rows, &tenant, &handle)? {
            Some(_) => next_generation(rows, tenant, handle),
            None => Err(StoreError::Conflict),
        })
    }

    fn renew_template(&self, template: Template, from: u32) -> Result<bool, StoreError> {
        self.0.write(template.tenant, move |rows| {
            let found = enrolled(rows, &template.tenant, &template.handle)?;
            let is_it = |found: &Enrolled| found.generation == from && found.revoked_at.is_none();
            let Some(found) = found.filter(is_it) else { return Ok(false) };
            let (new, bytes) = Enrolled::of(template);
            let Enrolled { consent_ref, created_at, .. } = found;
            rows.update(&Enrolled { consent_ref, created_at, ..new })?;
            rows.update(&bytes)?;
            rows.tell(bytes.tenant, Item::Subject(bytes.handle))?;
            Ok(true)
        })
    }

    fn reserve_replacement(&self, tenant: &TenantId, handle: &Handle) -> Result<(u32, Present), StoreError> {
        let (tenant, handle) = (*tenant, *handle);
        self.0.write(tenant, move |rows| {
            let found = enrolled(rows, &tenant, &handle)?.ok_or(StoreError::Conflict)?;
            let next = next_generation(rows, tenant, handle)?;
            rows.insert(&TemplateName { tenant, handle, generation: next })?;
            let Enrolled { generation, revoked_at, .. } = found;
            Ok((next, Present { generation, revoked_at }))
        })
    }

    fn replace_template(
        &self,
        template: Template,
        from: Present,
        answer: Idempotency,
    ) -> Result<bool, StoreError> {
        self.0.write(template.tenant, move |rows| {
            let Template { tenant, handle, generation, .. } = template;
            let found = enrolled(rows, &tenant, &handle)?;
            let is_it =
                |found: &Enrolled| (found.generation, found.revoked_at) == (from.generation, from.revoked_at);
            if !found.as_ref().is_some_and(is_it) {
                return Ok(false);
            }
            // Without the note the key-holder may have forgotten the new generation.
            if !forget(rows, &TemplateName { tenant, handle, generation })? {
                return Ok(false);
            }
            check_keys(rows, &template)?;
            // From now on the old generation is the leftover. A revocation may have noted it already.
            rows.put(&TemplateName { tenant, handle, generation: from.generation })?;
            // Without a time of revocation, which ends it.
            let (new, bytes) = Enrolled::of(template);
            rows.update(&new)?;
            rows.update(&bytes)?;
            rows.tell(tenant, Item::Subject(handle))?;
            rows.insert(&answer)?;
            Ok(true)
        })
    }

    fn revoke_subject(
        &self,
        tenant: &TenantId,
        handle: &Handle,
        at: u64,
    ) -> Result<Option<Revocation>, StoreError> {
        let (tenant, handle) = (*tenant, *handle);
        self.0.write(tenant, move |rows| {
            let Some(found) = enrolled(rows, &tenant, &handle)? else { return Ok(None) };
            let generation = found.generation;
            if let Some(revoked_at) = found.revoked_at {
                return Ok(Some(Revocation { generation, revoked_at }));
            }
            rows.update(&Enrolled { revoked_at: Some(at), ..found })?;
            rows.tell(tenant, Item::Subject(handle))?;
            rows.insert(&TemplateName { tenant, handle, generation })?;
            Ok(Some(Revocation { generation, revoked_at: at }))
        })
    }

    fn leftovers(&self) -> Result<Vec<TemplateName>, StoreError> {
        self.0.read_long(All, |rows| rows.select("ORDER BY tenant, handle, generation", &[]))
    }

    fn forget_leftover(&self, name: &TemplateName) -> Result<(), StoreError> {
        let name = *name;
        self.0.write(name.tenant, move |rows| forget(rows, &name).map(drop))
    }

    fn template(&self, tenant: &TenantId, handle: &Handle) -> Result<Option<Template>, StoreError> {
        let (tenant, handle) = (*tenant, *handle);
        self.0.read(tenant, move |rows| {
            // Between the two reads the template may be replaced, or deleted and enrolled again.
            for _ in 0..8 {
                let found = enrolled(rows, &tenant, &handle)?.filter(|found| found.revoked_at.is_none());
                let Some(found) = found else { return Ok(None) };
                let bytes: Option<Bytes> = rows.get(&subject(&tenant, &handle))?;
                if let Some(bytes) = bytes.filter(|bytes| bytes.generation == found.generation) {
                    return Ok(Some(found.with(bytes.wrapped)));
                }
            }
            Err(StoreError::Forged("the bytes of a template are missing, or another generation's".to_owned()))
        })
    }

    fn subjects(&self, tenant: &TenantId, from: &Handle, count: usize) -> Result<Vec<Subject>, StoreError> {
        let [key, from] = subject(tenant, from);
        let values = [key, from, count_of(count)];
        self.0.read(*tenant, move |rows| {
            let found: Vec<Enrolled> =
                rows.select("WHERE tenant = $1 AND handle >= $2 ORDER BY handle LIMIT $3", &values)?;
            Ok(found.into_iter().map(Enrolled::subject).collect())
        })
    }

    fn delete_template(&self, tenant: &TenantId, handle: &Handle) -> Result<Option<u32>, StoreError> {
        let (tenant, handle) = (*tenant, *handle);
        self.0.write(tenant, move |rows| {
            let Some(found) = enrolled(rows, &tenant, &handle)? else { return Ok(None) };
            let key = subject(&tenant, &handle);
            rows.delete::<Enrolled>(&Enrolled::TABLE.keyed(), &key)?;
            rows.delete::<Bytes>(&Bytes::TABLE.keyed(), &key)?;
            rows.tell(tenant, Item::Subject(handle))?;
            Ok(Some(found.generation))
        })
    }

    fn put_sessions(&self, sessions: Vec<Session>) -> Result<bool, StoreError> {
        let mut tenants = sessions.iter().map(|session| session.tenant);
        let first = tenants.next();
        let one = first.filter(|first| tenants.all(|tenant| tenant == *first));
        self.0.write(one.map_or(All, Scope::from), move |rows| {
            let live = "length(sessions.wrapped) > 0 OR length(excluded.wrapped) = 0";
            sessions.iter().try_fold(true, |all, session| {
                if session.wrapped.is_empty() {
                    rows.tell(session.tenant, Item::Session(session.id))?;
                }
                Ok(all & rows.put_where(session, live)?)
            })
        })
    }

    fn session(&self, tenant: &TenantId, id: &SessionId) -> Result<Option<Session>, StoreError> {
        let key = [of(tenant), Value::bytes(*id.as_bytes())];
        self.0.read(*tenant, move |rows| rows.get(&key))
    }

    fn count_sessions(&self, now: u64) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM sessions WHERE expires_at > $1 AND length(wrapped) > 0";
        let now = [Value::bound(now)];
        self.0.read(All, move |rows| Ok(rows.number(sql, &now)?.unwrap_or(0)))
    }

    fn live_sessions(
        &self,
        tenant: &TenantId,
        after: Option<&SessionId>,
        now: u64,
        limit: usize,
    ) -> Result<Vec<Session>, StoreError> {
        let after: &[u8] = after.map_or(&[], |after| after.as_bytes());
        let values = [of(tenant), Value::bytes(after), Value::bound(now), count_of(limit)];
        let sql = "WHERE tenant = $1 AND id > $2 AND expires_at > $3 ORDER BY id LIMIT $4";
        self.0.read(*tenant, move |rows| rows.select(sql, &values))
    }

    fn idempotency(&self, tenant: &TenantId, key: &str) -> Result<Option<Idempotency>, StoreError> {
        let key = [of(tenant), Value::bytes(key)];
        self.0.read(*tenant, move |rows| rows.get(&key))
    }

    fn expire(&self, now: u64, idempotency_before: u64) -> Result<(), StoreError> {
        self.0.write_long(All, move |rows| {
            // A node whose clock is ahead of the database's removes nothing early.
            let clock = rows.number("SELECT extract(epoch FROM now())::bigint", &[])?.unwrap_or(0);
            let ahead = now.saturating_sub(clock);
            let [now, before, old] = [now, idempotency_before, now.saturating_sub(fleet::KEPT_S)]
                .map(|time| [Value::bound(time.saturating_sub(ahead))]);
            rows.delete::<Session>("expires_at < $1", &now)?;
            rows.delete::<Idempotency>("created_at < $1", &before)?;
            rows.delete::<Create>("created_at < $1", &before)?;
            rows.delete::<Change>("at < $1", &old).map(drop)
        })
    }

    fn remove_sessions(&self) -> Result<(), StoreError> {
        self.0.write_long(All, |rows| rows.delete::<Session>("true", &[]).map(drop))
    }

    fn put_seal(&self, number: u64, bytes: Vec<u8>, completed: Vec<Hash>) -> Result<(), StoreError> {
        self.0.write(All, move |rows| {
            match rows.insert(&Seal { number, bytes: bytes.clone() }) {
                // It is stored, and the answer was lost.
                Err(StoreError::Conflict)
                    if rows.get::<Seal>(&[Value::bound(number)])?.is_some_and(|seal| seal.bytes == bytes) =>
                {
                    return Ok(());
                }
                other => other?,
            }
            (0_u8..)
                .zip(completed)
                .try_for_each(|(level, hash)| rows.insert(&LogNode { level, number: number >> level, hash }))
        })
    }

    fn seal(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.read(All, move |rows| Ok(rows.get::<Seal>(&[Value::bound(number)])?.map(|seal| seal.bytes)))
    }

    fn last_seal(&self) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        self.0.read(All, |rows| {
            let newest: Option<Seal> = rows.one("ORDER BY number DESC", &[])?;
            Ok(newest.map(|Seal { number, bytes }| (number, bytes)))
        })
    }

    fn prune_seals(&self, headers: Vec<(u64, Vec<u8>)>) -> Result<(), StoreError> {
        self.0.write(All, move |rows| {
            headers.into_iter().try_for_each(|(number, bytes)| rows.prune(&Seal { number, bytes }))
        })
    }

    fn last_pruned(&self) -> Result<Option<u64>, StoreError> {
        let newest =
            "SELECT number FROM seals WHERE length(bytes)::bigint <= $1 ORDER BY number DESC LIMIT 1";
        self.0.read_long(All, move |rows| rows.number(newest, &[Value::bound(PRUNED_BYTES_MAX as u64)]))
    }

    fn unpruned_after(&self, number: u64) -> Result<Option<u64>, StoreError> {
        let values = [Value::bound(number), Value::bound(PRUNED_BYTES_MAX as u64)];
        let next = "SELECT number FROM seals WHERE number > $1 AND length(bytes)::bigint > $2 ORDER BY number LIMIT 1";
        self.0.read(All, move |rows| rows.number(next, &values))
    }

    /// The server reuses the space, see autovacuum.
    fn shrink(&self, _kept: u64) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn put_cosignature(&self, size: u64, witness: String, line: String) -> Result<(), StoreError> {
        self.0.write(All, move |rows| rows.insert(&Cosignature { size, witness, line }))
    }

    fn cosignatures(&self, size: u64) -> Result<Vec<String>, StoreError> {
        self.0.read(All, move |rows| {
            let found: Vec<Cosignature> =
                rows.select("WHERE size = $1 ORDER BY witness", &[Value::bound(size)])?;
            Ok(found.into_iter().map(|found| found.line).collect())
        })
    }

    fn last_cosigned(&self) -> Result<Option<u64>, StoreError> {
        self.0.read(All, |rows| {
            let newest: Option<Cosignature> = rows.one("ORDER BY size DESC", &[])?;
            Ok(newest.map(|newest| newest.size))
        })
    }

    fn put_restoration(&self, restoration: Restoration) -> Result<(), StoreError> {
        self.0.write(All, move |rows| rows.insert(&restoration))
    }

    fn last_restoration(&self) -> Result<Option<Restoration>, StoreError> {
        self.0.read(All, |rows| rows.one("ORDER BY restored_at DESC", &[]))
    }

    fn put_accepted_clock(&self, accepted: AcceptedClock) -> Result<(), StoreError> {
        self.0.write(All, move |rows| rows.insert(&accepted))
    }

    fn accepted_clocks(&self) -> Result<Vec<AcceptedClock>, StoreError> {
        self.0.read(All, |rows| rows.select("ORDER BY id", &[]))
    }

    fn log_node(&self, level: u8, number: u64) -> Result<Option<Hash>, StoreError> {
        let key = [Value::number(level), Value::bound(number)];
        self.0.read(All, move |rows| Ok(rows.get::<LogNode>(&key)?.map(|node| node.hash)))
    }
}
