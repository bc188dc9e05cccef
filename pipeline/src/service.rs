//! Glue between a caller and the steps: intake queue, dispatcher thread, pool, sealer.
//!
//! Threads: any number of submitters; one dispatcher, which alone owns the [`Batcher`] and both
//! counters below; the pool's workers; those that seal, where workers do not. They talk through channels only.
//!
//! Bounds: `intake` waiting requests, then [`SubmitError::Busy`]; at most [`COMPUTING_PER_WORKER`] batches
//! per worker are in the pool and at most [`UNSEALED_MAX`] anywhere between dispatch and seal. When
//! either is reached, requests wait in the intake, so overload shows only at admission.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TryRecvError, TrySendError, bounded, never, select, unbounded};
use trefoil_attest::Restoration;
use trefoil_cache::Cache;
use trefoil_sign::SigningKeys;

use crate::TenantId;
use crate::affinity::Placement;
use crate::batcher::{Batcher, Delay};
use crate::clock::Clock;
use crate::door::Door;
use crate::driver::{self, Pool, PoolError};
use crate::request::{Batch, Bound, LaneRequest, Record, Refusal, StageTimes};
use crate::sealer::{Cadence, ChainHead, Floor, Origin, Outlet, Release, Sealer, Sequence, SharedLog};
use crate::steps::{Pipeline, Worker};
use crate::vaults::SeenVaults;
use crate::verdict::Verdict;

/// Batches in the pool per worker: one running, three waiting hide the hand-over.
pub const COMPUTING_PER_WORKER: usize = 4;

/// Batches between dispatch and release; with one seal per 10 ms this allows 100,000 batches per second.
pub const UNSEALED_MAX: usize = 1024;

/// Settings of a service.
pub struct Config {
    /// Workers and their CPUs.
    pub placement: Placement,
    /// Waiting times of the batcher.
    pub delay: Delay,
    /// Batches per seal.
    pub cadence: Cadence,
    /// Minimum interval between seals.
    pub floor: Floor,
    /// Threads that seal; none for as many as the placement has room for. Under [`Cadence::PerBatch`] workers seal.
    pub sealers: Option<usize>,
    /// Requests that may wait in the intake.
    pub intake: usize,
    /// The state of the key-holders' vaults for seals.
    pub vaults: Arc<SeenVaults>,
    /// The newest restoration of the log for seals.
    pub restored: Option<Restoration>,
    /// The log, if other services extend it too.
    pub shared: Option<Arc<dyn SharedLog>>,
}

/// The service could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The worker pool did not start.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// A thread was refused by the system.
    #[error("a service thread could not start: {0}")]
    Thread(#[from] std::io::Error),
}

/// A request was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The intake is full.
    #[error("too many requests wait: retry later")]
    Busy,
    /// The service is shutting down.
    #[error("the service is shutting down")]
    Draining,
}

/// A running pipeline.
pub struct Service<R> {
    intake: Sender<Submitted<R>>,
    dispatcher: JoinHandle<()>,
    sealer: Sealer<R>,
}

/// An item of the intake.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are logins, and boxing would cost an allocation each"
)]
enum Submitted<R> {
    Login(TenantId, LaneRequest<R>),
    Record(Record<R>),
}

/// A cloneable way into the service.
pub struct Intake<R>(Sender<Submitted<R>>);

impl<R> Clone for Intake<R> {
    fn clone(&self) -> Self {
        Intake(self.0.clone())
    }
}

impl<R> Intake<R> {
    /// Submits a request of `tenant` without waiting.
    ///
    /// # Errors
    /// When the service is full or draining; the request is dropped.
    pub fn submit(&self, tenant: TenantId, request: LaneRequest<R>) -> Result<(), SubmitError> {
        self.send(Submitted::Login(tenant, request))
    }

    /// Submits a record to be sealed, without waiting.
    ///
    /// # Errors
    /// When the service is full or draining; the record is dropped.
    pub fn record(&self, record: Record<R>) -> Result<(), SubmitError> {
        self.send(Submitted::Record(record))
    }

    fn send(&self, submitted: Submitted<R>) -> Result<(), SubmitError> {
        self.0.try_send(submitted).map_err(|error| match error {
            TrySendError::Full(_) => SubmitError::Busy,
            TrySendError::Disconnected(_) => SubmitError::Draining,
        })
    }

    /// Requests waiting in the intake.
    pub fn depth(&self) -> usize {
        self.0.len()
    }
}

impl<R: Send + 'static> Service<R> {
    /// Starts the threads.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start<C: Cache<Verdict>>(
        pipeline: Arc<Pipeline<C>>,
        keys: SigningKeys,
        head: ChainHead,
        config: Config,
        clock: Arc<dyn Clock>,
        door: Arc<dyn Door<R>>,
        release: Arc<dyn Release<R>>,
    ) -> Result<Self, StartError> {
        let (events, progress) = unbounded();
        let sealing = Sealing(events.clone());
        let after_group = move |batches| sealing.tell(Event::Sealed(batches));
        let Config { vaults, restored, shared, .. } = &config;
        let origin = Origin {
            issuer: pipeline.issuer().to_owned(),
            vaults: Arc::clone(vaults),
            restored: *restored,
            shared: shared.clone(),
        };
        let (outlet, sealer) = Sealer::start(
            keys,
            origin,
            head,
            Sequence {
                cadence: config.cadence,
                floor: config.floor,
                sealers: config.sealers.unwrap_or_else(|| config.placement.sealers()),
            },
            Arc::clone(&clock),
            Arc::clone(&release),
            after_group,
        )?;
        let (intake, submissions) = bounded(config.intake.max(1));
        let dispatcher = Dispatcher {
            batcher: Batcher::default(),
            records: VecDeque::new(),
            pool: Arc::new(Pool::new(&config.placement)?),
            pipeline,
            delay: config.delay,
            intake_max: config.intake.max(1),
            clock,
            door,
            release,
            outlet,
            events,
            computing: 0,
            unsealed: 0,
            sealing: true,
        };
        let release = Arc::clone(&dispatcher.release);
        let dispatcher = driver::thread("dispatcher", move || {
            let run = || dispatcher.run(&submissions, &progress);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
                release.panicked("dispatcher", &*panic);
                // Without a dispatcher no request gets a decision.
                for submitted in submissions {
                    let (Submitted::Login(_, LaneRequest { reply, .. })
                    | Submitted::Record(Record { reply, .. })) = submitted;
                    release.refused(reply, Refusal::Fault);
                }
                resume_unwind(panic);
            }
        })?;
        Ok(Service { intake, dispatcher, sealer })
    }

    /// A way in, for submitters.
    pub fn intake(&self) -> Intake<R> {
        Intake(self.intake.clone())
    }

    /// Stops accepting requests, decides and seals all accepted ones, and returns the end of the seal chain.
    /// Ends once every [`Intake`] clone is gone. `None` if a thread panicked.
    pub fn drain(self) -> Option<ChainHead> {
        drop(self.intake);
        self.dispatcher.join().ok()?;
        self.sealer.join()
    }
}

enum Event {
    /// A worker finished a batch; whether it is also reported as sealed.
    Computed { to_sealer: bool },
    /// This many batches were sealed or refused.
    Sealed(usize),
    /// Sealing has ended.
    SealingEnded,
}

/// The sealer's messages to the dispatcher; dropping it is the last one.
struct Sealing(Sender<Event>);

impl Sealing {
    fn tell(&self, event: Event) {
        // A dispatcher that is gone needs no message.
        drop(self.0.send(event));
    }
}

impl Drop for Sealing {
    fn drop(&mut self) {
        self.tell(Event::SealingEnded);
    }
}

struct Dispatcher<C: Cache<Verdict>, R: Send> {
    batcher: Batcher<LaneRequest<R>>,
    /// Wait for nothing but room.
    records: VecDeque<Record<R>>,
    pool: Arc<Pool<(Worker<C>, Outlet<R>)>>,
    pipeline: Arc<Pipeline<C>>,
    delay: Delay,
    intake_max: usize,
    clock: Arc<dyn Clock>,
    door: Arc<dyn Door<R>>,
    release: Arc<dyn Release<R>>,
    outlet: Outlet<R>,
    events: Sender<Event>,
    computing: usize,
    unsealed: usize,
    /// The sealer is there.
    sealing: bool,
}

impl<C: Cache<Verdict>, R: Send + 'static> Dispatcher<C, R> {
    fn run(mut self, submissions: &Receiver<Submitted<R>>, progress: &Receiver<Event>) {
        let closed = never();
        loop {
            let delay = self.delay.at_load(self.computing, self.pool.size());
            let now = self.now_us();
            while self.has_room() && !self.records.is_empty() {
                self.dispatch_records();
            }
            while self.has_room() {
                let Some(batch) = self.batcher.poll(now, delay) else { break };
                self.dispatch(batch);
            }
            let takes = self.batcher.len() + self.records.len() < self.intake_max;
            let wait = match self.batcher.next_deadline(delay) {
                Some(at) if self.has_room() => Duration::from_micros(at.saturating_sub(now)),
                _ => IDLE,
            };
            if takes && self.may_nap(submissions.len()) {
                drop(closed.recv_timeout(wait.min(NAP)));
                progress.try_iter().for_each(|event| self.note(Some(event)));
                if !self.gather(None, submissions) {
                    break;
                }
                continue;
            }
            let open = if takes { submissions } else { &closed };
            select! {
                recv(open) -> request => match request {
                    Ok(submitted) => drop(self.gather(Some(submitted), submissions)),
                    Err(_) => break,
                },
                recv(progress) -> event => self.note(event.ok()),
                default(wait) => {}
            }
        }
        while !self.records.is_empty() {
            self.wait_for_room(progress);
            self.dispatch_records();
        }
        while let Some(batch) = self.batcher.flush() {
            self.wait_for_room(progress);
            self.dispatch(batch);
        }
    }

    fn wait_for_room(&mut self, progress: &Receiver<Event>) {
        while !self.has_room() {
            self.note(progress.recv().ok());
        }
    }

    /// Whether to look away from the intake for a [`NAP`], in which it does not fill: a batch waits for company, and is not due before its wait ends.
    fn may_nap(&self, waiting: usize) -> bool {
        !self.batcher.is_empty() && self.has_room() && waiting < self.intake_max / 2
    }

    /// Takes this request and all other waiting ones, so that a burst costs one turn of the loop. `false` if none will come any more.
    fn gather(&mut self, first: Option<Submitted<R>>, submissions: &Receiver<Submitted<R>>) -> bool {
        let now = self.now_us();
        let others = std::iter::repeat_with(|| submissions.try_recv());
        for submitted in first.map(Ok).into_iter().chain(others).take(BURST) {
            match submitted {
                Ok(Submitted::Login(tenant, request)) => {
                    self.batcher.push(tenant, request.template.lane.index(), request, now);
                }
                Ok(Submitted::Record(record)) => self.records.push_back(record),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
        true
    }

    /// Sends records to the seal, on a worker: where workers seal, that takes milliseconds.
    fn dispatch_records(&mut self) {
        let count = self.records.len().min(RECORDS_MAX);
        let records = self.records.drain(..count);
        if !self.sealing {
            return records.for_each(|record| self.release.refused(record.reply, Refusal::Fault));
        }
        let lanes = records.map(Into::into).collect();
        let batch = Bound { lanes, refused: Vec::new(), times: StageTimes::default() };
        self.compute(move |_, _, _| batch);
    }

    fn dispatch(&mut self, batch: Batch<LaneRequest<R>>) {
        if !self.sealing {
            // Without a sealer no decision would be released.
            for request in batch.lanes {
                self.release.refused(request.reply, Refusal::Fault);
            }
            return;
        }
        let (clock, door) = (Arc::clone(&self.clock), Arc::clone(&self.door));
        self.compute(move |pipeline, worker, release| {
            let mut ran = pipeline.run(batch, worker, clock.as_ref(), door.as_ref());
            for (reply, why) in ran.refused.drain(..) {
                release.refused(reply, why);
            }
            ran
        });
    }

    /// Has a worker compute a batch, and hand it to the sealer or seal it.
    fn compute(
        &mut self,
        batch: impl FnOnce(&Pipeline<C>, &mut Worker<C>, &dyn Release<R>) -> Bound<R> + Send + 'static,
    ) {
        self.computing += 1;
        self.unsealed += 1;
        let (pool, pipeline, release) =
            (Arc::clone(&self.pool), Arc::clone(&self.pipeline), Arc::clone(&self.release));
        let (outlet, events) = (self.outlet.clone(), self.events.clone());
        self.pool.spawn(move || {
            // A panic must not take the process down at once (rayon aborts). The batch's replies are dropped,
            // which their owners see as an internal error. The worker's buffers may be half written now.
            let to_sealer = catch_unwind(AssertUnwindSafe(|| {
                let mut own = pool.worker(|| (pipeline.worker(), outlet));
                let (worker, outlet) = &mut *own;
                outlet.seal(batch(&pipeline, worker, &*release))
            }))
            .unwrap_or_else(|panic| {
                release.panicked("worker", &*panic);
                false
            });
            drop(events.send(Event::Computed { to_sealer }));
        });
    }

    fn note(&mut self, event: Option<Event>) {
        match event {
            Some(Event::Computed { to_sealer }) => {
                self.computing -= 1;
                if !to_sealer {
                    self.unsealed -= 1;
                }
            }
            Some(Event::Sealed(batches)) => self.unsealed -= batches,
            Some(Event::SealingEnded) => self.sealing = false,
            None => {}
        }
    }

    fn has_room(&self) -> bool {
        self.computing < COMPUTING_PER_WORKER * self.pool.size()
            && (self.unsealed < UNSEALED_MAX || !self.sealing)
    }

    fn now_us(&self) -> u64 {
        self.clock.monotonic_ns() / 1_000
    }
}

/// Requests taken per turn of the dispatcher's loop.
const BURST: usize = 256;

/// Records that go to the seal together.
const RECORDS_MAX: usize = 32;

/// How long the dispatcher looks away from its intake while a batch waits for company. Otherwise each request would wake it, which costs the
/// caller a system call and the dispatcher a turn of its loop. A batch that fills meanwhile leaves this much later, a tenth of a seal's time.
const NAP: Duration = Duration::from_micros(250);

/// Longest sleep of the dispatcher when nothing is due; it is woken by any message before that.
const IDLE: Duration = Duration::from_secs(1);
