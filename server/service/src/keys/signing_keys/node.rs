//! Makes the data directory of a further node of a fleet from that of another one: what the nodes share, and signing keys of its own, which the
//! next version of the trust root lists as active beside those of the other nodes.
//!
//! The new directory is marked until it is whole, and no process starts from it meanwhile. Storing the next version in the first directory commits.
//! If the process dies before that, no trust root lists the new keys, and a repetition makes others. If it dies after that, a repetition finds
//! the version of the new directory in the first one, and completes the new directory.

use super::{
    DataDir, DataDirError, KEYS_FILE, KeysError, Opened, Source, TRUST_ROOT_FILE, TrustRoot, generate,
    joined_by, keep, next_version, open, publish, read, sealed, version,
};
use crate::POSTGRES_MARK;
use std::path::Path;
use trefoil_storage::data_dir::{Reached, read_private};

/// The files that nodes share, and whether each node must have them. No node has another's signing keys, their passphrase, or anything of a key-holder.
const SHARED: [(&str, bool); 7] = [
    // Opens and authenticates the rows of the database.
    ("master.key", true),
    // Of the hashes by which API keys and tokens are known.
    ("pepper.key", true),
    // By which the key-holders let the gateway in.
    ("key-holder-client-certificate.pem", true),
    ("key-holder-client-private-key.pem", true),
    // The operator's token for every node.
    (ADMIN_TOKEN, true),
    // The self-signed certificate that callers pin. Configured ones are elsewhere.
    ("tls-certificate.pem", false),
    ("tls-private-key.pem", false),
];
const ADMIN_TOKEN: &str = "admin.token";

/// Makes the directory `to` of a further node from `first`, which may belong to a running service. Returns the version of the trust root that
/// lists its keys.
pub fn add_node(
    first: &DataDir,
    issuer: &str,
    source: &Source,
    to: &Path,
    now: u64,
) -> Result<TrustRoot, KeysError> {
    refuse_alone(first)?;
    let mut opened = open(first, issuer, source)?;
    super::revocation::refuse_half_revoked(first.path(), &opened.trust_root, &opened.keys.id())?;
    let node = DataDir::open_unfinished_node(to)?;
    if !is_committed(first, &node) {
        copy_shared(first, &node)?;
        commit(first, source, &mut opened, &node, now)?;
    }
    copy_versions(first, &node, &opened.trust_root)?;
    let whole = open(&node, issuer, source)?;
    node.remove(DataDir::UNFINISHED_NODE)?;
    Ok(whole.trust_root)
}

/// Refuses a directory whose service has not used PostgreSQL, or lacks what nodes share.
fn refuse_alone(first: &DataDir) -> Result<(), KeysError> {
    let required = SHARED.iter().filter(|(_, required)| *required).map(|(name, _)| *name);
    for name in required.chain([POSTGRES_MARK, KEYS_FILE, TRUST_ROOT_FILE]) {
        if !first.has(name)? {
            return Err(KeysError::Apart(format!(
                "{} is missing; name the data directory of a node that has served with store.url and key-holders in processes of their own",
                first.join(name).display()
            )));
        }
    }
    Ok(())
}

/// Whether the first directory has the version that an earlier try made.
fn is_committed(first: &DataDir, node: &DataDir) -> bool {
    let made = read(&node.join(TRUST_ROOT_FILE)).ok();
    made.is_some_and(|made| {
        let stored = version(first.path(), made.version()).ok().flatten();
        stored.as_deref() == Some(made.to_json().as_bytes())
    })
}

fn copy_shared(first: &DataDir, node: &DataDir) -> Result<(), DataDirError> {
    for (name, _) in SHARED {
        match name {
            ADMIN_TOKEN => node.write(name, &read_private(&first.join(name))?)?,
            _ => {
                if let Some(bytes) = first.kept(name)? {
                    node.keep(name, &bytes)?;
                }
            }
        }
    }
    // An older copy of the database is refused from the first start on, and so is a store other than the database.
    let mut mark = node.high_water(POSTGRES_MARK)?;
    mark.reach(reached(first)?)
        .map_err(|cause| trefoil_storage::data_dir::failed(&node.join(POSTGRES_MARK), "write", cause))
}

/// A running service writes its mark in place, so one read may be of two counts.
fn reached(first: &DataDir) -> Result<Reached, DataDirError> {
    let mark = first.high_water(POSTGRES_MARK).or_else(|_| first.high_water(POSTGRES_MARK))?;
    Ok(mark.reached())
}

/// Makes the keys and the version that lists them, in the new directory first.
fn commit(
    first: &DataDir,
    source: &Source,
    opened: &mut Opened,
    node: &DataDir,
    now: u64,
) -> Result<(), KeysError> {
    let mut new = generate(now)?;
    let key_sets = joined_by(&new, opened.trust_root.key_sets().to_vec());
    let next = next_version(&opened.trust_root, key_sets, &mut [&mut opened.keys, &mut new])?;
    node.write(KEYS_FILE, &sealed(&new, &source.find(node)?))?;
    node.note(KEYS_FILE)?;
    keep(node, &next)?;
    publish(node, &next)?;
    keep(first, &next)?;
    publish(first, &next)?;
    opened.trust_root = next;
    Ok(())
}

/// Copies every version up to this one.
fn copy_versions(first: &DataDir, node: &DataDir, newest: &TrustRoot) -> Result<(), KeysError> {
    for number in 1..=newest.version() {
        let file = super::version_file(number);
        let bytes = std::fs::read(first.join(&file))
            .map_err(|cause| trefoil_storage::data_dir::failed(&first.join(&file), "read", cause))?;
        node.write(&file, &bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
