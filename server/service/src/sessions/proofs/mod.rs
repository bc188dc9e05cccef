//! The pool that verifies proofs: few threads, a bounded queue, a deadline, and one verification for one statement.
//!
//! Verifying a proof takes about a millisecond, a thousand times a request's other checks, so it never runs on an I/O thread or a
//! matching worker. When the queue is full the caller is told to retry. Three more rules bound a flood.
//! A tenant holds at most half of the queue and an API key a quarter. A proof that waited longer than the deadline, or whose caller has gone,
//! is not verified. The threads run at a lower priority than those that answer requests. Refused proofs are
//! not remembered, because one changed byte makes another proof; the caller is remembered instead, see [`crate::limits::quota`].
//!
//! Uploads of one statement wait for each other. An accepted proof answers all of them, because the verdict is about
//! the statement; a refused one answers only the uploads of the same bytes.

use crate::counters::proofs::{Event, ProofCounters};
use crate::refused::Refused;
use crate::sessions::flights::{Asked, Flights};
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use trefoil_pipeline::{Clock, SessionId, TenantId};
use trefoil_storage::Supervisor;
use trefoil_types::ApiKeyId;
use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::{ProofError, Verified};

/// Most uploads that wait for another upload of the same statement; each holds a proof.
const FOLLOWERS_MAX: usize = 16;
/// Added to the niceness of a verifying thread, so that a flood of proofs gets only the time that requests leave.
const NICENESS: i32 = 5;

type Outcome = Result<Verified, Unverified>;
type Verifier = dyn Fn(&ProofEnvelope) -> Result<Verified, ProofError> + Send + Sync;

/// Why a proof has no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Unverified {
    Refused(ProofError),
    Late,
}

/// How a pool is started.
#[derive(Clone, Copy, Debug)]
pub struct PoolConfig {
    /// Verifying threads, at least one.
    pub workers: usize,
    /// Statements that may wait.
    pub queue: usize,
    /// Longest wait before a proof is given up unverified.
    pub deadline: Duration,
}

/// See the module.
pub struct ProofPool {
    queue: Sender<SessionId>,
    shared: Arc<Shared>,
    per_tenant_max: usize,
    per_caller_max: usize,
}

struct Shared {
    /// The uploads of each statement, in the order of their arrival.
    flights: Flights<SessionId, Uploader, Upload, Outcome>,
    verify: Box<Verifier>,
    deadline: Duration,
    clock: Arc<dyn Clock>,
    counters: Arc<ProofCounters>,
}

/// The tenant and the API key of the first upload of a statement.
type Uploader = (TenantId, ApiKeyId);

struct Upload {
    envelope: Arc<ProofEnvelope>,
    arrived_ns: u64,
}

impl ProofPool {
    /// Starts the threads.
    pub fn start(
        config: PoolConfig,
        clock: Arc<dyn Clock>,
        counters: Arc<ProofCounters>,
        supervisor: &Supervisor,
    ) -> std::io::Result<ProofPool> {
        let verify = |envelope: &ProofEnvelope| trefoil_zkp::verify(&envelope.statement, &envelope.proof);
        ProofPool::start_with(Box::new(verify), config, clock, counters, supervisor)
    }

    fn start_with(
        verify: Box<Verifier>,
        config: PoolConfig,
        clock: Arc<dyn Clock>,
        counters: Arc<ProofCounters>,
        supervisor: &Supervisor,
    ) -> std::io::Result<ProofPool> {
        let PoolConfig { workers, queue, deadline } = config;
        let (sender, jobs) = bounded(queue);
        let shared = Arc::new(Shared { flights: Flights::default(), verify, deadline, clock, counters });
        for number in 0..workers.max(1) {
            let (jobs, shared) = (jobs.clone(), Arc::clone(&shared));
            let worker = Worker { jobs: Some(jobs), shared };
            supervisor.spawn(format!("proof-{number}"), move || worker.work())?;
        }
        Ok(ProofPool {
            queue: sender,
            shared,
            per_tenant_max: (queue / 2).max(1),
            per_caller_max: (queue / 4).max(1),
        })
    }

    /// Verifies the proof of an envelope, or waits for the verification of another proof of the same statement.
    pub async fn verify(&self, caller: ApiKeyId, envelope: Arc<ProofEnvelope>) -> Result<Verified, Refused> {
        match self.join(caller, envelope)?.await {
            Ok(Ok(verified)) => Ok(verified),
            Ok(Err(Unverified::Refused(cause))) => Err(Refused::Proof(cause)),
            Ok(Err(Unverified::Late)) => Err(Refused::ProofLate(self.shared.deadline)),
            Err(_) => Err(Refused::fault("a proof worker panicked")),
        }
    }

    /// Statements that wait for a thread.
    pub fn depth(&self) -> usize {
        self.queue.len()
    }

    fn join(
        &self,
        caller: ApiKeyId,
        envelope: Arc<ProofEnvelope>,
    ) -> Result<oneshot::Receiver<Outcome>, Refused> {
        let (id, tenant) = (SessionId::new(envelope.statement.digest()), envelope.statement.tenant);
        let upload = Upload { envelope, arrived_ns: self.shared.clock.monotonic_ns() };
        let full = |whose: &'static str| {
            self.shared.counters.count(Event::QueueFull);
            Err(Refused::TooManyProofs(whose))
        };
        let mut flights = self.shared.flights.hold();
        if let Some(waiting) = flights.waiting(&id) {
            if waiting > FOLLOWERS_MAX {
                return full("uploads of this statement");
            }
            self.shared.counters.count(Event::Joined);
            return Ok(flights.join(id, (tenant, caller), upload));
        }
        // At most the queue and one for each thread are in flight, so counting is short.
        if flights.begun_by().filter(|(other, _)| *other == tenant).count() >= self.per_tenant_max {
            return full("proofs of this tenant");
        }
        if flights.begun_by().filter(|(_, other)| *other == caller).count() >= self.per_caller_max {
            return full("proofs of this API key");
        }
        match self.queue.try_send(id) {
            Ok(()) => Ok(flights.join(id, (tenant, caller), upload)),
            Err(TrySendError::Full(_)) => full("proofs"),
            Err(TrySendError::Disconnected(_)) => Err(Refused::fault("the proof pool has stopped")),
        }
    }
}

/// A thread that verifies.
struct Worker {
    jobs: Option<Receiver<SessionId>>,
    shared: Arc<Shared>,
}

impl Worker {
    fn work(self) {
        // If the system refuses a lower priority, the thread runs at an equal one, which is slower for requests under a flood.
        let _ = rustix::process::setpriority_process(None, NICENESS);
        while let Some(Ok(id)) = self.jobs.as_ref().map(Receiver::recv) {
            verify_all(&self.shared, &id);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // First no more jobs arrive, then every waiting upload gets its answer.
        self.jobs = None;
        if std::thread::panicking() {
            self.shared.flights.end_all();
        }
    }
}

/// Verifies the proofs of a statement.
fn verify_all(shared: &Shared, id: &SessionId) {
    while let Some((envelope, waited_ns)) = shared.next(id) {
        let started = shared.clock.monotonic_ns();
        // Strangers choose the proofs, and a verification leaves no state: a panic costs only these uploads.
        let Ok(outcome) = catch_unwind(AssertUnwindSafe(|| (shared.verify)(&envelope))) else {
            shared.flights.end(id);
            return;
        };
        shared.counters.verified(outcome.is_ok(), waited_ns, shared.clock.monotonic_ns() - started);
        shared.answer(id, &envelope, &outcome);
    }
}

impl Shared {
    /// The next proof of a statement to verify and how long it waited. Ends the flight when none is left.
    fn next(&self, id: &SessionId) -> Option<(Arc<ProofEnvelope>, u64)> {
        let now = self.clock.monotonic_ns();
        let waited_ns = |upload: &Upload| now.saturating_sub(upload.arrived_ns);
        let is_worth_it = |upload: Asked<Upload, Outcome>| {
            if upload.has_gone() {
                self.counters.count(Event::Abandoned);
            } else if u128::from(waited_ns(&upload.what)) > self.deadline.as_nanos() {
                self.counters.count(Event::Late);
                upload.tell(Err(Unverified::Late));
            } else {
                return Some(upload);
            }
            None
        };
        let first = |uploads: &mut [Asked<Upload, Outcome>]| {
            let upload = &uploads[0].what;
            (Arc::clone(&upload.envelope), waited_ns(upload))
        };
        self.flights.next(id, is_worth_it, first)
    }

    /// Tells every upload that the outcome answers.
    fn answer(&self, id: &SessionId, verified: &ProofEnvelope, outcome: &Result<Verified, ProofError>) {
        self.flights.answer(id, |upload| match outcome {
            Ok(verified) => Some(Ok(verified.clone())),
            Err(cause) => {
                (upload.envelope.proof == verified.proof).then(|| Err(Unverified::Refused(cause.clone())))
            }
        });
    }
}

#[cfg(test)]
mod tests;
