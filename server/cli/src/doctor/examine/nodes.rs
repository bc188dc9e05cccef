//! The nodes of a fleet that the database knows, which are those that are connected to it, and what is wrong with them.

use super::{Finding, time};
use trefoil_attest::TrustRoot;
use trefoil_postgres::Signs;
use trefoil_server::config::Config;
use trefoil_server::findings::Fault;
use trefoil_service::keys::signing_keys::{TRUST_ROOT_FILE, root_told};
use trefoil_storage::store::fleet::{Node, NodeKeys};

/// A node asks the database ten times a second. After so many seconds without a question it hangs, or its path does.
const SILENT_S: u64 = 15;

/// A line for each node, and one for each thing that is wrong with it.
pub(super) fn examine(config: &Config, nodes: &[(Node, Signs)], now: u64) -> Vec<Finding> {
    let bytes = std::fs::read(config.server.data_dir.join(TRUST_ROOT_FILE)).ok();
    // A file that is missing or damaged is found among the keys.
    let root = bytes.and_then(|bytes| TrustRoot::from_file(&bytes).ok());
    let told = root.map(|root| root_told(&root)).map(|told| (told.version, told.digest));
    found(nodes, told, env!("CARGO_PKG_VERSION"), now)
}

/// `root` is the version of this directory's trust root and the first bytes of its digest, `program` the version of this program.
fn found(nodes: &[(Node, Signs)], root: Option<(u64, [u8; 3])>, program: &str, now: u64) -> Vec<Finding> {
    nodes.iter().flat_map(|(node, signs)| of(node, signs, root, program, now)).collect()
}

fn of(node: &Node, signs: &Signs, root: Option<(u64, [u8; 3])>, program: &str, now: u64) -> Vec<Finding> {
    let place = format!("node {}", node.name);
    let mut found = vec![Finding::ok("node", &place, described(node, signs))];
    let silent = now.saturating_sub(signs.heard);
    if signs.heard > 0 && silent > SILENT_S {
        let what = format!(
            "it has asked the database nothing for {silent} s: it hangs, or its path to the database does"
        );
        found.push(Fault::NodeSilent.at(&place, what));
    }
    if let Some(version) = signs.version.as_deref().filter(|version| *version != program) {
        let what = format!("it runs version {version}, and this program is version {program}");
        found.push(Fault::NodeVersion.at(&place, what));
    }
    let (Some(NodeKeys { version, digest, .. }), Some((known, of_known))) = (node.keys, root) else {
        return found;
    };
    if version < known {
        let what = format!("it has version {version} of the trust root, and this directory has {known}");
        let remedy = format!(
            "copy trust-roots/{}.json and the versions after it from this directory into trust-roots of that node's",
            version + 1
        );
        found.push(Fault::NodeTrustRootBehind.at(&place, what).do_this(remedy));
    } else if version == known && digest != of_known {
        let what = format!(
            "it has another version {version} of the trust root than this directory: relying parties refuse one of the two"
        );
        found.push(Fault::NodeTrustRootSplit.at(&place, what));
    }
    found
}

/// `version 0.1.0, from 10.0.0.7, connected since ..., last heard ..., signs with key set ... of version 3 of the trust root, keeps house`
fn described(
    Node { address, since, keeps_house, keys, .. }: &Node,
    Signs { heard, version }: &Signs,
) -> String {
    let version = version.as_deref().unwrap_or("unknown");
    let when = |at: u64| if at == 0 { "unknown".to_owned() } else { time(at) };
    let (since, heard) = (when(*since), when(*heard));
    let keys = keys.map_or(String::new(), |keys| {
        format!(
            ", signs with key set {} of version {} of the trust root",
            hex::encode(keys.key_set),
            keys.version
        )
    });
    let house = if *keeps_house { ", keeps house" } else { "" };
    format!("version {version}, from {address}, connected since {since}, last heard {heard}{keys}{house}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_has_a_line_and_one_for_each_thing_that_is_wrong_with_it() {
        let now = 1_795_000_000;
        let keys = NodeKeys { key_set: [1; 4], version: 3, digest: [3; 3] };
        let node = |keys| Node {
            name: "you/1".to_owned(),
            address: "192.0.2.7".to_owned(),
            since: now - 99,
            keeps_house: true,
            keys,
        };
        let signs = |heard, version: &str| Signs { heard, version: Some(version.to_owned()) };
        let codes = |node: Node, signs: Signs| {
            let found = found(&[(node, signs)], Some((3, [3; 3])), "0.1.0", now);
            found.into_iter().map(|found| found.code).collect::<Vec<_>>()
        };
        let well = signs(now - 1, "0.1.0");
        assert_eq!(codes(node(Some(keys)), well.clone()), ["node"]);
        assert_eq!(codes(node(None), Signs::default()), ["node"], "a role that may not see more");
        assert_eq!(codes(node(None), signs(now - SILENT_S - 1, "0.1.0")), ["node", "node-silent"]);
        assert_eq!(codes(node(None), signs(now, "0.0.9")), ["node", "node-version"]);
        let behind = NodeKeys { version: 2, digest: [2; 3], ..keys };
        assert_eq!(codes(node(Some(behind)), well.clone()), ["node", "node-trust-root-behind"]);
        let split = NodeKeys { digest: [4; 3], ..keys };
        assert_eq!(codes(node(Some(split)), well.clone()), ["node", "node-trust-root-split"]);
        let ahead = NodeKeys { version: 4, digest: [4; 3], ..keys };
        assert_eq!(
            codes(node(Some(ahead)), well.clone()),
            ["node"],
            "the running service finds that it is behind itself"
        );
        let line = described(&node(Some(keys)), &well);
        for part in
            ["version 0.1.0", "192.0.2.7", "last heard 2026-11-18T11:06:39Z", "01010101", "keeps house"]
        {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
}
