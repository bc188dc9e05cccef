//! What nodes tell of their keys: it follows the node's name in the name of the connection that hears.

use crate::link::Link;
use std::collections::HashMap;
use trefoil_storage::store::StoreError;
use trefoil_storage::store::fleet::{Node, NodeKeys};

/// A shared lock of the connection that hears: its second number is the version of the node's program. A lock shows to every role, and the name of
/// the connection has no room left.
const VERSION: i32 = i32::from_be_bytes(*b"trfv");

/// What a node shows beside [`Node`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// When it last asked the database something, Unix seconds; 0 if the role may not see it.
    pub heard: u64,
    /// The version of its program; `None` until it is followed.
    pub version: Option<String>,
}

/// The statement that tells the version of this program.
pub(super) fn versioned() -> String {
    let number = env!("CARGO_PKG_VERSION")
        .split(['.', '-'])
        .take(3)
        .fold(0, |number: i32, part| number << 10 | part.parse::<i32>().unwrap_or(0) & 0x3ff);
    format!("SELECT pg_advisory_lock_shared({VERSION}, {number})")
}

/// What the nodes show, by their names.
pub(super) fn signs(link: &Link) -> Result<HashMap<String, Signs>, StoreError> {
    let shown = format!(
        "SELECT split_part(a.application_name, ' ', 2), coalesce(max(extract(epoch FROM a.state_change)), 0)::bigint, max(v.objid::bigint)
         FROM pg_stat_activity AS a LEFT JOIN pg_locks AS v
         ON v.pid = a.pid AND v.locktype = 'advisory' AND v.classid = {VERSION} AND v.objsubid = 2 AND v.granted
         WHERE a.datname = current_database() AND a.application_name LIKE 'trefoil %' GROUP BY 1"
    );
    let failed = |cause: tokio_postgres::Error| StoreError::Fault(cause.to_string());
    let rows = link.rows(&shown, &[])?;
    rows.iter()
        .map(|row| {
            let (heard, version): (i64, Option<i64>) = (row.try_get(1)?, row.try_get(2)?);
            let version = version.map(|v| format!("{}.{}.{}", v >> 20, v >> 10 & 0x3ff, v & 0x3ff));
            Ok((row.try_get(0)?, Signs { heard: heard.cast_unsigned(), version }))
        })
        .collect::<Result<_, _>>()
        .map_err(failed)
}

/// The statement that tells of keys, from the one that gives the connection the node's name.
pub(super) fn announced(named: &str, keys: Option<NodeKeys>) -> String {
    match keys {
        Some(keys) => format!("{} {keys}'", named.trim_end_matches('\'')),
        None => named.to_owned(),
    }
}

/// Adds what the nodes told. If a node has lost a connection that the server still shows, its newest one counts.
pub(super) fn fill(link: &Link, nodes: &mut [Node]) -> Result<(), StoreError> {
    let told = "SELECT application_name FROM pg_stat_activity WHERE datname = current_database()
                AND application_name LIKE 'trefoil % %' ORDER BY backend_start";
    for row in link.rows(told, &[])? {
        let told: String = row.try_get(0).map_err(|cause| StoreError::Fault(cause.to_string()))?;
        let told = told.strip_prefix("trefoil ").and_then(|told| told.split_once(' '));
        let Some((name, keys)) = told else { continue };
        nodes.iter_mut().filter(|node| node.name == name).for_each(|node| node.keys = NodeKeys::read(keys));
    }
    Ok(())
}
