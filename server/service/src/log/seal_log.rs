//! Stores each seal durably before anything under it is answered.
//!
//! A compact attestation names its seal, and every seal names the one before it. An answer under a seal that was not
//! stored would break both. So one thread stores each seal and only then completes its lanes.
//!
//! If the store does not take a seal, because the disk is full or fails, the thread retries until it does: the same bytes under the
//! same number. The sealer has signed the seal and may have signed the next ones on top of it. So in one process no number ever gets a second
//! content, and nothing is answered from a log with a hole. The lanes under the seal wait for [`PATIENCE`], then they are refused. Their
//! decisions stay in the log, unanswered, as after a kill between storing and answering. Meanwhile the service refuses logins at the
//! door ([`Standing::waits`]). It recovers when the store takes the seal. A process that ends before that loses seals that no caller
//! has seen: the next process signs its own in their place. If the store has another seal under the number, another program wrote to it, and
//! the process ends.
//!
//! If other nodes extend the log too, a seal comes with this node's turn, which ends once the seal is stored. Then nothing follows a seal that
//! is not stored, so one that the store does not take for a second is given up. So is one whose number has another seal by then: the
//! database had ended the turn. Neither was seen by a caller.
//!
//! The transaction of a seal also stores the tree nodes that it completes: two hashes on average and 64 at most, whatever
//! the length of the log. So proofs for any two sizes can be answered from stored nodes.

use crate::counters::Counters;
use crate::log::asker::Asker;
use arc_swap::ArcSwapOption;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use trefoil_attest::tree::Hash;
use trefoil_attest::{Attestation, Decision, Evidence};
use trefoil_pipeline::{BoundLane, Refusal, Release, Sealed, SealedTree};
use trefoil_storage::Supervisor;
use trefoil_storage::store::StoreError;

/// Seals that may wait for the disk; then the sealer waits.
const QUEUE_MAX: usize = 8;

/// Pause before the next try of a seal that the store did not take.
const PAUSE: Duration = Duration::from_millis(250);
/// The same once its lanes are refused.
const LONG_PAUSE: Duration = Duration::from_secs(1);
/// Tries of one seal before its lanes are refused: with the pauses, a second.
const PATIENCE: u32 = 4;

/// Where an authentication's answer goes.
pub(crate) type Reply = oneshot::Sender<Result<Answer, Unanswered>>;

/// The receiver of a lane's answer.
pub(crate) type Answered = oneshot::Receiver<Result<Answer, Unanswered>>;

/// Why a lane has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// The pipeline refused it.
    Refused(Refusal),
    /// It was decided, but the store does not take its seal.
    Unstored,
}

/// The state of the seal log for the rest of the service.
#[derive(Debug, Default)]
pub struct Standing {
    waiting: AtomicBool,
    /// Since when, if it waits.
    since: ArcSwapOption<Instant>,
    reached: AtomicU64,
    /// Why the store takes nothing, if that is not for want of room.
    away: ArcSwapOption<String>,
}

impl Standing {
    /// Of a log that has reached this time.
    pub fn at(reached: u64) -> Standing {
        Standing { reached: reached.into(), ..Standing::default() }
    }

    /// The time that the log has reached, Unix seconds: no later seal is dated before it.
    pub fn reached(&self) -> u64 {
        self.reached.load(Ordering::Acquire)
    }

    /// The next seals are not dated before this.
    #[expect(clippy::disallowed_methods, reason = "written once a second; other workers only read it")]
    pub(crate) fn reach(&self, time: u64) {
        if self.reached() < time {
            self.reached.fetch_max(time, Ordering::AcqRel);
        }
    }

    /// Whether a seal waits for the store.
    pub fn waits(&self) -> bool {
        self.waiting.load(Ordering::Relaxed)
    }

    /// For how long the oldest seal has waited for the store, if one waits.
    pub fn waited(&self) -> Option<Duration> {
        let since = self.waits().then(|| self.since.load_full()).flatten()?;
        Some(since.elapsed())
    }

    /// Why a seal waits, if the store is away or held by another program.
    pub fn away(&self) -> Option<String> {
        let why = self.waits().then(|| self.away.load_full()).flatten()?;
        Some(format!("a seal waits for the store: {why}"))
    }

    fn begin(&self, cause: &StoreError) {
        let is_away = matches!(cause, StoreError::Locked(_) | StoreError::Unreachable(_));
        self.away.store(is_away.then(|| Arc::new(cause.to_string())));
        if !self.waits() {
            self.since.store(Some(Arc::new(Instant::now())));
        }
        self.waiting.store(true, Ordering::Relaxed);
    }
}

/// A sealed lane.
pub struct Answer {
    /// The decision; `None` for a change.
    pub decision: Option<Decision>,
    /// The attested statement, CBOR.
    pub statement: Vec<u8>,
    /// Its SHA3-256.
    pub digest: [u8; 32],
    /// Its leaf.
    pub leaf_index: u64,
    /// The seal, and the tree with its path.
    pub under: Arc<SealedTree>,
}

impl Answer {
    /// The attestation that names its seal; `None` if the answer is no leaf of it.
    pub fn compact(&self) -> Option<Vec<u8>> {
        let Answer { statement, leaf_index, under, .. } = self;
        let SealedTree { tree, reference, .. } = &**under;
        let (tree_size, path) = (tree.size(), tree.path(*leaf_index)?);
        let evidence = Evidence::Compact(*reference);
        Some(
            Attestation { statement, leaf_index: *leaf_index, tree_size, path, evidence, device: None }
                .encode(),
        )
    }
}

/// The pipeline's output.
pub struct SealLog {
    queue: Sender<Sealed<Asker>>,
    standing: Arc<Standing>,
    supervisor: Supervisor,
}

impl SealLog {
    /// Starts the thread; it ends when the log is dropped. `store` keeps a seal, as
    /// [`trefoil_storage::store::Log::put_seal`] does.
    pub fn start(
        store: impl Fn(u64, Vec<u8>, Vec<Hash>) -> Result<(), StoreError> + Send + 'static,
        counters: Arc<Counters>,
        standing: Arc<Standing>,
        supervisor: &Supervisor,
    ) -> std::io::Result<(SealLog, JoinHandle<()>)> {
        let (queue, sealed) = bounded(QUEUE_MAX);
        let (watching, supervisor) = (supervisor.clone(), supervisor.clone());
        let (died, told) = (supervisor.clone(), Arc::clone(&standing));
        let thread = std::thread::Builder::new().name("seal-log".to_owned()).spawn(move || {
            let writer = Writer { queue: &sealed, store, counters, standing, supervisor: died };
            // Without a writer no seal is stored.
            watching.watch_then("seal-log", || writer.run(), || sealed.iter().for_each(drop));
        })?;
        Ok((SealLog { queue, standing: told, supervisor }, thread))
    }
}

impl Release<Asker> for SealLog {
    fn sealed(&self, sealed: Sealed<Asker>) {
        self.standing.reach(sealed.under.seal.header.time);
        // The thread outlives the sender. If it panicked, the replies are dropped, which their receivers see as a fault.
        let _ = self.queue.send(sealed);
    }

    fn refused(&self, asker: Asker, why: Refusal) {
        let _ = asker.into_reply().send(Err(Unanswered::Refused(why)));
    }

    fn panicked(&self, thread: &str, panic: &(dyn Any + Send)) {
        self.supervisor.panicked(thread, panic);
    }
}

/// A seal on its way to the store, without its lanes.
struct Unstored {
    number: u64,
    bytes: Vec<u8>,
    completed: Vec<Hash>,
}

struct Writer<'a, F> {
    queue: &'a Receiver<Sealed<Asker>>,
    store: F,
    counters: Arc<Counters>,
    standing: Arc<Standing>,
    supervisor: Supervisor,
}

impl<F: Fn(u64, Vec<u8>, Vec<Hash>) -> Result<(), StoreError>> Writer<'_, F> {
    fn run(self) {
        while let Ok(sealed) = self.queue.recv() {
            let seal = self.next(&sealed);
            match self.put(&seal) {
                Ok(()) => self.answer(sealed),
                Err(cause) if sealed.turn.is_some() => self.put_in_turn(sealed, &seal, cause),
                Err(cause) => {
                    if self.wait_for_store(sealed, seal, cause).is_err() {
                        // The next one would follow a hole.
                        return self.queue.iter().for_each(refuse);
                    }
                }
            }
        }
    }

    /// The stored form of a seal, which is the next one of the log.
    fn next(&self, sealed: &Sealed<Asker>) -> Unstored {
        let seal = &sealed.under.seal;
        self.counters.sealed(&sealed.batches, sealed.seal_ns);
        let completed = sealed.log.clone().push(&seal.header.digest());
        Unstored { number: seal.header.seal_number, bytes: seal.encode(), completed }
    }

    fn put(&self, Unstored { number, bytes, completed }: &Unstored) -> Result<(), StoreError> {
        (self.store)(*number, bytes.clone(), completed.clone())
    }

    /// Retries a seal of a log that others extend too.
    fn put_in_turn(&self, sealed: Sealed<Asker>, seal: &Unstored, mut cause: StoreError) {
        for _ in 0..PATIENCE {
            if cause == StoreError::Conflict || self.supervisor.death().is_some() {
                break;
            }
            crossbeam_channel::after(PAUSE).recv().unwrap_or_else(|_| Instant::now());
            match self.put(seal) {
                Ok(()) => return self.answer(sealed),
                Err(again) => cause = again,
            }
        }
        tracing::error!(%cause, number = seal.number, "a seal was not stored; nothing under it was answered");
        refuse(sealed);
    }

    /// Retries a seal, and those that follow it, until the store has them all. The error says why it cannot succeed in this process. The
    /// door is closed meanwhile, so the number of seals is bounded by the requests in flight.
    fn wait_for_store(
        &self,
        sealed: Sealed<Asker>,
        seal: Unstored,
        cause: StoreError,
    ) -> Result<(), StoreError> {
        tracing::error!(%cause, number = seal.number, "a seal could not be stored; it is tried again until it is");
        self.standing.begin(&cause);
        let (mut first, mut unstored) = (Some(sealed), VecDeque::from([seal]));
        let (mut is_open, mut tries, mut last) = (true, 1_u32, cause);
        loop {
            if !is_open || self.supervisor.death().is_some() || last == StoreError::Conflict {
                let (cause, seals) = (&last, unstored.len());
                tracing::error!(%cause, seals, "the last seals were not stored; nothing under them was answered");
                first.take().into_iter().for_each(refuse);
                assert!(last != StoreError::Conflict, "the store has another seal {}", unstored[0].number);
                return Err(last);
            }
            if tries == PATIENCE {
                first.take().into_iter().for_each(refuse);
            }
            match self.queue.recv_timeout(if tries < PATIENCE { PAUSE } else { LONG_PAUSE }) {
                Ok(sealed) => {
                    unstored.push_back(self.next(&sealed));
                    refuse(sealed);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => is_open = false,
            }
            tries = tries.saturating_add(1);
            match self.put_all(&mut unstored) {
                Err(cause) => {
                    self.standing.begin(&cause);
                    last = cause;
                }
                Ok(()) => break,
            }
        }
        self.standing.waiting.store(false, Ordering::Relaxed);
        tracing::info!("the store has every seal again");
        if let Some(sealed) = first {
            self.answer(sealed);
        }
        Ok(())
    }

    fn put_all(&self, unstored: &mut VecDeque<Unstored>) -> Result<(), StoreError> {
        while let Some(seal) = unstored.front() {
            self.put(seal)?;
            unstored.pop_front();
        }
        Ok(())
    }

    fn answer(&self, Sealed { under, batches, log: _, turn, seal_ns: _ }: Sealed<Asker>) {
        // It is stored.
        drop(turn);
        let lanes = batches.into_iter().flat_map(|batch| batch.lanes);
        for (leaf_index, lane) in (0..).zip(lanes) {
            let BoundLane { reply, decision, statement, digest } = lane;
            decision.into_iter().for_each(|decision| self.counters.decided(decision));
            let under = Arc::clone(&under);
            let answer = Answer { decision, statement, digest, leaf_index, under };
            let _ = reply.into_reply().send(Ok(answer));
        }
    }
}

fn refuse(sealed: Sealed<Asker>) {
    for lane in sealed.batches.into_iter().flat_map(|batch| batch.lanes) {
        let _ = lane.reply.into_reply().send(Err(Unanswered::Unstored));
    }
}

#[cfg(test)]
mod tests;
