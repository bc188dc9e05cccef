//! Step four: sign a Merkle root over the digests that wait, check the signatures, release what they cover, and repeat.
//!
//! Group commit bounds both cost and latency without a tuning knob: while one seal is being made the next one's digests
//! gather, so a digest is released after two signing times at the most, and the cost per batch falls as load rises.
//! [`Cadence::PerBatch`] signs each batch alone, for comparison.
//!
//! At low load that would give each login a seal of its own, and a seal is 21.7 KB. So a [`Floor`] keeps seals apart until enough
//! lanes wait. The first after a quiet moment is sealed at once.
//!
//! A seal takes as long to check as to sign. Where two processors can be spared a second thread checks each seal while the
//! first signs the next; they hand over without a queue. Digests then wait for half of a seal's time and are released after
//! about one and a half: halves are not equal, and the faster thread waits for the other. Elsewhere that would make smaller
//! groups for no gain, and one thread does both.
//!
//! Nothing leaves unsigned: lanes are released by [`Release::sealed`] together with a seal whose three
//! signatures have been verified, in the order of the chain. A seal that is refused refuses its lanes, and those of the seal
//! that was signed after it meanwhile, which follows on what nobody will ever see.

mod checking;
mod signing;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Sender, bounded, unbounded};
use rustix::process::setpriority_process;
use trefoil_attest::log::Frontier;
use trefoil_attest::tree::MerkleTree;
use trefoil_attest::{Restoration, Seal, SealHeader};
use trefoil_sign::SigningKeys;

use self::checking::Checking;
use self::signing::Signing;
use crate::clock::Clock;
use crate::request::{BoundLane, Refusal};
use crate::steps::StageTimes;
use crate::vaults::SeenVaults;

/// How many batches one seal covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cadence {
    /// Every batch that waits when the signing thread is free.
    #[default]
    Group,
    /// Exactly one batch.
    PerBatch,
}

/// The least distance between the beginnings of two seals while few lanes wait. It bounds what a login costs on disk at low load:
/// a login waits for company, and never longer than this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// From the beginning of one seal to that of the next.
    pub distance: Duration,
    /// Lanes that do not wait for it.
    pub lanes: usize,
}

impl Floor {
    /// Seals follow at once.
    pub const NONE: Floor = Floor { distance: Duration::ZERO, lanes: 0 };
}

/// How seals follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// How many batches one covers.
    pub cadence: Cadence,
    /// How far apart seals are at low load. It holds for [`Cadence::Group`].
    pub floor: Floor,
    /// Whether one is signed while the one before it is checked, which takes a second thread.
    pub overlapping: bool,
}

/// What every seal says of the service that seals.
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
    /// A service of which nobody looks at the vaults, and whose log never was restored.
    pub fn new(issuer: impl Into<String>) -> Origin {
        Origin { issuer: issuer.into(), vaults: Arc::default(), restored: None }
    }
}

/// Most batches under one seal: an inclusion path then has at most 15 hashes. A service lets no more in at a time
/// ([`UNSEALED_MAX`](crate::UNSEALED_MAX)), so whatever waits when a seal begins is under it.
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

/// A batch after the worker: its decided lanes, ready to be sealed, and the others.
pub struct Bound<R> {
    /// Decided lanes in random order.
    pub lanes: Vec<BoundLane<R>>,
    /// Lanes without a decision, until they are told.
    pub refused: Vec<(R, Refusal)>,
    /// Time per step so far.
    pub times: StageTimes,
}

/// A seal, and the tree over the digests that it covers. The thread that answers reads the paths off the tree.
pub struct SealedTree {
    /// Header and three verified signatures.
    pub seal: Seal,
    /// The tree whose root they sign.
    pub tree: MerkleTree,
}

/// A seal and all it covers.
pub struct Sealed<R> {
    /// The seal and its tree.
    pub under: Arc<SealedTree>,
    /// The batches it covers, with at least one lane. The digests of their lanes, one after the other, are the leaves.
    pub batches: Vec<Bound<R>>,
    /// Time of this seal: gathering, tree, three signatures, hand-over, their check, nanoseconds.
    pub seal_ns: u64,
}

impl<R> Sealed<R> {
    /// The lanes it covers, in leaf order.
    pub fn lanes(&self) -> impl Iterator<Item = &BoundLane<R>> {
        self.batches.iter().flat_map(|batch| &batch.lanes)
    }
}

/// Receives what the pipeline lets go of. Called on pipeline threads: implementations hand over and return.
pub trait Release<R>: Send + Sync {
    /// Lanes are sealed.
    fn sealed(&self, sealed: Sealed<R>);
    /// A lane has no decision.
    fn refused(&self, reply: R, why: Refusal);
    /// A thread of this name panicked. Its work in flight is lost; the caller ends the pipeline.
    fn panicked(&self, _thread: &str, _panic: &(dyn Any + Send)) {}
}

/// The one or two threads that seal.
pub struct Sealer {
    /// Signs, where another thread checks.
    signing: Option<JoinHandle<()>>,
    checking: JoinHandle<ChainHead>,
}

impl Sealer {
    /// Starts sealing. The returned sender takes decided batches; sealing ends when all its clones are gone.
    /// `after_group` is told the number of batches each time some have been sealed or refused: the queue
    /// itself is unbounded, so the sender keeps the number of unsealed batches bounded.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start<R: Send + 'static>(
        keys: SigningKeys,
        origin: Origin,
        head: ChainHead,
        sequence: Sequence,
        clock: Arc<dyn Clock>,
        release: Arc<dyn Release<R>>,
        after_group: impl Fn(usize) + Send + 'static,
    ) -> std::io::Result<(Sender<Bound<R>>, Sealer)> {
        let (sender, batches) = unbounded();
        let precomputation = keys.precomputation();
        // Seals do not wait for it, and are only slower without it, so its panic ends no other thread. It ends with the keys; a
        // fault that it meets makes them refuse to sign.
        std::thread::Builder::new().name("precomputation".to_owned()).spawn(move || {
            // Of this thread only, on Linux. A system that refuses lets it compete with the seals for a few seconds.
            setpriority_process(None, 19).unwrap_or_default();
            precomputation.run().unwrap_or_default();
        })?;
        let (withdraw, withdrawn) = unbounded();
        let checker = keys.checker();
        let released = Arc::clone(&release);
        let checking =
            Checking { checker, head: head.clone(), withdraw, clock: Arc::clone(&clock), release: released };
        let Sequence { cadence, floor, .. } = sequence;
        let signing = Signing { keys, origin, head, batches, cadence, floor, began: None, withdrawn, clock };
        if !sequence.overlapping {
            let checking = thread("sealer", &release, move || checking.finish_all(signing, after_group))?;
            return Ok((sender, Sealer { signing: None, checking }));
        }
        // Without a queue: a digest that could wait for a seal to be checked waits for the next seal instead.
        let (hand_over, signed) = bounded(0);
        let check = move || checking.finish_all(signed.into_iter(), after_group);
        let checking = thread("seal-checking", &release, check)?;
        let signing = thread("seal-signing", &release, move || {
            for group in signing {
                if hand_over.send(group).is_err() {
                    break;
                }
            }
        })?;
        Ok((sender, Sealer { signing: Some(signing), checking }))
    }

    /// Waits until every batch is sealed; returns the end of the chain, or `None` if a thread panicked.
    pub fn join(self) -> Option<ChainHead> {
        self.signing.map_or(Ok(()), JoinHandle::join).ok()?;
        self.checking.join().ok()
    }
}

/// Starts a thread whose panic is told to `release`.
fn thread<R: 'static, T: Send + 'static>(
    name: &'static str,
    release: &Arc<dyn Release<R>>,
    work: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    let release = Arc::clone(release);
    std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            release.panicked(name, &*panic);
            resume_unwind(panic)
        })
    })
}
