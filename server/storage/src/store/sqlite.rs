//! The store of a single node: SQLite.

mod administration;
mod rows;

use super::operations::Store;
use super::records::{
    AcceptedClock, ApiKey, AuditEntry, Idempotency, IssuerKey, Note, Operator, OperatorToken,
    PRUNED_BYTES_MAX, PolicyVersion, Present, Registry, Revocation, Root, Session, Subject, Template, Tenant,
    Usage, UsageCounts, UsageWrite,
};
use crate::Supervisor;
use crate::data_dir::DatabaseFile;
use crate::database::{Count, Database, RowKey, StoreError, check_copy, fault};
use rows::{
    all, check_keys, delete_leftover, execute, insert_answer, insert_leftover, insert_policy, present,
    put_session, read_api_key, read_issuer_key, read_policy, read_root, read_session, read_subject,
    read_template, read_tenant, read_usage,
};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use std::path::Path;
use trefoil_attest::Restoration;
use trefoil_attest::tree::Hash;
use trefoil_matching::{TemplateName, VaultState};
use trefoil_types::{ApiKeyId, Handle, OperatorId, SessionId, TenantId};

/// The version of the tables, and of no others that a file may have.
pub const VERSION: i64 = 1;
const SCHEMA: &str = include_str!("schema.sql");

/// See the module.
pub struct Sqlite(pub(super) Database);

impl Sqlite {
    /// Opens or creates the file; `secret` authenticates its rows.
    ///
    /// # Errors
    /// [`StoreError::Altered`] when another program wrote to the file.
    pub fn open(path: &Path, secret: &[u8; 32]) -> Result<Sqlite, StoreError> {
        Sqlite::open_under(&Supervisor::default(), path, secret)
    }

    /// As [`Sqlite::open`], for a process that ends when the writing thread panics.
    ///
    /// # Errors
    /// As [`Sqlite::open`].
    pub fn open_under(
        supervisor: &Supervisor,
        file: impl Into<DatabaseFile>,
        secret: &[u8; 32],
    ) -> Result<Sqlite, StoreError> {
        let database = Database::open(file, VERSION, SCHEMA, RowKey::of(secret), supervisor)?;
        database.refuse_older()?;
        Ok(Sqlite(database))
    }

    /// See [`Database::look`].
    ///
    /// # Errors
    /// As [`Sqlite::open`].
    pub fn look(path: &Path, reached: u64, secret: &[u8; 32]) -> Result<Sqlite, StoreError> {
        let database = Database::look(path, reached, VERSION, SCHEMA, RowKey::of(secret))?;
        database.refuse_older()?;
        Ok(Sqlite(database))
    }

    /// Checks a copy that no process has open; `secret` authenticates its rows.
    ///
    /// # Errors
    /// As [`Sqlite::open`].
    pub fn check_copy(path: &Path, secret: &[u8; 32]) -> Result<VaultState, StoreError> {
        check_copy(path, VERSION, SCHEMA, RowKey::of(secret))
    }

    /// One change; an insertion conflicts when its key exists.
    fn change<P: Params + Send + 'static>(&self, sql: &'static str, values: P) -> Result<(), StoreError> {
        self.0.write(move |connection| execute(connection, sql, values).map(drop))
    }

    /// One change by an operator. Returns the number of its entry in the audit trail.
    fn noted<P: Params + Send + 'static>(
        &self,
        sql: &'static str,
        values: P,
        note: Note,
    ) -> Result<u64, StoreError> {
        self.0.write(move |connection| {
            execute(connection, sql, values)?;
            administration::insert(connection, note)
        })
    }

    fn find<P: Params, T>(
        &self,
        sql: &str,
        values: P,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        self.0.read(|connection| connection.prepare_cached(sql)?.query_row(values, read).optional())
    }
}

/// The last clock that an operator accepted.
pub const LAST_ACCEPTED_CLOCK: &str = "SELECT * FROM accepted_clocks ORDER BY id DESC LIMIT 1";

/// A clock that an operator accepted, from its row.
pub fn accepted_clock(row: &Row<'_>) -> rusqlite::Result<AcceptedClock> {
    let (id, first, at, from, until) = row.try_into()?;
    Ok(AcceptedClock { id, first, at, from, until })
}

/// The size of a page of the file.
const PAGE_BYTES: u64 = 16_384;
/// Pages that one transaction returns.
const FREE_PAGES_STEP: u64 = 64;

impl Store for Sqlite {
    fn count(&self) -> Count {
        self.0.count()
    }

    fn follow(&self, vault: Count) -> u64 {
        self.0.follow(vault);
        self.0.seen()
    }

    fn checkpoint(&self) -> Result<(), StoreError> {
        self.0.checkpoint()
    }

    fn registry(&self) -> Result<Registry, StoreError> {
        self.0.read(|connection| {
            let tenants = all(connection, "SELECT * FROM tenants ORDER BY id", read_tenant)?;
            let api_keys = all(connection, "SELECT * FROM api_keys ORDER BY id", read_api_key)?;
            let accepted = "SELECT * FROM roots AS r
                WHERE generation >= (SELECT generation_min FROM roots WHERE tenant = r.tenant
                                     ORDER BY generation DESC LIMIT 1)
                ORDER BY tenant, generation";
            let roots = all(connection, accepted, read_root)?;
            let keys = "SELECT * FROM issuer_keys ORDER BY tenant, number";
            let issuer_keys = all(connection, keys, read_issuer_key)?;
            let (operators, operator_tokens) = administration::operators(connection)?;
            Ok(Registry { tenants, api_keys, roots, issuer_keys, operators, operator_tokens })
        })
    }

    fn create_tenant(&self, tenant: Tenant, note: Note) -> Result<u64, StoreError> {
        let Tenant { id, name, policy, policy_version, public_key, next_key, .. } = tenant;
        let Tenant { wrapped_key, created_at, disabled_at, deleted_at, .. } = tenant;
        let first = PolicyVersion { tenant: id, version: policy_version, policy, made_at: created_at };
        self.0.write(move |connection| {
            let values = params![
                id.as_bytes(),
                name,
                first.policy,
                policy_version,
                public_key,
                next_key,
                wrapped_key,
                created_at,
                disabled_at,
                deleted_at
            ];
            execute(connection, "INSERT INTO tenants VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)?;
            insert_policy(connection, &first)?;
            administration::insert(connection, note)
        })
    }

    fn put_policy(&self, new: PolicyVersion, note: Note) -> Result<u64, StoreError> {
        self.0.write(move |connection| {
            insert_policy(connection, &new)?;
            let PolicyVersion { tenant, version, policy, .. } = new;
            let sql = "UPDATE tenants SET policy = ?, policy_version = ? WHERE id = ?";
            execute(connection, sql, (policy, version, tenant.as_bytes()))?;
            administration::insert(connection, note)
        })
    }

    fn policies(&self, tenant: &TenantId, from: u32, count: usize) -> Result<Vec<PolicyVersion>, StoreError> {
        self.0.read(|connection| {
            let sql = "SELECT * FROM policies WHERE tenant = ? AND version >= ? ORDER BY version LIMIT ?";
            let mut statement = connection.prepare_cached(sql)?;
            statement.query_map((tenant.as_bytes(), from, count as u64), read_policy)?.collect()
        })
    }

    fn add_api_key(&self, key: ApiKey, note: Note) -> Result<u64, StoreError> {
        let ApiKey { id, tenant, tag, scopes, created_at, label, expires_at, revoked_at, last_used_at } = key;
        let values = (
            id.to_bytes(),
            tenant.to_bytes(),
            tag,
            scopes,
            created_at,
            label,
            expires_at,
            revoked_at,
            last_used_at,
        );
        self.noted("INSERT INTO api_keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values, note)
    }

    fn revoke_api_key(&self, id: &ApiKeyId, at: u64, note: Note) -> Result<u64, StoreError> {
        let sql = "UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL";
        self.noted(sql, (at, id.to_bytes()), note)
    }

    fn note_api_key_uses(&self, uses: Vec<(ApiKeyId, u64)>) -> Result<(), StoreError> {
        let sql = "UPDATE api_keys SET last_used_at = ?1 WHERE id = ?2 AND coalesce(last_used_at, -1) < ?1";
        self.0.write(move |connection| {
            uses.into_iter().try_for_each(|(id, at)| execute(connection, sql, (at, id.as_bytes())).map(drop))
        })
    }

    fn add_usage(&self, _: UsageWrite, more: Vec<Usage>, oldest_day: u64) -> Result<(), StoreError> {
        let add = "INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
            matched = matched + excluded.matched, not_matched = not_matched + excluded.not_matched,
            enrolments = enrolments + excluded.enrolments, refusals = refusals + excluded.refusals";
        self.0.write(move |connection| {
            for Usage { tenant, api_key, day, counts } in more {
                let UsageCounts { matched, not_matched, enrolments, refusals } = counts;
                let (tenant, api_key) = (tenant.as_bytes(), api_key.as_bytes());
                let values = params![tenant, api_key, day, matched, not_matched, enrolments, refusals];
                execute(connection, add, values)?;
            }
            execute(connection, "DELETE FROM usage WHERE day < ?", [oldest_day]).map(drop)
        })
    }

    fn usage(
        &self,
        tenant: &TenantId,
        from: ApiKeyId,
        since_day: u64,
        keys: usize,
    ) -> Result<Vec<Usage>, StoreError> {
        let sql = "SELECT * FROM usage WHERE tenant = ?1 AND day >= ?3 AND api_key IN (
                SELECT DISTINCT api_key FROM usage WHERE tenant = ?1 AND api_key >= ?2 AND day >= ?3
                ORDER BY api_key LIMIT ?4
            ) ORDER BY api_key, day";
        self.0.read(|connection| {
            let values = (tenant.as_bytes(), from.as_bytes(), since_day, keys as u64);
            connection.prepare_cached(sql)?.query_map(values, read_usage)?.collect()
        })
    }

    fn set_tenant_disabled(&self, tenant: &TenantId, at: Option<u64>, note: Note) -> Result<u64, StoreError> {
        self.noted("UPDATE tenants SET disabled_at = ? WHERE id = ?", (at, tenant.to_bytes()), note)
    }

    fn delete_tenant(&self, tenant: &TenantId, at: u64, note: Note) -> Result<u64, StoreError> {
        let tenant = *tenant;
        self.0.shred(move |connection| {
            administration::delete_tenant(connection, &tenant, at)?;
            administration::insert(connection, note)
        })
    }

    fn put_operator(
        &self,
        operator: Operator,
        token: Option<OperatorToken>,
        note: Note,
    ) -> Result<u64, StoreError> {
        self.0.write(move |connection| {
            administration::put_operator(connection, operator)?;
            token.map_or(Ok(()), |token| administration::put_token(connection, token))?;
            administration::insert(connection, note)
        })
    }

    fn put_operator_token(&self, token: OperatorToken, note: Note) -> Result<u64, StoreError> {
        self.0.write(move |connection| {
            administration::put_token(connection, token)?;
            administration::insert(connection, note)
        })
    }

    fn note(&self, note: Note) -> Result<u64, StoreError> {
        self.0.write(move |connection| administration::insert(connection, note))
    }

    fn created(
        &self,
        operator: &OperatorId,
        key: &str,
    ) -> Result<Option<([u8; 32], AuditEntry)>, StoreError> {
        self.0.read(|connection| administration::created(connection, operator, key))
    }

    fn seal_note(&self, number: u64, receipt: Vec<u8>) -> Result<(), StoreError> {
        self.change("UPDATE audit SET receipt = ? WHERE number = ? AND receipt IS NULL", (receipt, number))
    }

    fn audit(
        &self,
        from: u64,
        tenant: Option<&TenantId>,
        count: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        self.0.read(|connection| administration::audit(connection, from, tenant, count))
    }

    fn unsealed_notes(&self, count: usize) -> Result<Vec<AuditEntry>, StoreError> {
        self.0.read(|connection| administration::unsealed(connection, count))
    }

    fn publish_root(&self, root: Root) -> Result<(), StoreError> {
        let Root { tenant, root, generation, generation_min, statement, signature, published_at } = root;
        self.0.write(move |connection| {
            let inserted = execute(
                connection,
                "INSERT INTO roots SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
                 WHERE NOT EXISTS (SELECT 1 FROM roots WHERE tenant = ?1 AND generation >= ?2)",
                params![
                    tenant.as_bytes(),
                    generation,
                    root,
                    generation_min,
                    statement,
                    signature,
                    published_at
                ],
            )?;
            if inserted == 1 { Ok(()) } else { Err(StoreError::Conflict) }
        })
    }

    fn roots(&self, tenant: &TenantId, from: u32, count: usize) -> Result<Vec<Root>, StoreError> {
        self.0.read(|connection| {
            let sql = "SELECT * FROM roots WHERE tenant = ? AND generation >= ? ORDER BY generation LIMIT ?";
            let mut statement = connection.prepare_cached(sql)?;
            statement.query_map((tenant.as_bytes(), from, count as u64), read_root)?.collect()
        })
    }

    fn add_issuer_key(&self, key: IssuerKey, note: Note) -> Result<u64, StoreError> {
        let IssuerKey { tenant, number, key, registered_at } = key;
        let values = (tenant.to_bytes(), number, key, registered_at);
        self.noted("INSERT INTO issuer_keys VALUES (?, ?, ?, ?)", values, note)
    }

    fn reserve_generation(&self, tenant: &TenantId, handle: &Handle) -> Result<u32, StoreError> {
        let (tenant, handle) = (*tenant, *handle);
        self.0.write(move |connection| {
            let generation = connection
                .query_row(
                    "INSERT INTO generations SELECT ?1, ?2, 1
                     WHERE NOT EXISTS (SELECT 1 FROM templates WHERE tenant = ?1 AND handle = ?2)
                     ON CONFLICT DO UPDATE SET generation = generation + 1 RETURNING generation",
                    params![tenant.as_bytes(), handle.as_bytes()],
                    |row| row.get(0),
                )
                .optional()
                .map_err(fault)?
                .ok_or(StoreError::Conflict)?;
            insert_leftover(connection, &TemplateName { tenant, handle, generation })?;
            Ok(generation)
        })
    }

    fn enrol(&self, template: Template, answer: Idempotency) -> Result<bool, StoreError> {
        let Template {
            tenant,
            handle,
            generation,
            lane,
            epoch,
            wrapped_key,
            wrapped,
            consent_ref,
            created_at,
        } = template;
        self.0.write(move |connection| {
            if !delete_leftover(connection, &TemplateName { tenant, handle, generation })? {
                return Ok(false);
            }
            check_keys(connection, &tenant, epoch)?;
            execute(
                connection,
                "INSERT INTO templates VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    tenant.as_bytes(),
                    handle.as_bytes(),
                    generation,
                    lane,
                    epoch,
                    wrapped_key,
                    consent_ref,
                    created_at,
                    wrapped
                ],
            )?;
            insert_answer(connection, answer)?;
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
        let tenant = tenant.to_bytes();
        // With a checkpoint: at the end of a rotation the wrapped keys of old templates are gone from the log too.
        self.0.shred(move |connection| {
            let sql = "UPDATE tenants SET public_key = ?, next_key = ? WHERE id = ?";
            execute(connection, sql, (public_key, next_key, tenant))?;
            administration::insert(connection, note)
        })
    }

    fn count_epoch(&self, tenant: &TenantId, epoch: u32) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM templates WHERE tenant = ? AND epoch = ?";
        Ok(self.find(sql, (tenant.as_bytes(), epoch), |row| row.get(0))?.unwrap_or(0))
    }

    fn subjects_of_epoch(
        &self,
        tenant: &TenantId,
        epoch: u32,
        count: usize,
    ) -> Result<Vec<Handle>, StoreError> {
        self.0.read(|connection| {
            let sql = "SELECT handle FROM templates AS t WHERE tenant = ? AND epoch = ? AND NOT EXISTS (
                           SELECT 1 FROM revocations AS r WHERE r.tenant = t.tenant AND r.handle = t.handle
                       ) LIMIT ?";
            let mut statement = connection.prepare_cached(sql)?;
            statement
                .query_map((tenant.as_bytes(), epoch, count as u64), |row| row.get(0).map(Handle::new))?
                .collect()
        })
    }

    fn reserve_renewal(&self, tenant: &TenantId, handle: &Handle) -> Result<u32, StoreError> {
        let (tenant, handle) = (tenant.to_bytes(), handle.to_bytes());
        self.0.write(move |connection| {
            connection
                .query_row(
                    "UPDATE generations SET generation = generation + 1 WHERE tenant = ?1 AND handle = ?2
                     AND EXISTS (SELECT 1 FROM templates WHERE tenant = ?1 AND handle = ?2) RETURNING generation",
                    params![tenant, handle],
                    |row| row.get(0),
                )
                .optional()
                .map_err(fault)?
                .ok_or(StoreError::Conflict)
        })
    }

    fn renew_template(&self, template: Template, from: u32) -> Result<bool, StoreError> {
        let Template { tenant, handle, generation, lane, epoch, wrapped_key, wrapped, .. } = template;
        self.0.write(move |connection| {
            let renewed = execute(
                connection,
                "UPDATE templates SET generation = ?1, lane = ?2, epoch = ?3, wrapped_key = ?4, wrapped = ?5
                 WHERE tenant = ?6 AND handle = ?7 AND generation = ?8
                 AND NOT EXISTS (SELECT 1 FROM revocations WHERE tenant = ?6 AND handle = ?7)",
                params![
                    generation,
                    lane,
                    epoch,
                    wrapped_key,
                    wrapped,
                    tenant.as_bytes(),
                    handle.as_bytes(),
                    from
                ],
            )?;
            Ok(renewed == 1)
        })
    }

    fn reserve_replacement(&self, tenant: &TenantId, handle: &Handle) -> Result<(u32, Present), StoreError> {
        let (tenant, handle) = (*tenant, *handle);
        self.0.write(move |connection| {
            let present = present(connection, &tenant, &handle)?.ok_or(StoreError::Conflict)?;
            let next = "UPDATE generations SET generation = generation + 1 WHERE tenant = ? AND handle = ?
                        RETURNING generation";
            let of = (tenant.as_bytes(), handle.as_bytes());
            let generation = connection.query_row(next, of, |row| row.get(0)).map_err(fault)?;
            insert_leftover(connection, &TemplateName { tenant, handle, generation })?;
            Ok((generation, present))
        })
    }

    fn replace_template(
        &self,
        template: Template,
        from: Present,
        answer: Idempotency,
    ) -> Result<bool, StoreError> {
        // With a checkpoint: the wrapped key and the bytes of the old template are gone from the log too.
        self.0.shred(move |connection| {
            let Template { tenant, handle, generation, lane, epoch, .. } = template;
            let Template { wrapped_key, wrapped, consent_ref, created_at, .. } = template;
            let replaced = execute(
                connection,
                "UPDATE templates SET generation = ?1, lane = ?2, epoch = ?3, wrapped_key = ?4, wrapped = ?5, consent_ref = ?6, created_at = ?7
                 WHERE tenant = ?8 AND handle = ?9 AND generation = ?10
                 AND (SELECT revoked_at FROM revocations WHERE tenant = ?8 AND handle = ?9) IS ?11
                 AND EXISTS (SELECT 1 FROM leftovers WHERE tenant = ?8 AND handle = ?9 AND generation = ?1)",
                params![
                    generation,
                    lane,
                    epoch,
                    wrapped_key,
                    wrapped,
                    consent_ref,
                    created_at,
                    tenant.as_bytes(),
                    handle.as_bytes(),
                    from.generation,
                    from.revoked_at
                ],
            )?;
            if replaced == 0 {
                return Ok(false);
            }
            check_keys(connection, &tenant, epoch)?;
            let (tenant, handle) = (tenant.as_bytes(), handle.as_bytes());
            execute(connection, "DELETE FROM revocations WHERE tenant = ? AND handle = ?", (tenant, handle))?;
            // From now on the old generation is the leftover. A revocation may have noted it already.
            let sql = "UPDATE OR REPLACE leftovers SET generation = ? WHERE tenant = ? AND handle = ? AND generation = ?";
            execute(connection, sql, (from.generation, tenant, handle, generation))?;
            insert_answer(connection, answer)?;
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
        self.0.write(move |connection| {
            let Some(Present { generation, revoked_at }) = present(connection, &tenant, &handle)? else {
                return Ok(None);
            };
            if let Some(revoked_at) = revoked_at {
                return Ok(Some(Revocation { generation, revoked_at }));
            }
            let values = (tenant.as_bytes(), handle.as_bytes(), at);
            execute(connection, "INSERT INTO revocations VALUES (?, ?, ?)", values)?;
            insert_leftover(connection, &TemplateName { tenant, handle, generation })?;
            Ok(Some(Revocation { generation, revoked_at: at }))
        })
    }

    fn leftovers(&self) -> Result<Vec<TemplateName>, StoreError> {
        self.0.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT tenant, handle, generation FROM leftovers")?;
            let name = |row: &Row<'_>| {
                let (tenant, handle) = (TenantId::new(row.get(0)?), Handle::new(row.get(1)?));
                Ok(TemplateName { tenant, handle, generation: row.get(2)? })
            };
            statement.query_map([], name)?.collect()
        })
    }

    fn forget_leftover(&self, name: &TemplateName) -> Result<(), StoreError> {
        let name = *name;
        self.0.write(move |connection| delete_leftover(connection, &name).map(drop))
    }

    fn template(&self, tenant: &TenantId, handle: &Handle) -> Result<Option<Template>, StoreError> {
        self.find(
            "SELECT * FROM templates WHERE tenant = ?1 AND handle = ?2
             AND NOT EXISTS (SELECT 1 FROM revocations WHERE tenant = ?1 AND handle = ?2)",
            (tenant.as_bytes(), handle.as_bytes()),
            read_template,
        )
    }

    fn subjects(&self, tenant: &TenantId, from: &Handle, count: usize) -> Result<Vec<Subject>, StoreError> {
        let sql = "SELECT handle, generation, consent_ref, created_at, revoked_at
                   FROM templates LEFT JOIN revocations USING (tenant, handle)
                   WHERE tenant = ? AND handle >= ? ORDER BY handle LIMIT ?";
        self.0.read(|connection| {
            let values = (tenant.as_bytes(), from.as_bytes(), count as u64);
            connection.prepare_cached(sql)?.query_map(values, read_subject)?.collect()
        })
    }

    fn delete_template(&self, tenant: &TenantId, handle: &Handle) -> Result<Option<u32>, StoreError> {
        let (tenant, handle) = (tenant.to_bytes(), handle.to_bytes());
        self.0.shred(move |connection| {
            execute(connection, "DELETE FROM revocations WHERE tenant = ? AND handle = ?", (tenant, handle))?;
            let sql = "DELETE FROM templates WHERE tenant = ? AND handle = ? RETURNING generation";
            connection.query_row(sql, (tenant, handle), |row| row.get(0)).optional().map_err(fault)
        })
    }

    fn put_sessions(&self, sessions: Vec<Session>) -> Result<bool, StoreError> {
        self.0.write(move |connection| {
            let put = |all, session| Ok(all & put_session(connection, session)?);
            sessions.into_iter().try_fold(true, put)
        })
    }

    fn session(&self, tenant: &TenantId, id: &SessionId) -> Result<Option<Session>, StoreError> {
        self.find(
            "SELECT * FROM sessions WHERE tenant = ? AND id = ?",
            (tenant.as_bytes(), id.as_bytes()),
            read_session,
        )
    }

    fn count_sessions(&self, now: u64) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM sessions WHERE expires_at > ? AND length(wrapped) > 0";
        Ok(self.find(sql, (now,), |row| row.get(0))?.unwrap_or(0))
    }

    fn live_sessions(
        &self,
        tenant: &TenantId,
        after: Option<&SessionId>,
        now: u64,
        limit: usize,
    ) -> Result<Vec<Session>, StoreError> {
        let sql = "SELECT * FROM sessions WHERE tenant = ? AND id > ? AND expires_at > ? ORDER BY id LIMIT ?";
        let after: &[u8] = after.map_or(&[], |after| after.as_bytes());
        self.0.read(|connection| {
            let values = (tenant.as_bytes(), after, now, limit as u64);
            connection.prepare_cached(sql)?.query_map(values, read_session)?.collect()
        })
    }

    fn idempotency(&self, tenant: &TenantId, key: &str) -> Result<Option<Idempotency>, StoreError> {
        self.find("SELECT * FROM idempotency WHERE tenant = ? AND key = ?", (tenant.as_bytes(), key), |row| {
            Ok(Idempotency {
                tenant: TenantId::new(row.get("tenant")?),
                key: row.get("key")?,
                request_digest: row.get("request_digest")?,
                body: row.get("body")?,
                created_at: row.get("created_at")?,
            })
        })
    }

    fn expire(&self, now: u64, idempotency_before: u64) -> Result<(), StoreError> {
        self.0.write(move |connection| {
            execute(connection, "DELETE FROM sessions WHERE expires_at < ?", [now])?;
            for table in ["idempotency", "creates"] {
                let sql = format!("DELETE FROM {table} WHERE created_at < ?");
                execute(connection, &sql, [idempotency_before])?;
            }
            Ok(())
        })
    }

    fn remove_sessions(&self) -> Result<(), StoreError> {
        self.0.write(|connection| execute(connection, "DELETE FROM sessions", []).map(drop))
    }

    fn put_seal(&self, number: u64, bytes: Vec<u8>, completed: Vec<Hash>) -> Result<(), StoreError> {
        self.0.write(move |connection| {
            execute(connection, "INSERT INTO seals VALUES (?, ?)", (number, bytes))?;
            for (level, hash) in (0_u8..).zip(completed) {
                execute(
                    connection,
                    "INSERT INTO log_nodes VALUES (?, ?, ?)",
                    (level, number >> level, hash),
                )?;
            }
            Ok(())
        })
    }

    fn seal(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        // Numbers above 2^63 cannot be stored, so none exists.
        let Ok(number) = i64::try_from(number) else { return Ok(None) };
        self.find("SELECT bytes FROM seals WHERE number = ?", [number], |row| row.get(0))
    }

    fn last_seal(&self) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        let newest = "SELECT number, bytes FROM seals ORDER BY number DESC LIMIT 1";
        self.find(newest, [], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    fn prune_seals(&self, headers: Vec<(u64, Vec<u8>)>) -> Result<(), StoreError> {
        self.0.write(move |connection| {
            for (number, header) in headers {
                // Not an update, which would leave pages of old seals half empty.
                if execute(connection, "DELETE FROM seals WHERE number = ?", [number])? == 1 {
                    execute(connection, "INSERT INTO seals VALUES (?, ?)", (number, header))?;
                }
            }
            Ok(())
        })
    }

    fn last_pruned(&self) -> Result<Option<u64>, StoreError> {
        // On the connection that has checked the file: a walk over the newest seals would fill a reader's memory with them.
        self.0.write(|connection| {
            let newest = "SELECT number FROM seals WHERE length(bytes) <= ? ORDER BY number DESC LIMIT 1";
            let found = connection.query_row(newest, [PRUNED_BYTES_MAX as u64], |row| row.get(0));
            found.optional().map_err(fault)
        })
    }

    fn unpruned_after(&self, number: u64) -> Result<Option<u64>, StoreError> {
        let Ok(number) = i64::try_from(number) else { return Ok(None) };
        let next = "SELECT number FROM seals WHERE number > ? AND length(bytes) > ? ORDER BY number LIMIT 1";
        self.find(next, (number, PRUNED_BYTES_MAX as u64), |row| row.get(0))
    }

    fn shrink(&self, kept: u64) -> Result<bool, StoreError> {
        let kept = kept / PAGE_BYTES;
        let free = |connection: &Connection| {
            connection.query_row("PRAGMA freelist_count", [], |row| row.get::<_, u64>(0))
        };
        if self.0.read(free)? <= kept {
            return Ok(false);
        }
        self.0.write(move |connection| {
            // Each row of this statement is a returned page.
            let shrunk = |connection: &Connection| {
                let mut statement =
                    connection.prepare(&format!("PRAGMA incremental_vacuum({FREE_PAGES_STEP})"))?;
                let mut pages = statement.query([])?;
                while pages.next()?.is_some() {}
                free(connection)
            };
            let before = free(connection).map_err(fault)?;
            let after = shrunk(connection).map_err(fault)?;
            Ok(after < before && after > kept)
        })
    }

    fn put_cosignature(&self, size: u64, witness: String, line: String) -> Result<(), StoreError> {
        self.change("INSERT INTO cosignatures VALUES (?, ?, ?)", (size, witness, line))
    }

    fn cosignatures(&self, size: u64) -> Result<Vec<String>, StoreError> {
        let Ok(size) = i64::try_from(size) else { return Ok(Vec::new()) };
        let of_size = "SELECT line FROM cosignatures WHERE size = ? ORDER BY witness";
        self.0.read(|connection| {
            connection.prepare_cached(of_size)?.query_map([size], |row| row.get(0))?.collect()
        })
    }

    fn last_cosigned(&self) -> Result<Option<u64>, StoreError> {
        let newest = "SELECT size FROM cosignatures ORDER BY size DESC LIMIT 1";
        self.find(newest, [], |row| row.get(0))
    }

    fn put_restoration(&self, restoration: Restoration) -> Result<(), StoreError> {
        let Restoration { time, first } = restoration;
        self.change("INSERT INTO restorations VALUES (?, ?)", (time, first))
    }

    fn last_restoration(&self) -> Result<Option<Restoration>, StoreError> {
        let newest = "SELECT time, first FROM restorations ORDER BY time DESC LIMIT 1";
        self.find(newest, [], |row| Ok(Restoration { time: row.get(0)?, first: row.get(1)? }))
    }

    fn put_accepted_clock(
        &self,
        AcceptedClock { id, first, at, from, until }: AcceptedClock,
    ) -> Result<(), StoreError> {
        self.change("INSERT INTO accepted_clocks VALUES (?, ?, ?, ?, ?)", (id, first, at, from, until))
    }

    fn accepted_clocks(&self) -> Result<Vec<AcceptedClock>, StoreError> {
        self.0.read(|connection| {
            let mut all = connection.prepare("SELECT * FROM accepted_clocks ORDER BY id")?;
            all.query_map([], accepted_clock)?.collect()
        })
    }

    fn log_node(&self, level: u8, number: u64) -> Result<Option<Hash>, StoreError> {
        let Ok(number) = i64::try_from(number) else { return Ok(None) };
        let node = "SELECT hash FROM log_nodes WHERE level = ? AND number = ?";
        self.find(node, (level, number), |row| row.get(0))
    }
}
