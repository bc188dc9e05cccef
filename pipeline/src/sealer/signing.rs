//! The first half of a seal: its tree, and three signatures that nobody has checked.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Receiver;
use trefoil_attest::tree::MerkleTree;
use trefoil_attest::{SealHeader, Suite};
use trefoil_sign::{SigningKeys, UncheckedSeal, seal_tree};

use super::{BATCHES_MAX, Bound, Cadence, ChainHead, Floor, Origin};
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
    pub(super) floor: Floor,
    /// When the last seal was begun, on the clock.
    pub(super) began: Option<u64>,
    /// Where to go on after a seal that was refused.
    pub(super) withdrawn: Receiver<ChainHead>,
    pub(super) clock: Arc<dyn Clock>,
}

impl<R> Iterator for Signing<R> {
    type Item = Group<R>;

    /// Waits for a batch, and signs it with those that wait too.
    fn next(&mut self) -> Option<Group<R>> {
        let mut batches = vec![self.batches.recv().ok()?];
        if self.cadence == Cadence::Group {
            self.gather(&mut batches);
        }
        let began = self.clock.monotonic_ns();
        self.began = Some(began);
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
    /// Takes what waits, and what comes until the floor is over or enough lanes wait.
    fn gather(&self, batches: &mut Vec<Bound<R>>) {
        let due = self.began.map_or(0, |began| began.saturating_add(nanoseconds(self.floor.distance)));
        loop {
            batches.extend(self.batches.try_iter().take(BATCHES_MAX - batches.len()));
            let lanes: usize = batches.iter().map(|batch| batch.lanes.len()).sum();
            let wait = due.saturating_sub(self.clock.monotonic_ns());
            if wait == 0 || lanes >= self.floor.lanes || batches.len() == BATCHES_MAX {
                return;
            }
            // Nothing came, or nothing will: a drain waits for no floor.
            let Ok(batch) = self.batches.recv_timeout(Duration::from_nanos(wait)) else { return };
            batches.push(batch);
        }
    }

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

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
