//! Step four: two threads seal the digests that wait. One builds a Merkle tree over them and signs its root; the other checks
//! that seal, releases what it covers, and repeats.
//!
//! Group commit bounds both cost and latency without a tuning knob: while one seal is being signed the next one's digests
//! gather, and the cost per batch falls as load rises. A seal takes as long to check as to sign, so digests wait for about
//! half of a seal's time, and are released after one and a half at the most. The threads hand over without a queue: one seal
//! is signed while one is checked. [`Cadence::PerBatch`] signs each batch alone, for comparison.
//!
//! Nothing leaves unsigned: lanes are released by [`Release::sealed`] together with a seal whose three
//! signatures have been verified, in the order of the chain. A seal that is refused refuses its lanes, and those of the seal
//! that was signed after it meanwhile, which follows on what nobody will ever see.

mod checking;
mod signing;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use rustix::process::setpriority_process;
use trefoil_attest::log::Frontier;
use trefoil_attest::{Seal, SealHeader};
use trefoil_sign::SigningKeys;

use self::checking::Checking;
use self::signing::Signing;
use crate::clock::Clock;
use crate::request::{BoundLane, Refusal};
use crate::steps::StageTimes;

/// How many batches one seal covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cadence {
    /// Every batch that waits when the signing thread is free.
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
    /// Time of this seal: gathering, tree, three signatures, hand-over, their check, paths, nanoseconds.
    pub seal_ns: u64,
}

/// Receives what the pipeline lets go of. Called on pipeline threads: implementations hand over and return.
pub trait Release<R>: Send + Sync {
    /// Lanes are sealed.
    fn sealed(&self, sealed: Sealed<R>);
    /// A lane has no decision.
    fn refused(&self, reply: R, why: Refusal);
}

/// The sealing threads.
pub struct Sealer {
    signing: JoinHandle<()>,
    checking: JoinHandle<ChainHead>,
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
        // Without a queue: a digest that could wait for a seal to be checked waits for the next seal instead.
        let (hand_over, signed) = bounded(0);
        let (withdraw, withdrawn) = unbounded();
        let mut checking = Checking {
            checker: keys.checker(),
            head: head.clone(),
            withdraw,
            clock: Arc::clone(&clock),
            release,
        };
        let checking = std::thread::Builder::new().name("seal-checking".into()).spawn(move || {
            for group in signed {
                let batches = checking.finish(group);
                after_group(batches);
            }
            checking.head
        })?;
        let mut signing = Signing { keys, issuer, head, withdrawn, clock };
        let signing = std::thread::Builder::new().name("seal-signing".into()).spawn(move || {
            while let Ok(first) = batches.recv() {
                let began = signing.clock.monotonic_ns();
                let group = signing.begin(group(first, &batches, cadence), began);
                if hand_over.send(group).is_err() {
                    break;
                }
            }
        })?;
        Ok((sender, Sealer { signing, checking }))
    }

    /// Waits until every batch is sealed; returns the end of the chain, or `None` if a thread panicked.
    pub fn join(self) -> Option<ChainHead> {
        self.signing.join().ok()?;
        self.checking.join().ok()
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
