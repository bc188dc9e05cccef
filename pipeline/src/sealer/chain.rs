//! Headers, one after the other.

use crossbeam_channel::Receiver;
use trefoil_attest::tree::MerkleTree;
use trefoil_attest::{KeySetId, SealHeader, Suite};

use super::{ChainHead, Origin};
use crate::clock::Clock;

/// What the next header follows. A header is made in microseconds, and signed after the chain has gone on.
pub(super) struct Chain {
    pub(super) origin: Origin,
    pub(super) key_set_id: KeySetId,
    /// The last header made, whose seal may not be signed yet.
    pub(super) head: ChainHead,
    /// Headers made so far, those that came to nothing included.
    pub(super) place: u64,
    /// Where to go on after a seal that was refused.
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
