//! The threads that talk to the database: one that writes, and a few that read.
//!
//! Each owns its connection, so callers share nothing but the queues, and an asynchronous caller's runtime is not entered. The writer takes
//! all waiting writes, runs each in a savepoint of one transaction, and acknowledges after the commit, as the writer of a SQLite file does. A
//! caller waits for a bounded time. A write that waited too long is not begun, but one that was begun may be committed although its caller
//! was told that the database gave no answer.
//!
//! When the writer's connection is lost, all calls are refused at once, until it has a new one with the lock. It tries every
//! [`PAUSE`], and looks at an idle connection every [`PULSE`].

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a thread that fails tells the others; a write waits for a disk anyway"
)]

mod run;

use crate::address::Address;
use crate::connections::READERS;
use crate::node::{Beside, Hold, Opening};
use crate::roles;
use crate::scope::Scope;
use crate::table::{RowMac, Rows};
use crossbeam_channel::{RecvTimeoutError, Sender, TrySendError, bounded};
use run::{Reader, Writer};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trefoil_storage::Supervisor;
use trefoil_storage::database::{Count, tell_damage};
use trefoil_storage::store::{Call, StoreError};

/// Calls that may wait.
const QUEUE_MAX: usize = 1024;
/// Writes in one transaction.
const GROUP_MAX: usize = 64;
/// Between two tries to connect.
const PAUSE: Duration = Duration::from_millis(200);
/// Between two looks at an idle connection.
const PULSE: Duration = Duration::from_secs(1);
/// What a caller waits beside the longest statement.
const MARGIN: Duration = Duration::from_millis(250);
/// The longest statement of a call that may touch all rows of a tenant.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// Tells the caller the result of the commit. Returns whether it had not given up.
type Acknowledge = Box<dyn FnOnce(Result<(), StoreError>) -> bool + Send>;

/// A write that ran inside a transaction.
struct Done {
    acknowledge: Acknowledge,
    is_ok: bool,
}

/// Takes the rows inside a transaction, or the error why there is none.
type Run = Box<dyn FnOnce(Result<&Rows<'_>, StoreError>) -> Done + Send>;

struct Write {
    run: Run,
    /// How long its statements may take, if longer than usual.
    long: Option<Duration>,
    scope: Scope,
    /// When its caller gives up.
    until: Instant,
}

/// Runs on the rows. The second argument says whether a lost connection is final; the answer is whether the caller was told.
type Read = Box<dyn FnMut(Result<&Rows<'_>, StoreError>, bool) -> bool + Send>;

/// Why calls are refused at once.
#[derive(Default)]
struct Standing {
    is_down: AtomicBool,
    why: Mutex<Option<StoreError>>,
}

impl Standing {
    fn check(&self) -> Result<(), StoreError> {
        if !self.is_down.load(Ordering::Acquire) {
            return Ok(());
        }
        let why = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        why.clone().map_or(Ok(()), Err)
    }

    fn fall(&self, cause: &StoreError) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = Some(cause.clone());
        if !self.is_down.swap(true, Ordering::AcqRel) {
            tracing::error!(%cause, "the store's database is away; calls are refused until it is back");
        }
    }

    fn rise(&self) {
        if self.is_down.swap(false, Ordering::AcqRel) {
            tracing::info!("the store's database is back");
        }
    }
}

/// See the module. Dropping it finishes the waiting calls.
pub(crate) struct Threads {
    writes: Option<Sender<Write>>,
    reads: Option<Sender<Read>>,
    threads: Vec<JoinHandle<()>>,
    standing: Arc<Standing>,
    patience: Duration,
    supervisor: Supervisor,
    place: String,
    /// Transactions that were acknowledged.
    pub(crate) count: Count,
    /// Where to put the count of the vault, and the count that the database has seen.
    pub(crate) beside: (Beside, u64),
}

impl Threads {
    /// Takes the database, and starts the threads under `supervisor`.
    pub(crate) fn start(
        supervisor: &Supervisor,
        address: &Address,
        secret: &[u8; 32],
        patience: Duration,
        opening: Opening,
    ) -> Result<(Threads, (u64, Arc<AtomicU64>)), StoreError> {
        let standing = Arc::<Standing>::default();
        let ((writes, queue), (reads, asked)) = (bounded(QUEUE_MAX), bounded::<Read>(QUEUE_MAX));
        let (tell, told) = bounded(1);
        let (own, secret) = (address.clone(), zeroize::Zeroizing::new(*secret));
        let mut threads = Vec::new();
        let failed = |cause: std::io::Error| StoreError::Fault(cause.to_string());
        let (shared, watching, key) = (Arc::clone(&standing), supervisor.clone(), secret.clone());
        let writer = move || {
            let taken = Hold::take(own.clone(), &key, patience, opening);
            let (hold, link) = match taken.and_then(|held| roles::check(&held.1, &own).map(|()| held)) {
                Ok(taken) => taken,
                Err(cause) => return drop(tell.send(Err(cause))),
            };
            let _ = tell.send(Ok((hold.count(), hold.beside(), (hold.generation(), hold.seen()))));
            drop(tell);
            let place = own.to_string();
            Writer { hold, link: Some(link), standing: shared, supervisor: watching, patience, place }
                .run(&queue);
        };
        threads.push(supervisor.spawn("store-writer", writer).map_err(failed)?);
        let ended = |_| StoreError::Fault("the thread that writes has ended".to_owned());
        let (count, beside, begun) = told.recv().map_err(ended)??;
        for number in 0..READERS {
            let (address, mac, asked) = (address.clone(), RowMac::of(&secret), asked.clone());
            let reader = Reader { address, mac, patience };
            let thread = supervisor.spawn(format!("store-reader-{number}"), move || reader.run(&asked));
            threads.push(thread.map_err(failed)?);
        }
        let started = Threads {
            writes: Some(writes),
            reads: Some(reads),
            threads,
            standing,
            patience,
            supervisor: supervisor.clone(),
            place: address.to_string(),
            count,
            beside,
        };
        Ok((started, begun))
    }

    /// The error with which calls are refused at once, if they are.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.standing.check()
    }

    /// Why calls are refused at once.
    pub(crate) fn unready(&self) -> Option<String> {
        self.standing.check().err().map(|cause| cause.to_string())
    }

    /// Runs `operation` in the next transaction, and returns once that is durable.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        call: Call,
        operation: impl FnOnce(&Rows<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (long, scope) = (call.is_long.then_some(LONG), Scope::from(call));
        self.standing.check()?;
        let (answer, wait) = bounded(1);
        let (supervisor, place) = (self.supervisor.clone(), self.place.clone());
        // The first who sets it decides whether the caller gave up or was answered.
        let settled = Arc::new(AtomicBool::default());
        let given_up = Arc::clone(&settled);
        let run = move |rows: Result<&Rows<'_>, StoreError>| -> Done {
            let outcome = rows.and_then(operation);
            tell_damage(&supervisor, &place, &outcome);
            let is_ok = outcome.is_ok();
            let acknowledge: Acknowledge = Box::new(move |committed| {
                let waits = !settled.swap(true, Ordering::AcqRel);
                // A caller that gave up has dropped its end.
                drop(answer.send(committed.and(outcome)));
                waits
            });
            Done { acknowledge, is_ok }
        };
        let wanted = long.unwrap_or(self.patience) + MARGIN;
        let write = Write { run: Box::new(run), long, scope, until: Instant::now() + wanted };
        queue(self.writes.as_ref(), write)?;
        let told = wait.recv_timeout(wanted);
        let is_late = matches!(told, Err(RecvTimeoutError::Timeout));
        if is_late && given_up.swap(true, Ordering::AcqRel) {
            // The answer is on its way.
            return wait.recv().unwrap_or(Err(StoreError::Busy));
        }
        answered(told, wanted)
    }

    /// Runs `operation` on a connection that reads, a second time if the connection was lost before.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        call: Call,
        operation: impl Fn(&Rows<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let scope = Scope::from(call);
        if call.is_long {
            return self.read_long(scope, operation);
        }
        self.ask(self.patience + MARGIN, move |rows| {
            rows.link.set_scope(scope);
            operation(rows)
        })
    }

    /// The same, of many rows, as they are at one moment.
    fn read_long<T: Send + 'static>(
        &self,
        scope: Scope,
        operation: impl Fn(&Rows<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (patience, set) = (self.patience, scope.local());
        self.ask(LONG + MARGIN, move |rows| {
            rows.link.batch(&format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {set}"))?;
            let outcome = rows.link.be_patient(LONG).and_then(|()| operation(rows));
            rows.link.be_usual(patience);
            let ended = rows.link.batch("COMMIT");
            outcome.and_then(|found| ended.map(|()| found))
        })
    }

    fn ask<T: Send + 'static>(
        &self,
        wanted: Duration,
        operation: impl Fn(&Rows<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.standing.check()?;
        let (answer, wait) = bounded(1);
        let until = Instant::now() + wanted;
        let (supervisor, place) = (self.supervisor.clone(), self.place.clone());
        let read: Read = Box::new(move |rows: Result<&Rows<'_>, StoreError>, is_final: bool| {
            if Instant::now() >= until {
                return true;
            }
            let outcome = match rows {
                Ok(rows) => {
                    let outcome = operation(rows);
                    let outcome = outcome.and_then(|found| rows.link.assure().map(|()| found));
                    if rows.link.is_lost() && !is_final {
                        return false;
                    }
                    outcome
                }
                Err(cause) => Err(cause),
            };
            tell_damage(&supervisor, &place, &outcome);
            // A caller that gave up has dropped its end.
            drop(answer.send(outcome));
            true
        });
        queue(self.reads.as_ref(), read)?;
        answered(wait.recv_timeout(wanted), wanted)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        (self.writes, self.reads) = (None, None);
        for thread in self.threads.drain(..) {
            // A panic of a thread is already in the log.
            let _ = thread.join();
        }
    }
}

fn queue<T>(queue: Option<&Sender<T>>, call: T) -> Result<(), StoreError> {
    let queue = queue.expect("the queues live as long as the threads");
    queue.try_send(call).map_err(|cause| match cause {
        TrySendError::Full(_) => StoreError::Busy,
        TrySendError::Disconnected(_) => StoreError::Fault("a thread of the store has ended".to_owned()),
    })
}

fn answered<T>(
    told: Result<Result<T, StoreError>, RecvTimeoutError>,
    wanted: Duration,
) -> Result<T, StoreError> {
    told.unwrap_or_else(|cause| {
        Err(match cause {
            RecvTimeoutError::Timeout => StoreError::Unreachable(format!(
                "the store's database gave no answer within {} ms",
                wanted.as_millis()
            )),
            RecvTimeoutError::Disconnected => StoreError::Busy,
        })
    })
}
