//! The chain of headers.

use std::sync::Arc;

use crossbeam_channel::Receiver;
use trefoil_attest::log::Frontier;
use trefoil_attest::tree::MerkleTree;
use trefoil_attest::{KeySetId, Restoration, SealHeader, Suite};

use crate::clock::Clock;
use crate::vaults::SeenVaults;

/// The fields of every seal about the sealing service.
#[derive(Clone)]
pub struct Origin {
    /// Its name.
    pub issuer: String,
    /// Its key-holders' vaults.
    pub vaults: Arc<SeenVaults>,
    /// The newest restoration of its log from a backup.
    pub restored: Option<Restoration>,
}

impl Origin {
    /// A service without monitored vaults whose log was never restored.
    pub fn new(issuer: impl Into<String>) -> Origin {
        Origin { issuer: issuer.into(), vaults: Arc::default(), restored: None }
    }
}

/// End of the seal chain: what the next seal follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainHead {
    /// Digest of the previous seal's header; zeros before the first.
    pub previous: [u8; 32],
    /// The log of all seals so far, which the next seal commits to.
    pub log: Frontier,
}

impl ChainHead {
    /// Before the first seal.
    pub const GENESIS: ChainHead = ChainHead { previous: [0; 32], log: Frontier::EMPTY };

    /// Number of the next seal.
    #[must_use]
    pub const fn next_number(&self) -> u64 {
        self.log.size()
    }

    /// Advances to the seal with this header.
    pub fn follow(&mut self, header: &SealHeader) {
        self.previous = header.digest();
        self.log.push(&self.previous);
    }
}

/// The predecessor of the next header. A header is made in microseconds, and signed after the chain has advanced.
pub(super) struct Chain {
    pub(super) origin: Origin,
    pub(super) key_set_id: KeySetId,
    /// The last header made, whose seal may not be signed yet.
    pub(super) head: ChainHead,
    /// Headers made so far, including those that were refused.
    pub(super) place: u64,
    /// Where to continue after a refused seal.
    pub(super) withdrawn: Receiver<ChainHead>,
}

impl Chain {
    /// The header over `tree`, and its place in the order of release.
    pub(super) fn header(&mut self, tree: &MerkleTree, clock: &dyn Clock) -> (u64, SealHeader) {
        if let Some(head) = self.withdrawn.try_iter().last() {
            self.head = head;
        }
        let header = SealHeader {
            issuer: self.origin.issuer.clone(),
            key_set_id: self.key_set_id,
            seal_number: self.head.next_number(),
            previous: self.head.previous,
            log_root: self.head.log.root(),
            tree_size: tree.size(),
            root: tree.root(),
            time: clock.unix_s(),
            suite: Suite::One,
            vaults: self.origin.vaults.states(),
            restored: self.origin.restored,
        };
        self.head.follow(&header);
        self.place += 1;
        (self.place - 1, header)
    }
}
