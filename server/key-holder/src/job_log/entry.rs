//! A line of the log.

use serde::{Deserialize, Serialize};
use trefoil_matching::{LANES, LaneSet};

/// One request and its outcome.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Counts lines from 0.
    pub n: u64,
    /// Unix seconds, by the key-holder's clock.
    pub at: u64,
    /// The client.
    pub client: String,
    /// The kind of request.
    pub op: String,
    /// The tenant, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The batch, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    /// Numbers in the vectors of the batch or template, padded: 128, 256 or 512.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// Lanes of the batch that have a subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<u32>,
    /// Keyed digest of lane, handle and generation of each subject, or of the one subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subjects: Option<String>,
    /// The outcome, without a decision.
    pub outcome: String,
    /// The leaves of the lanes that matched, ascending and joined, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<String>,
    /// Keyed digest of the batch id and the 32 bits answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Transactions of the vault that were on the disk.
    pub vault: u64,
    /// SHA3-256 of the line before; at the beginning that of the key that signs heads.
    pub prev: String,
}

impl Entry {
    /// An empty line at `at` unix seconds.
    pub(crate) fn begun(at: u64, client: &str) -> Entry {
        Entry { at, client: client.to_owned(), ..Entry::default() }
    }
}

/// The leaves of the lanes that matched, for a line; `None` if none did.
pub(crate) fn matched(leaves: &[[u8; 32]; LANES], accepted: LaneSet) -> Option<String> {
    let mut leaves: Vec<[u8; 32]> = accepted.iter().map(|lane| leaves[lane.index()]).collect();
    // Their order would be that of the lanes, which are the same for a subject each time.
    leaves.sort_unstable();
    (!leaves.is_empty()).then(|| hex::encode(leaves.as_flattened()))
}
