//! Operators and the audit trail.

use super::{all, execute};
use crate::database::{StoreError, fault};
use crate::store::{AuditEntry, Note, Once, Operator, OperatorToken};
use rusqlite::{Connection, OptionalExtension as _, Row};
use trefoil_types::{OperatorId, TenantId};

pub(super) fn operators(connection: &Connection) -> rusqlite::Result<(Vec<Operator>, Vec<OperatorToken>)> {
    let operators = all(connection, "SELECT * FROM operators ORDER BY id", |row| {
        Ok(Operator {
            id: OperatorId::new(row.get("id")?),
            name: row.get("name")?,
            role: row.get("role")?,
            created_at: row.get("created_at")?,
            revoked_at: row.get("revoked_at")?,
        })
    })?;
    let tokens = all(connection, "SELECT * FROM operator_tokens ORDER BY operator, number", |row| {
        Ok(OperatorToken {
            operator: OperatorId::new(row.get("operator")?),
            number: row.get("number")?,
            tag: row.get("tag")?,
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
            revoked_at: row.get("revoked_at")?,
        })
    })?;
    Ok((operators, tokens))
}

pub(super) fn delete_tenant(connection: &Connection, tenant: &TenantId, at: u64) -> Result<(), StoreError> {
    let of_tenant = [
        "templates",
        "revocations",
        "generations",
        "sessions",
        "idempotency",
        "api_keys",
        "policies",
        "usage",
    ];
    for table in of_tenant {
        execute(connection, &format!("DELETE FROM {table} WHERE tenant = ?"), [tenant.as_bytes()])?;
    }
    let sql = "UPDATE tenants SET name = '', policy = '', public_key = x'', next_key = NULL, wrapped_key = x'', deleted_at = ?
               WHERE id = ?";
    execute(connection, sql, (at, tenant.as_bytes())).map(drop)
}

pub(super) fn put_operator(connection: &Connection, operator: Operator) -> Result<(), StoreError> {
    let Operator { id, name, role, created_at, revoked_at } = operator;
    let sql = "INSERT INTO operators VALUES (?, ?, ?, ?, ?)
               ON CONFLICT DO UPDATE SET revoked_at = excluded.revoked_at";
    execute(connection, sql, (id.as_bytes(), name, role, created_at, revoked_at)).map(drop)
}

pub(super) fn put_token(connection: &Connection, token: OperatorToken) -> Result<(), StoreError> {
    let OperatorToken { operator, number, tag, created_at, expires_at, revoked_at } = token;
    let sql = "INSERT INTO operator_tokens VALUES (?, ?, ?, ?, ?, ?)
               ON CONFLICT DO UPDATE SET revoked_at = excluded.revoked_at";
    execute(connection, sql, (operator.as_bytes(), number, tag, created_at, expires_at, revoked_at)).map(drop)
}

/// Adds an entry to the audit trail and returns its number.
pub(super) fn insert(connection: &Connection, note: Note) -> Result<u64, StoreError> {
    let sql = "INSERT INTO audit (tenant, statement) VALUES (?, ?) RETURNING number";
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    let entry = statement.query_row((note.tenant.as_bytes(), note.statement), |row| row.get(0));
    let entry: u64 = entry.map_err(fault)?;
    if let Some(Once { operator, key, request_digest, at }) = note.once {
        let values = (operator.as_bytes(), key, request_digest, entry, at);
        execute(connection, "INSERT INTO creates VALUES (?, ?, ?, ?, ?)", values)?;
    }
    Ok(entry)
}

pub(super) fn created(
    connection: &Connection,
    operator: &OperatorId,
    key: &str,
) -> rusqlite::Result<Option<([u8; 32], AuditEntry)>> {
    let sql = "SELECT request_digest, audit.* FROM creates JOIN audit ON audit.number = entry
               WHERE operator = ? AND key = ?";
    let found = |row: &Row<'_>| Ok((row.get("request_digest")?, read(row)?));
    connection.prepare_cached(sql)?.query_row((operator.as_bytes(), key), found).optional()
}

pub(super) fn audit(
    connection: &Connection,
    from: u64,
    tenant: Option<&TenantId>,
    count: usize,
) -> rusqlite::Result<Vec<AuditEntry>> {
    // Numbers above 2^63 cannot be stored, so none exists.
    let (from, count) = (i64::try_from(from).unwrap_or(i64::MAX), count as u64);
    match tenant {
        None => {
            let sql = "SELECT * FROM audit WHERE number >= ? ORDER BY number LIMIT ?";
            connection.prepare_cached(sql)?.query_map((from, count), read)?.collect()
        }
        Some(tenant) => {
            let sql = "SELECT * FROM audit WHERE tenant = ? AND number >= ? ORDER BY number LIMIT ?";
            connection.prepare_cached(sql)?.query_map((tenant.as_bytes(), from, count), read)?.collect()
        }
    }
}

pub(super) fn unsealed(connection: &Connection, count: usize) -> rusqlite::Result<Vec<AuditEntry>> {
    let sql = "SELECT * FROM audit WHERE receipt IS NULL ORDER BY number LIMIT ?";
    connection.prepare_cached(sql)?.query_map([count as u64], read)?.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<AuditEntry> {
    let note =
        Note { tenant: TenantId::new(row.get("tenant")?), statement: row.get("statement")?, once: None };
    Ok(AuditEntry { number: row.get("number")?, note, receipt: row.get("receipt")? })
}
