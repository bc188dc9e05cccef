//! The first half of a seal: its tree, and three signatures that nobody has checked.

use std::sync::Arc;

use crossbeam_channel::Receiver;
use trefoil_attest::tree::MerkleTree;
use trefoil_attest::{SealHeader, Suite};
use trefoil_sign::{SigningKeys, UncheckedSeal, seal_tree};

use super::{BATCHES_MAX, Bound, Cadence, ChainHead, Origin};
use crate::clock::Clock;

/// A group of batches between the two halves.
pub(super) struct Group<R> {
    pub(super) batches: Vec<Bound<R>>,
    /// The seal and the tree whose root it signs; `None` when there is nothing to sign or the signer refused.
    pub(super) signed: Option<(UncheckedSeal, MerkleTree)>,
    /// When it was begun, on the clock.
    pub(super) began: u64,
}

/// Signs one group after the other, until nobody sends batches any more.
pub(super) struct Signing<R> {
    pub(super) keys: SigningKeys,
    pub(super) origin: Origin,
    /// What the next seal follows: the last one signed, which may be unchecked yet.
    pub(super) head: ChainHead,
    pub(super) batches: Receiver<Bound<R>>,
    pub(super) cadence: Cadence,
    /// Where to go on after a seal that was refused.
    pub(super) withdrawn: Receiver<ChainHead>,
    pub(super) clock: Arc<dyn Clock>,
}

impl<R> Iterator for Signing<R> {
    type Item = Group<R>;

    /// Waits for a batch, and signs it with those that wait too.
    fn next(&mut self) -> Option<Group<R>> {
        let first = self.batches.recv().ok()?;
        let began = self.clock.monotonic_ns();
        let mut batches = vec![first];
        if self.cadence == Cadence::Group {
            batches.extend(self.batches.try_iter().take(BATCHES_MAX - 1));
        }
        if let Some(head) = self.withdrawn.try_iter().last() {
            self.head = head;
        }
        let digests: Vec<[u8; 32]> =
            batches.iter().flat_map(|batch| &batch.lanes).map(|lane| lane.digest).collect();
        let signed = self.sign(&digests);
        if let Some((seal, _)) = &signed {
            self.head.follow(seal.header());
        }
        Some(Group { batches, signed, began })
    }
}

impl<R> Signing<R> {
    fn sign(&mut self, digests: &[[u8; 32]]) -> Option<(UncheckedSeal, MerkleTree)> {
        let tree = seal_tree(digests)?;
        let header = SealHeader {
            issuer: self.origin.issuer.clone(),
            key_set_id: self.keys.public().id(),
            seal_number: self.head.next_number(),
            previous: self.head.previous,
            log_root: self.head.log.root(),
            tree_size: tree.size(),
            root: tree.root(),
            time: self.clock.unix_s(),
            suite: Suite::One,
            vaults: self.origin.vaults.states(),
            restored: self.origin.restored,
        };
        let seal = self.keys.sign_seal_unchecked(header, &mut rand::rng()).ok()?;
        Some((seal, tree))
    }
}
