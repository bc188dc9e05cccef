//! Released output: a seal with everything it covers, and its receiver.

use std::any::Any;
use std::sync::Arc;

use trefoil_attest::log::Frontier;
use trefoil_attest::tree::MerkleTree;
use trefoil_attest::{Seal, SealReference};

use super::chain::LogTurn;
use crate::request::{Bound, BoundLane, Refusal};

/// A seal, and the tree over the digests that it covers. The thread that answers reads the paths off the tree.
pub struct SealedTree {
    /// Header and three verified signatures.
    pub seal: Seal,
    /// The tree whose root they sign.
    pub tree: MerkleTree,
    /// The seal's name, which each compact answer has.
    pub reference: SealReference,
}

impl SealedTree {
    /// A seal over the root of this tree.
    pub fn new(seal: Seal, tree: MerkleTree) -> SealedTree {
        SealedTree { reference: seal.reference(), seal, tree }
    }
}

/// A seal and all it covers.
pub struct Sealed<R> {
    /// The seal and its tree.
    pub under: Arc<SealedTree>,
    /// The batches it covers, with at least one lane. The digests of their lanes, one after the other, are the leaves.
    pub batches: Vec<Bound<R>>,
    /// The log before this seal.
    pub log: Frontier,
    /// The turn in a log that others extend too: to be dropped once the seal is stored.
    pub turn: Option<LogTurn>,
    /// Time of this seal on its thread, nanoseconds: tree, header, three signatures, their check.
    pub seal_ns: u64,
}

impl<R> Sealed<R> {
    /// The lanes it covers, in leaf order.
    pub fn lanes(&self) -> impl Iterator<Item = &BoundLane<R>> {
        self.batches.iter().flat_map(|batch| &batch.lanes)
    }
}

/// Receives the pipeline's output. Called on pipeline threads: implementations hand over and return.
pub trait Release<R>: Send + Sync {
    /// Lanes are sealed.
    fn sealed(&self, sealed: Sealed<R>);
    /// A lane has no decision.
    fn refused(&self, reply: R, why: Refusal);
    /// A thread of this name panicked. Its work in flight is lost; the caller ends the pipeline.
    fn panicked(&self, _thread: &str, _panic: &(dyn Any + Send)) {}
}
