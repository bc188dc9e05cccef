//! What nodes tell of their keys: it follows the node's name in the name of the connection that hears.

use crate::link::Link;
use trefoil_storage::store::StoreError;
use trefoil_storage::store::fleet::{Node, NodeKeys};

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
