//! The role that serves, and what it may do: no more than a node needs. So a thief of its password makes and drops no table, changes no sealed entry of
//! the audit trail, and takes no header out of the log.
//!
//! The owner of the tables makes them, and grants. A role that owns them and serves works too, and is warned of.

use crate::address::Address;
use crate::link::{CONNECT_MAX, Link};
use crate::node::{Hold, Opening, holder};
use crate::register;
use std::time::Duration;
use trefoil_storage::store::StoreError;

/// What the role that serves needs beside SELECT.
pub(crate) const GRANTS: [(&str, &str); 25] = [
    ("node", "UPDATE"),
    ("tenants", "INSERT, UPDATE"),
    ("policies", "INSERT, DELETE"),
    ("api_keys", "INSERT, UPDATE, DELETE"),
    ("usage", "INSERT, UPDATE, DELETE"),
    ("roots", "INSERT"),
    ("issuer_keys", "INSERT"),
    ("generations", "INSERT, UPDATE, DELETE"),
    ("templates", "INSERT, UPDATE, DELETE"),
    ("template_bytes", "INSERT, UPDATE, DELETE"),
    ("leftovers", "INSERT, UPDATE, DELETE"),
    ("sessions", "INSERT, UPDATE, DELETE"),
    ("idempotency", "INSERT, DELETE"),
    ("operators", "INSERT, UPDATE"),
    ("operator_tokens", "INSERT, UPDATE"),
    // A receipt comes later, and once: see the policies in schema.sql.
    ("audit", "INSERT, UPDATE (receipt, mac)"),
    ("creates", "INSERT, DELETE"),
    // Seals are pruned through a function that leaves their headers.
    ("seals", "INSERT"),
    ("log_nodes", "INSERT"),
    ("cosignatures", "INSERT"),
    ("restorations", "INSERT"),
    ("accepted_clocks", "INSERT"),
    ("changes", "INSERT, DELETE"),
    // Nodes empty the register when it must begin anew.
    ("register", "INSERT, UPDATE, DELETE, TRUNCATE"),
    ("register_nonces", "INSERT, UPDATE, DELETE, TRUNCATE"),
];
const PRUNE: &str = "prune_seal(bigint, bytea, bytea)";

/// What the role of a connection may do and need not, and what it lacks, in words.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Such as `owns the tables`.
    pub excess: Option<String>,
    /// Such as `INSERT on seals`.
    pub lacks: Option<String>,
}

/// Makes the tables if there are none, as their owner, and grants to `serving` what it needs. Nodes may use the database meanwhile.
///
/// # Errors
/// As [`crate::Postgres::open`]; the role does not exist, or this one may not make tables.
pub fn migrate(
    address: &Address,
    secret: &[u8; 32],
    patience: Duration,
    serving: Option<&str>,
) -> Result<(), StoreError> {
    let is_used = holder(&Link::open(address, patience, CONNECT_MAX)?)?.is_some();
    let fleet = is_used.then(|| "migration".to_owned());
    let opening = Opening { fleet, ..Opening::default() };
    let (_hold, link) = Hold::take(address.clone(), secret, patience, opening)?;
    link.batch(register::TABLES)?;
    if let Some(role) = serving {
        let places = link.told("SELECT current_database(), current_schema()")?.unwrap_or_default();
        let [database, schema] = places.try_into().unwrap_or_default();
        link.batch(&grants(role, &database.unwrap_or_default(), &schema.unwrap_or_default()))?;
    }
    Ok(())
}

/// The statements, of one transaction, after which a role has what it needs and no more.
fn grants(role: &str, database: &str, schema: &str) -> String {
    let [role, database, schema] =
        [role, database, schema].map(|name| format!("\"{}\"", name.replace('"', "\"\"")));
    let tables = GRANTS.map(|(table, rights)| {
        format!("REVOKE ALL ON {table} FROM {role}, PUBLIC; GRANT SELECT, {rights} ON {table} TO {role};")
    });
    format!(
        "BEGIN; GRANT CONNECT ON DATABASE {database} TO {role}; GRANT USAGE ON SCHEMA {schema} TO {role}; {} REVOKE ALL ON FUNCTION {PRUNE} FROM PUBLIC;
         GRANT EXECUTE ON FUNCTION {PRUNE} TO {role}; COMMIT",
        tables.concat()
    )
}

/// Compares what the role may do with what it needs. A register that is not there yet counts for neither.
pub(crate) fn rights(link: &Link) -> Result<Rights, StoreError> {
    let rows = GRANTS.iter().flat_map(|(table, needed)| {
        ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE"].map(|right| {
            let is_needed = right == "SELECT" || needed.split(", ").any(|needed| needed == right);
            format!("('{table}', '{right}', {is_needed})")
        })
    });
    let told = link.told(&format!(
        "SELECT CASE WHEN (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN 'is a superuser, or bypasses row security'
                     WHEN (SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('node')) THEN 'owns the tables'
                     WHEN has_schema_privilege(current_schema(), 'CREATE') THEN 'may make tables'
                     ELSE string_agg(what || ' on ' || name, ', ') FILTER (WHERE has AND NOT needed) END,
                concat_ws(', ', string_agg(what || ' on ' || name, ', ') FILTER (WHERE needed AND NOT has),
                          CASE WHEN NOT has_function_privilege(to_regprocedure('{PRUNE}'), 'EXECUTE') THEN 'EXECUTE on prune_seal' END)
         FROM (SELECT *, has_table_privilege(to_regclass(name), what) AS has FROM (VALUES {}) AS one (name, what, needed)) AS each",
        rows.collect::<Vec<_>>().join(", ")
    ))?;
    let [excess, lacks] = told.and_then(|row| row.try_into().ok()).unwrap_or_default();
    Ok(Rights { excess, lacks: lacks.filter(|lacks| !lacks.is_empty()) })
}

/// Refuses a role that lacks something, and warns of one that may do more than it needs.
pub(crate) fn check(link: &Link, address: &Address) -> Result<(), StoreError> {
    let Rights { excess, lacks } = rights(link)?;
    if let Some(lacks) = lacks {
        return Err(StoreError::Unusable(format!(
            "{address}: its role lacks rights ({lacks}): run `trefoil store migrate --serve-as` with its name, as the owner of the tables"
        )));
    }
    if let Some(excess) = excess {
        tracing::warn!(
            %address, role = excess,
            "the role of the service may do more than it needs, and so may a thief of its password: see FLEET.md, \"Two roles\""
        );
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
