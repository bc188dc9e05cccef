//! Whether a directory has the newest trust root of its fleet. A version that is made from an older one splits the trust root: relying parties refuse
//! one of the two.

use std::path::Path;
use trefoil_attest::{LogEntry, TrustRoot};
use trefoil_postgres::Postgres;
use trefoil_server::config::Config;
use trefoil_service::POSTGRES_MARK;
use trefoil_service::keys::signing_keys::{newest, root_told};
use trefoil_storage::data_dir::read_private;
use trefoil_storage::store::fleet::Node;
use zeroize::Zeroizing;

/// Asks the nodes that run, and the newest seal. A directory without a trust root is for the caller to refuse.
pub(super) fn refuse_behind(config: &Config) -> Result<(), String> {
    let directory = &config.server.data_dir;
    let Ok(own) = newest(directory) else { return Ok(()) };
    let Some(address) = trefoil_server::server::database(config).map_err(|cause| cause.to_string())? else {
        if directory.join(POSTGRES_MARK).exists() {
            eprintln!(
                "no other node was asked whether version {} of the trust root is the newest: --config or TREFOIL_STORE_URL names the database",
                own.version()
            );
        }
        return Ok(());
    };
    let unasked = |cause: &dyn std::fmt::Display| {
        format!(
            "the database cannot be asked which trust root the fleet has ({cause}): start it, then repeat"
        )
    };
    let patience = config.store.patience();
    let nodes = Postgres::nodes_of(&address, patience).map_err(|cause| unasked(&cause))?;
    check_nodes(&own, directory, &nodes)?;
    let master = directory.join("master.key");
    let secret = read_private(&master).map_err(|cause| cause.to_string())?;
    let secret = <[u8; 32]>::try_from(secret.as_slice()).map(Zeroizing::new);
    let secret = secret.map_err(|_| format!("{} has not 32 bytes", master.display()))?;
    let found = Postgres::inspect(&address, &secret, patience).map_err(|cause| unasked(&cause))?;
    found.newest_seal.map_or(Ok(()), |seal| check_seal(&own, directory, &seal))
}

/// Against what each running node tells.
fn check_nodes(own: &TrustRoot, directory: &Path, nodes: &[Node]) -> Result<(), String> {
    let (here, version, place) = (root_told(own), own.version(), directory.display());
    let told = || nodes.iter().filter_map(|node| Some((node.keys?, &node.name)));
    if let Some((keys, name)) = told().max_by_key(|(keys, _)| keys.version)
        && keys.version > version
    {
        let later = if keys.version > version + 1 { " and the versions after it" } else { "" };
        return Err(format!(
            "{place} has version {version} of the trust root, and node {name} of the fleet has {}: copy trust-roots/{}.json{later} from its data \
             directory into {place}/trust-roots, then repeat",
            keys.version,
            version + 1
        ));
    }
    match told().find(|(keys, _)| keys.version == version && keys.digest != here.digest) {
        Some((_, name)) => Err(format!(
            "{place} and node {name} of the fleet have different versions {version} of the trust root, which is split; see FLEET.md, \
             \"A split trust root\""
        )),
        None => Ok(()),
    }
}

/// Against the signer of the newest seal, which counts while no node runs.
fn check_seal(own: &TrustRoot, directory: &Path, seal: &[u8]) -> Result<(), String> {
    let entry = LogEntry::decode(seal).map_err(|cause| format!("the newest seal: {cause}"))?;
    let (id, version) = (entry.header().key_set_id, own.version());
    match own.key_set(&id) {
        Some(_) => Ok(()),
        None => Err(format!(
            "{} has version {version} of the trust root, which does not list key set {} of the fleet's newest seal: copy trust-roots/{}.json and \
             the versions after it from the data directory of the node that has these keys, then repeat",
            directory.display(),
            hex::encode(id),
            version + 1
        )),
    }
}
