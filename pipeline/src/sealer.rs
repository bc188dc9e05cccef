//! Step four: sign a Merkle root over digests, check the signatures, release what they cover, and repeat.
//!
//! A header names the header before it and the log of all headers before it, and no signature. So headers follow one another, in
//! microseconds each, and their signatures, in milliseconds, are made side by side. Nothing leaves unsigned or out of order: lanes
//! are released by [`Release::sealed`] together with a seal whose three signatures have been verified, after every seal that it
//! follows. A refused seal refuses its lanes, and those of all seals that were started after it until the chain was told:
//! they follow a seal that will never be released. Then the chain continues from the last released seal.
//!
//! # Which threads sign
//!
//! Under [`Cadence::Group`], [`Sequence::sealers`] dedicated threads. Group commit bounds both cost and latency without a
//! tuning knob: while seals are being made, digests gather for the next one, so the cost per batch falls as load rises. One thread
//! makes the largest groups and takes the least from the workers; its digests are released after at most two seals' times, if the floor sets no seals apart.
//! `k` threads start a seal every `k`th part of a seal's time, so a digest waits for that part and for its own seal. They make
//! `k` times the seals, and each seal costs a processor's milliseconds and 21.7 KB of disk. So [`Placement::sealers`] takes two
//! if two cores can be spared, and one otherwise.
//!
//! At low load each login would get its own seal, and under load seals would take a whole processor. So a [`Floor`] keeps seals apart: until
//! enough lanes wait, and under load by more than a seal takes, so that logins wait longer and pay less. The first after a quiet moment is
//! sealed at once.
//!
//! Under [`Cadence::PerBatch`] the worker that decided a batch seals it, with its own copy of the keys. A seal is then nine tenths
//! of a batch's work. Dedicated threads would need as many cores as there are workers, and contend with the workers for the same ones;
//! handing a batch over costs a wake-up and a cache's worth of moving. On its worker a seal needs neither: `n` workers keep `n`
//! cores busy, pinned as they are, and share only the order of headers and of releases, for microseconds a seal. A
//! worker whose seal is ready before an earlier one hands it over and takes the next batch.
//!
//! [`Placement::sealers`]: crate::affinity::Placement::sealers

mod chain;
mod gathering;
mod release;
mod releasing;
mod signer;
#[cfg(test)]
mod tests;
mod turns;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use trefoil_attest::KeySetId;
use trefoil_sign::{KeyError, SigningKeys};

use self::chain::Chain;
pub use self::chain::{ChainHead, LogTurn, Origin, SharedLog};
pub use self::gathering::Floor;
use self::gathering::Gathering;
pub use self::release::{Release, Sealed, SealedTree};
use self::releasing::Releasing;
use self::signer::{Keys, Sign, Signer};
use self::turns::Turns;
use crate::clock::Clock;
use crate::driver;
use crate::request::Bound;

/// How many batches one seal covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cadence {
    /// All batches that wait when a sealing thread becomes free.
    #[default]
    Group,
    /// Exactly one batch, sealed by the worker that decided it.
    PerBatch,
}

/// How seals follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// How many batches one covers.
    pub cadence: Cadence,
    /// How far apart seals are. It holds for [`Cadence::Group`].
    pub floor: Floor,
    /// Threads that seal, each a seal at a time; at least 1. It holds for [`Cadence::Group`].
    pub sealers: usize,
}

/// Makes what one thread signs with.
type Copies = Arc<dyn Fn() -> Result<Box<dyn Sign>, KeyError> + Send + Sync>;

/// Sealing, until the last [`Outlet`] is dropped.
pub struct Sealer<R> {
    releasing: Turns<Releasing<R>>,
    /// Ends when no signer is left.
    alive: Receiver<()>,
}

/// The way of a worker's decided batches to their seals. Each worker has a clone.
pub struct Outlet<R>(Way<R>);

enum Way<R> {
    /// To the threads that seal. Unbounded: the sender bounds the number of unsealed batches.
    Queue(Sender<Bound<R>>),
    /// On this worker, with its own keys once it has sealed.
    Here { signers: Signers<R>, own: Option<Box<Signer<R>>> },
}

/// Makes a signer for each thread that seals.
struct Signers<R> {
    copies: Copies,
    chain: Turns<Chain>,
    releasing: Turns<Releasing<R>>,
    shared: Option<Arc<dyn SharedLog>>,
    clock: Arc<dyn Clock>,
    alive: Sender<()>,
}

impl<R> Clone for Signers<R> {
    fn clone(&self) -> Self {
        let Signers { copies, chain, releasing, shared, clock, alive } = self;
        Signers {
            copies: Arc::clone(copies),
            chain: chain.clone(),
            releasing: releasing.clone(),
            shared: shared.clone(),
            clock: Arc::clone(clock),
            alive: alive.clone(),
        }
    }
}

impl<R> Signers<R> {
    fn signer(&self) -> Result<Box<Signer<R>>, KeyError> {
        let Signers { copies, chain, releasing, shared, clock, alive } = self.clone();
        Ok(Box::new(Signer { keys: copies()?, chain, releasing, shared, clock, _alive: alive }))
    }
}

impl<R> Clone for Outlet<R> {
    fn clone(&self) -> Self {
        Outlet(match &self.0 {
            Way::Queue(batches) => Way::Queue(batches.clone()),
            Way::Here { signers, .. } => Way::Here { signers: signers.clone(), own: None },
        })
    }
}

impl<R> Outlet<R> {
    /// Has a batch sealed: later by a sealing thread, or now by this one. `false` if it will not be sealed, because it has no lane
    /// or sealing has ended; its replies are dropped then.
    pub fn seal(&mut self, batch: Bound<R>) -> bool {
        if batch.lanes.is_empty() {
            return false;
        }
        let (signers, own) = match &mut self.0 {
            Way::Queue(batches) => return batches.send(batch).is_ok(),
            Way::Here { signers, own } => (signers, own),
        };
        // It is out of its place while it seals, so that a panic drops it.
        let Some(mut signer) = own.take().or_else(|| signers.signer().ok()) else { return false };
        let sealed = signer.begin(vec![batch], |_| {}).and_then(|begun| signer.finish(begun));
        *own = Some(signer);
        sealed.is_some()
    }
}

impl<R: Send + 'static> Sealer<R> {
    /// Starts sealing, which ends when the returned outlet and all its clones are gone. `after_group` is told the number of
    /// batches each time some have been sealed or refused.
    ///
    /// # Errors
    /// When the system refuses a thread, or a copy of the keys fails its check because memory was damaged.
    pub fn start(
        keys: SigningKeys,
        origin: Origin,
        head: ChainHead,
        sequence: Sequence,
        clock: Arc<dyn Clock>,
        release: Arc<dyn Release<R>>,
        after_group: impl Fn(usize) + Send + 'static,
    ) -> std::io::Result<(Outlet<R>, Sealer<R>)> {
        let (precomputation, key_set_id) = (keys.precomputation(), keys.id());
        // Seals do not wait for it, and are only slower without it, so its panic ends no other thread. It ends with the keys; a
        // fault that it meets makes them refuse to sign.
        driver::thread("precomputation", move || {
            // Otherwise it would compete with the seals for a few seconds.
            driver::give_way();
            precomputation.run().unwrap_or_default();
        })?;
        let copies: Copies = Arc::new(move || Ok(Box::new(Keys::copied_from(&keys)?)));
        let end = End { origin, key_set_id, head };
        Self::start_with(copies, end, sequence, clock, release, after_group)
    }

    fn start_with(
        copies: Copies,
        End { origin, key_set_id, head }: End,
        sequence: Sequence,
        clock: Arc<dyn Clock>,
        release: Arc<dyn Release<R>>,
        after_group: impl Fn(usize) + Send + 'static,
    ) -> std::io::Result<(Outlet<R>, Sealer<R>)> {
        let (withdraw, withdrawn) = unbounded();
        let (alive, ended) = bounded(0);
        let releasing = Turns::new(Releasing {
            head: head.clone(),
            next: 0,
            early: BTreeMap::new(),
            withdraw,
            release: Arc::clone(&release),
            after_group: Box::new(after_group),
        });
        let sealer = Sealer { releasing: releasing.clone(), alive: ended };
        let shared = origin.shared.clone();
        let chain = Turns::new(Chain { origin, key_set_id, head, place: 0, withdrawn });
        let signers = Signers { copies, chain, releasing, shared, clock, alive };
        let Sequence { cadence, floor, sealers } = sequence;
        if cadence == Cadence::PerBatch {
            return Ok((Outlet(Way::Here { signers, own: None }), sealer));
        }
        let (sender, batches) = unbounded();
        let gathering = Turns::new(Gathering {
            batches,
            floor,
            sealers: sealers.max(1) as u64,
            began: None,
            took: 0,
            covered: 0,
            clock: Arc::clone(&signers.clock),
        });
        for index in 0..sealers.max(1) {
            let mut signer = signers.signer().map_err(std::io::Error::other)?;
            let gathering = gathering.clone();
            thread(format!("sealer-{index}"), &release, move || seal_groups(&mut signer, &gathering))?;
        }
        Ok((Outlet(Way::Queue(sender)), sealer))
    }

    /// Waits until every batch is sealed or refused; returns the end of the chain, or `None` if a thread panicked.
    pub fn join(self) -> Option<ChainHead> {
        // Nothing is sent: this is the end of the last signer.
        self.alive.iter().for_each(drop);
        let releasing = self.releasing.take()?;
        releasing.early.is_empty().then(|| releasing.head.clone())
    }
}

/// The end of a chain, and the fields of its next headers.
struct End {
    origin: Origin,
    key_set_id: KeySetId,
    head: ChainHead,
}

/// Seals one group after the other. While this thread signs, another one gathers.
fn seal_groups<R>(signer: &mut Signer<R>, gathering: &Turns<Gathering<R>>) {
    let mut took = None;
    while let Some(mut turn) = gathering.take() {
        turn.took = took.unwrap_or(turn.took);
        // If no batch will come any more, the turn ends here for all threads.
        let Some(batches) = turn.group() else { return };
        let Some(begun) = signer.begin(batches, |batches| turn.join(batches)) else { return };
        turn.pass();
        took = signer.finish(begun);
        if took.is_none() {
            return;
        }
    }
}

/// Starts a thread whose panic is told to `release`.
fn thread<R: 'static>(
    name: String,
    release: &Arc<dyn Release<R>>,
    work: impl FnOnce() + Send + 'static,
) -> std::io::Result<()> {
    let release = Arc::clone(release);
    driver::thread(name.clone(), move || {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            release.panicked(&name, &*panic);
            resume_unwind(panic)
        });
    })?;
    Ok(())
}
