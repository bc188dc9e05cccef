//! Step four: one thread that signs Merkle roots over the digests that wait, releases them, and repeats.
//!
//! Group commit bounds both cost and latency without a tuning knob: while one seal is being signed the
//! next one's digests gather, so a digest waits for at most two signing times, and the cost per
//! batch falls as load rises. [`Cadence::PerBatch`] signs each batch alone, for comparison.
//!
//! Nothing leaves unsigned: lanes are released by [`Release::sealed`] together with a seal whose three
//! signatures have been verified, and a failed signing refuses its lanes.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, unbounded};
use rustix::process::setpriority_process;
use trefoil_attest::log::Frontier;
use trefoil_attest::tree::MerkleTree;
use trefoil_attest::{Seal, SealHeader, Suite};
use trefoil_sign::SigningKeys;

use crate::clock::Clock;
use crate::request::{BoundLane, Refusal};
use crate::steps::StageTimes;

/// How many batches one seal covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cadence {
    /// Every batch that waits when the signer is free.
    #[default]
    Group,
    /// Exactly one batch.
    PerBatch,
}

/// Most batches under one seal: an inclusion path then has at most 15 hashes.
const BATCHES_MAX: usize = 1024;

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

    /// Goes on to the seal with this header.
    pub fn follow(&mut self, header: &SealHeader) {
        self.previous = header.digest();
        self.log.push(&self.previous);
    }
}

/// A batch whose lanes are decided.
pub struct Bound<R> {
    /// The lanes.
    pub lanes: Vec<BoundLane<R>>,
    /// Time per step so far.
    pub times: StageTimes,
}

/// A lane under a seal.
pub struct SealedLane<R> {
    /// The lane.
    pub bound: BoundLane<R>,
    /// Position of its digest among the seal's leaves.
    pub leaf_index: u64,
    /// Hashes from the leaf to the root (RFC 9162 section 2.1.3).
    pub path: Vec<[u8; 32]>,
}

/// A seal and all it covers.
pub struct Sealed<R> {
    /// The seal: header and three verified signatures.
    pub seal: Arc<Seal>,
    /// The lanes it covers, in leaf order.
    pub lanes: Vec<SealedLane<R>>,
    /// Step times of each batch it covers.
    pub batches: Vec<(usize, StageTimes)>,
    /// Time of this seal: gathering, tree, paths, three signatures and their verification, nanoseconds.
    pub seal_ns: u64,
}

/// Receives what the pipeline lets go of. Called on pipeline threads: implementations hand over and return.
pub trait Release<R>: Send + Sync {
    /// Lanes are sealed.
    fn sealed(&self, sealed: Sealed<R>);
    /// A lane has no decision.
    fn refused(&self, reply: R, why: Refusal);
}

/// The sealing thread.
pub struct Sealer {
    thread: JoinHandle<ChainHead>,
}

impl Sealer {
    /// Starts sealing. The returned sender takes decided batches; sealing ends when all its clones are gone.
    /// `after_group` is told the number of batches each time some have been sealed or refused: the queue
    /// itself is unbounded, so whoever sends keeps the number of unsealed batches bounded.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start<R: Send + 'static>(
        keys: SigningKeys,
        issuer: String,
        head: ChainHead,
        cadence: Cadence,
        clock: Arc<dyn Clock>,
        release: Arc<dyn Release<R>>,
        after_group: impl Fn(usize) + Send + 'static,
    ) -> std::io::Result<(Sender<Bound<R>>, Sealer)> {
        let (sender, batches) = unbounded();
        let precomputation = keys.precomputation();
        // Seals do not wait for it. It ends with the keys; a fault that it meets makes them refuse to sign.
        std::thread::Builder::new().name("precomputation".into()).spawn(move || {
            // Of this thread only, on Linux. A system that refuses lets it compete with the seals for a few seconds.
            setpriority_process(None, 19).unwrap_or_default();
            precomputation.run().unwrap_or_default();
        })?;
        let mut chain = Chain { keys, issuer, head, clock, release };
        let thread = std::thread::Builder::new().name("sealer".into()).spawn(move || {
            while let Ok(first) = batches.recv() {
                let began = chain.clock.monotonic_ns();
                let group = group(first, &batches, cadence);
                let batches = group.len();
                chain.seal(group, began);
                after_group(batches);
            }
            chain.head
        })?;
        Ok((sender, Sealer { thread }))
    }

    /// Waits until every batch is sealed; returns the end of the chain, or `None` if the thread panicked.
    pub fn join(self) -> Option<ChainHead> {
        self.thread.join().ok()
    }
}

/// What goes under one seal with `first`.
fn group<R>(first: Bound<R>, waiting: &Receiver<Bound<R>>, cadence: Cadence) -> Vec<Bound<R>> {
    let mut group = vec![first];
    if cadence == Cadence::Group {
        group.extend(waiting.try_iter().take(BATCHES_MAX - 1));
    }
    group
}

struct Chain<R> {
    keys: SigningKeys,
    issuer: String,
    head: ChainHead,
    clock: Arc<dyn Clock>,
    release: Arc<dyn Release<R>>,
}

impl<R> Chain<R> {
    /// Seals and releases a group that was begun at a time of the clock.
    fn seal(&mut self, group: Vec<Bound<R>>, began: u64) {
        let batches = group.iter().map(|b| (b.lanes.len(), b.times)).collect();
        let lanes: Vec<BoundLane<R>> = group.into_iter().flat_map(|b| b.lanes).collect();
        let digests: Vec<[u8; 32]> = lanes.iter().map(|lane| lane.digest).collect();
        let Some((seal, paths)) = self.sign(&digests) else {
            for lane in lanes {
                self.release.refused(lane.reply, Refusal::Fault);
            }
            return;
        };
        self.head.follow(&seal.header);
        let lanes = lanes
            .into_iter()
            .zip(paths)
            .zip(0u64..)
            .map(|((bound, path), leaf_index)| SealedLane { bound, leaf_index, path })
            .collect();
        let seal_ns = self.clock.monotonic_ns() - began;
        self.release.sealed(Sealed { seal: Arc::new(seal), lanes, batches, seal_ns });
    }

    /// The next seal over `digests` and the inclusion path of each; `None` when there is nothing to sign or
    /// the signer refused.
    fn sign(&mut self, digests: &[[u8; 32]]) -> Option<(Seal, Vec<Vec<[u8; 32]>>)> {
        let tree = MerkleTree::new(digests)?;
        let paths = (0..tree.size()).map(|i| tree.path(i)).collect::<Option<Vec<_>>>()?;
        let header = SealHeader {
            issuer: self.issuer.clone(),
            key_set_id: self.keys.public().id(),
            seal_number: self.head.next_number(),
            previous: self.head.previous,
            log_root: self.head.log.root(),
            tree_size: tree.size(),
            root: tree.root(),
            time: self.clock.unix_s(),
            suite: Suite::One,
        };
        let seal = self.keys.sign_seal(header, &mut rand::rng()).ok()?;
        Some((seal, paths))
    }
}
