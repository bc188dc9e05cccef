//! The file in which an auditor keeps its head of the log.

use serde::{Deserialize, Serialize};
use trefoil_api::Hex;
use trefoil_attest::{JobsHead, Restoration, VaultState};
use trefoil_service::log::log_audit::{Head, KeptHead};

/// Name and version of the form.
const FORMAT: &str = "trefoil:log-head/4";

/// Generation and restorations, and lines and digest of the key-holder's job log.
type Vault = (u64, u64, Option<(u64, Hex<32>)>);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    issuer: String,
    seals: u64,
    last: Hex<32>,
    signed_root: Option<Hex<32>>,
    nodes: Vec<Hex<32>>,
    vaults: Vec<Option<Vault>>,
    /// When the last seal was made, Unix seconds.
    sealed_at: Option<u64>,
    /// First seal and time of each.
    restorations: Vec<(u64, u64)>,
    /// Sizes, and the digest of the last seal of each.
    marks: Vec<(u64, Hex<32>)>,
}

/// The file of a head of this issuer's log.
pub(super) fn write(head: &Head, issuer: &str) -> String {
    let KeptHead { seals, last, signed_root, nodes, vaults, sealed_at, restorations, marks } = head.kept();
    let state = |vault: Option<VaultState>| {
        let VaultState { generation, restored, jobs } = vault?;
        Some((generation, restored, jobs.map(|head| (head.lines, Hex(head.digest)))))
    };
    let file = File {
        format: FORMAT.to_owned(),
        issuer: issuer.to_owned(),
        seals,
        last: Hex(last),
        signed_root: signed_root.map(Hex),
        nodes: nodes.into_iter().map(Hex).collect(),
        vaults: vaults.into_iter().map(state).collect(),
        sealed_at,
        restorations: restorations.iter().map(|restored| (restored.first, restored.time)).collect(),
        marks: marks.into_iter().map(|(size, last)| (size, Hex(last))).collect(),
    };
    serde_json::to_string_pretty(&file).expect("strings and numbers have a JSON form") + "\n"
}

/// The head in such a file, if it is of this issuer's log.
pub(super) fn read(text: &[u8], issuer: &str) -> Result<Head, String> {
    let file: File = serde_json::from_slice(text).map_err(trefoil_contents::parse_error)?;
    if file.format != FORMAT {
        return Err(format!("its format is not {FORMAT}, which this program knows"));
    }
    if file.issuer != issuer {
        return Err(format!("a head of another issuer; the trust root is of {issuer}"));
    }
    let head = |(lines, digest): (u64, Hex<32>)| JobsHead { lines, digest: digest.0 };
    let state = |(generation, restored, jobs): (u64, u64, Option<_>)| VaultState {
        generation,
        restored,
        jobs: jobs.map(head),
    };
    let restoration = |(first, time)| Restoration { first, time };
    Head::try_from(KeptHead {
        seals: file.seals,
        last: file.last.0,
        signed_root: file.signed_root.map(|root| root.0),
        nodes: file.nodes.into_iter().map(|node| node.0).collect(),
        vaults: file.vaults.into_iter().map(|vault| vault.map(state)).collect(),
        sealed_at: file.sealed_at,
        restorations: file.restorations.into_iter().map(restoration).collect(),
        marks: file.marks.into_iter().map(|(size, last)| (size, last.0)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUER: &str = "https://auth.example";

    fn head() -> Head {
        let restored = Restoration { first: 1, time: 5 };
        let jobs = Some(JobsHead { lines: 10, digest: [11; 32] });
        let logged = VaultState { generation: 8, restored: 9, jobs };
        Head::try_from(KeptHead {
            seals: 3,
            last: [1; 32],
            signed_root: Some([2; 32]),
            nodes: vec![[3; 32], [4; 32]],
            vaults: vec![None, Some(VaultState { generation: 6, restored: 7, jobs: None }), Some(logged)],
            sealed_at: Some(8),
            restorations: vec![restored],
            marks: vec![(2, [9; 32]), (3, [1; 32])],
        })
        .unwrap()
    }

    #[test]
    fn a_head_reads_back_and_nobody_elses_does() {
        let (head, file) = (head(), write(&head(), ISSUER));
        assert_eq!(read(file.as_bytes(), ISSUER).unwrap(), head);
        assert!(file.starts_with("{\n  \"format\": \"trefoil:log-head/4\",\n  \"issuer\""), "{file}");
        let refused = |from: &str, to: &str| {
            assert!(file.contains(from), "{file}");
            read(file.replacen(from, to, 1).as_bytes(), ISSUER).unwrap_err()
        };
        assert!(refused("log-head/4", "log-head/3").contains("its format is not trefoil:log-head/4"));
        assert!(refused("auth.example", "other.example").contains("a head of another issuer"));
        assert!(refused("\"seals\": 3", "\"seals\": 7").contains("2 nodes do not belong to 7 seals"));
        assert!(refused("\"seals\"", "\"more\": 1, \"seals\"").contains("unknown field"));
        assert!(read(b"{}", ISSUER).is_err());
    }
}
