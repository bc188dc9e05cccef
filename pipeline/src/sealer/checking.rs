//! The second half of a seal: nothing is released before it is checked, and nothing out of order.

use std::sync::Arc;

use crossbeam_channel::Sender;
use trefoil_attest::tree::MerkleTree;
use trefoil_sign::{SealChecker, UncheckedSeal};

use super::signing::Group;
use super::{ChainHead, Release, Sealed, SealedTree};
use crate::clock::Clock;
use crate::request::Refusal;

/// Checks and releases one group after the other.
pub(super) struct Checking<R> {
    pub(super) checker: SealChecker,
    /// The end of what was released.
    pub(super) head: ChainHead,
    /// Tells where signing goes on after a seal that was refused.
    pub(super) withdraw: Sender<ChainHead>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) release: Arc<dyn Release<R>>,
}

impl<R> Checking<R> {
    /// All groups; tells the number of batches of each. Returns the end of what was released.
    pub(super) fn finish_all(
        mut self,
        groups: impl Iterator<Item = Group<R>>,
        after_group: impl Fn(usize),
    ) -> ChainHead {
        for group in groups {
            after_group(self.finish(group));
        }
        self.head
    }

    /// Checks and releases, or refuses, a group; returns its number of batches.
    pub(super) fn finish(&mut self, group: Group<R>) -> usize {
        let Group { batches, signed, began } = group;
        let count = batches.len();
        let Some(under) = signed.and_then(|(seal, tree)| self.check(seal, tree)) else {
            for lane in batches.into_iter().flat_map(|batch| batch.lanes) {
                self.release.refused(lane.reply, Refusal::Fault);
            }
            return count;
        };
        self.head.follow(&under.seal.header);
        let seal_ns = self.clock.monotonic_ns() - began;
        self.release.sealed(Sealed { under: Arc::new(under), batches, seal_ns });
        count
    }

    fn check(&mut self, seal: UncheckedSeal, tree: MerkleTree) -> Option<SealedTree> {
        // It was signed while the one before it was being refused, and the signing thread has been told.
        if seal.header().previous != self.head.previous {
            return None;
        }
        match self.checker.check(seal) {
            Ok(seal) => Some(SealedTree { seal, tree }),
            Err(_) => {
                // A receiver that is gone signs no more.
                self.withdraw.send(self.head.clone()).unwrap_or_default();
                None
            }
        }
    }
}
