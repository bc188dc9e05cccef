//! One seal on one thread: its tree, its header, three signatures, their check.

use std::sync::Arc;

use crossbeam_channel::Sender;
use trefoil_attest::tree::MerkleTree;
use trefoil_attest::{Seal, SealHeader};
use trefoil_sign::{KeyError, SealChecker, SigningKeys, seal_tree};

use super::chain::{Chain, Follows, Placed, SharedLog};
use super::release::SealedTree;
use super::releasing::{Finished, Releasing};
use super::turns::Turns;
use crate::clock::Clock;
use crate::request::{Bound, Refusal};

/// Makes checked seals.
pub(super) trait Sign: Send {
    /// The seal of this header, every signature checked; none if one was refused.
    fn seal(&mut self, header: SealHeader) -> Option<Seal>;
}

/// Keys of one thread: they share only the read-only precomputation.
pub(super) struct Keys {
    keys: SigningKeys,
    /// Has its own copy of the keys, so that a fault in one copy is detected by the other.
    checker: SealChecker,
}

impl Keys {
    pub(super) fn copied_from(keys: &SigningKeys) -> Result<Keys, KeyError> {
        Ok(Keys { keys: keys.duplicate()?, checker: keys.checker() })
    }
}

impl Sign for Keys {
    fn seal(&mut self, header: SealHeader) -> Option<Seal> {
        let unchecked = self.keys.sign_seal_unchecked(header, &mut rand::rng()).ok()?;
        self.checker.check(unchecked).ok()
    }
}

/// The state with which a thread seals. Many work in parallel; two values pass from one to another, each for some microseconds a seal: the
/// chain, which makes the header, and the order of release.
pub(super) struct Signer<R> {
    pub(super) keys: Box<dyn Sign>,
    pub(super) chain: Turns<Chain>,
    pub(super) releasing: Turns<Releasing<R>>,
    /// The log, if other services extend it too.
    pub(super) shared: Option<Arc<dyn SharedLog>>,
    pub(super) clock: Arc<dyn Clock>,
    /// Sealing is over when all of these are gone.
    pub(super) _alive: Sender<()>,
}

/// A group with its place in the chain, unsigned.
pub(super) struct Begun<R> {
    placed: Placed,
    tree: MerkleTree,
    batches: Vec<Bound<R>>,
    /// On the clock.
    began: u64,
}

impl<R> Signer<R> {
    /// Hashes the tree and takes the next place in the chain; none if sealing has ended. Batches without lanes need no seal. In a log that
    /// others extend too it waits for its turn, which takes as long as their seals, and `join` adds the batches that came meanwhile.
    pub(super) fn begin(
        &self,
        mut batches: Vec<Bound<R>>,
        join: impl FnOnce(&mut Vec<Bound<R>>),
    ) -> Option<Begun<R>> {
        let follows = match &self.shared {
            None => Follows::Ours,
            Some(log) => {
                let turn = log.turn();
                join(&mut batches);
                Follows::Shared(turn)
            }
        };
        let began = self.clock.monotonic_ns();
        let digests: Vec<[u8; 32]> =
            batches.iter().flat_map(|batch| &batch.lanes).map(|lane| lane.digest).collect();
        let tree = seal_tree(&digests)?;
        let mut chain = self.chain.take()?;
        let placed = chain.header(&tree, follows, &*self.clock);
        chain.pass();
        Some(Begun { placed, tree, batches, began })
    }

    /// Signs, checks, and releases it in its turn. Returns how long the seal took, nanoseconds; none if sealing has ended.
    pub(super) fn finish(&mut self, begun: Begun<R>) -> Option<u64> {
        let Begun { placed: Placed { place, head, header, turn }, tree, batches, began } = begun;
        let why = if header.is_some() { Refusal::Fault } else { Refusal::Unsealed };
        let under = header.and_then(|header| self.keys.seal(header)).map(|seal| SealedTree::new(seal, tree));
        let seal_ns = self.clock.monotonic_ns() - began;
        let mut releasing = self.releasing.take()?;
        releasing.finish(Finished { place, head, turn, batches, under, why, seal_ns });
        releasing.pass();
        Some(seal_ns)
    }
}

impl<R> Drop for Signer<R> {
    /// A thread that panics leaves a gap in the chain. Nothing after it can be released, so sealing ends for
    /// all threads, and waiting batches are dropped.
    fn drop(&mut self) {
        if std::thread::panicking() {
            drop(self.chain.take());
            drop(self.releasing.take());
        }
    }
}
