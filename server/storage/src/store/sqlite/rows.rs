//! Rows of the tables, as records.

use crate::database::{StoreError, conflict_or_fault, fault};
use crate::store::{
    ApiKey, Idempotency, IssuerKey, PolicyVersion, Present, Root, Session, Subject, Template, Tenant, Usage,
    UsageCounts, takes,
};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use trefoil_matching::TemplateName;
use trefoil_types::{ApiKeyId, Handle, SessionId, TenantId};

/// Whether it has not ended before.
pub(super) fn put_session(connection: &Connection, session: Session) -> Result<bool, StoreError> {
    let Session { tenant, id, expires_at, wrapped } = session;
    let sql = "INSERT INTO sessions VALUES (?, ?, ?, ?)
               ON CONFLICT DO UPDATE SET expires_at = excluded.expires_at, wrapped = excluded.wrapped
               WHERE length(sessions.wrapped) > 0 OR length(excluded.wrapped) = 0";
    Ok(execute(connection, sql, (tenant.as_bytes(), id.as_bytes(), expires_at, wrapped))? == 1)
}

pub(super) fn read_session(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        tenant: TenantId::new(row.get("tenant")?),
        id: SessionId::new(row.get("id")?),
        expires_at: row.get("expires_at")?,
        wrapped: row.get("wrapped")?,
    })
}

pub(super) fn read_tenant(row: &Row<'_>) -> rusqlite::Result<Tenant> {
    Ok(Tenant {
        id: TenantId::new(row.get("id")?),
        name: row.get("name")?,
        policy: row.get("policy")?,
        policy_version: row.get("policy_version")?,
        public_key: row.get("public_key")?,
        next_key: row.get("next_key")?,
        wrapped_key: row.get("wrapped_key")?,
        created_at: row.get("created_at")?,
        disabled_at: row.get("disabled_at")?,
        deleted_at: row.get("deleted_at")?,
    })
}

pub(super) fn insert_policy(connection: &Connection, new: &PolicyVersion) -> Result<(), StoreError> {
    let PolicyVersion { tenant, version, policy, made_at } = new;
    let values = (tenant.as_bytes(), version, policy, made_at);
    execute(connection, "INSERT INTO policies VALUES (?, ?, ?, ?)", values).map(drop)
}

pub(super) fn read_policy(row: &Row<'_>) -> rusqlite::Result<PolicyVersion> {
    Ok(PolicyVersion {
        tenant: TenantId::new(row.get("tenant")?),
        version: row.get("version")?,
        policy: row.get("policy")?,
        made_at: row.get("made_at")?,
    })
}

pub(super) fn read_api_key(row: &Row<'_>) -> rusqlite::Result<ApiKey> {
    Ok(ApiKey {
        id: ApiKeyId::new(row.get("id")?),
        tenant: TenantId::new(row.get("tenant")?),
        tag: row.get("tag")?,
        scopes: row.get("scopes")?,
        created_at: row.get("created_at")?,
        label: row.get("label")?,
        expires_at: row.get("expires_at")?,
        revoked_at: row.get("revoked_at")?,
        last_used_at: row.get("last_used_at")?,
    })
}

pub(super) fn read_usage(row: &Row<'_>) -> rusqlite::Result<Usage> {
    Ok(Usage {
        tenant: TenantId::new(row.get("tenant")?),
        api_key: ApiKeyId::new(row.get("api_key")?),
        day: row.get("day")?,
        counts: UsageCounts {
            matched: row.get("matched")?,
            not_matched: row.get("not_matched")?,
            enrolments: row.get("enrolments")?,
            refusals: row.get("refusals")?,
        },
    })
}

pub(super) fn read_root(row: &Row<'_>) -> rusqlite::Result<Root> {
    Ok(Root {
        tenant: TenantId::new(row.get("tenant")?),
        root: row.get("root")?,
        generation: row.get("generation")?,
        generation_min: row.get("generation_min")?,
        statement: row.get("statement")?,
        signature: row.get("signature")?,
        published_at: row.get("published_at")?,
    })
}

pub(super) fn read_issuer_key(row: &Row<'_>) -> rusqlite::Result<IssuerKey> {
    Ok(IssuerKey {
        tenant: TenantId::new(row.get("tenant")?),
        number: row.get("number")?,
        key: row.get("key")?,
        registered_at: row.get("registered_at")?,
    })
}

pub(super) fn read_subject(row: &Row<'_>) -> rusqlite::Result<Subject> {
    Ok(Subject {
        handle: Handle::new(row.get("handle")?),
        generation: row.get("generation")?,
        consent_ref: row.get("consent_ref")?,
        created_at: row.get("created_at")?,
        revoked_at: row.get("revoked_at")?,
    })
}

pub(super) fn read_template(row: &Row<'_>) -> rusqlite::Result<Template> {
    Ok(Template {
        tenant: TenantId::new(row.get("tenant")?),
        handle: Handle::new(row.get("handle")?),
        generation: row.get("generation")?,
        lane: row.get("lane")?,
        epoch: row.get("epoch")?,
        wrapped_key: row.get("wrapped_key")?,
        wrapped: row.get("wrapped")?,
        consent_ref: row.get("consent_ref")?,
        created_at: row.get("created_at")?,
    })
}

/// The template that a subject has now, and whether it is revoked.
pub(super) fn present(
    connection: &Connection,
    tenant: &TenantId,
    handle: &Handle,
) -> Result<Option<Present>, StoreError> {
    let sql = "SELECT generation, revoked_at FROM templates LEFT JOIN revocations USING (tenant, handle)
               WHERE tenant = ? AND handle = ?";
    let read = |row: &Row<'_>| Ok(Present { generation: row.get(0)?, revoked_at: row.get(1)? });
    connection.query_row(sql, (tenant.as_bytes(), handle.as_bytes()), read).optional().map_err(fault)
}

/// `OldKeys` unless a template under this epoch may be stored, and `Conflict` without a tenant.
pub(super) fn check_keys(connection: &Connection, tenant: &TenantId, epoch: u32) -> Result<(), StoreError> {
    let sql = "SELECT coalesce(next_key, public_key) FROM tenants WHERE id = ? AND deleted_at IS NULL";
    let newest = connection.query_row(sql, [tenant.as_bytes()], |row| row.get::<_, Vec<u8>>(0));
    let newest = newest.optional().map_err(fault)?.ok_or(StoreError::Conflict)?;
    if takes(&newest, epoch) { Ok(()) } else { Err(StoreError::OldKeys) }
}

pub(super) fn insert_leftover(connection: &Connection, name: &TemplateName) -> Result<(), StoreError> {
    let TemplateName { tenant, handle, generation } = name;
    let values = (tenant.as_bytes(), handle.as_bytes(), generation);
    execute(connection, "INSERT INTO leftovers VALUES (?, ?, ?)", values).map(drop)
}

/// Returns whether it was there.
pub(super) fn delete_leftover(connection: &Connection, name: &TemplateName) -> Result<bool, StoreError> {
    let TemplateName { tenant, handle, generation } = name;
    let sql = "DELETE FROM leftovers WHERE tenant = ? AND handle = ? AND generation = ?";
    Ok(execute(connection, sql, (tenant.as_bytes(), handle.as_bytes(), generation))? == 1)
}

pub(super) fn insert_answer(connection: &Connection, answer: Idempotency) -> Result<(), StoreError> {
    let Idempotency { tenant, key, request_digest, body, created_at } = answer;
    let values = params![tenant.as_bytes(), key, request_digest, body, created_at];
    execute(connection, "INSERT INTO idempotency VALUES (?, ?, ?, ?, ?)", values).map(drop)
}

pub(super) fn all<T>(
    connection: &Connection,
    sql: &str,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare(sql)?.query_map([], |row| read(row))?.collect()
}

pub(super) fn execute(connection: &Connection, sql: &str, values: impl Params) -> Result<usize, StoreError> {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute(values))
        .map_err(conflict_or_fault)
}
