//! The thread that writes: one transaction for all waiting writes, and a savepoint for each.

use super::connection::{BUSY_TIMEOUT, others};
use super::error::{StoreError, fault, tell_damage};
use super::log::Log;
use super::rows::{Counts, Rows};
use super::{Count, Survives};
use crate::data_dir::{HighWater, Reached, lock_holder};
use crate::supervisor::Supervisor;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use trefoil_matching::VaultState;

/// Writes in one transaction: 64 templates of 49 KiB are 3 MiB of log.
const GROUP_MAX: usize = 64;
/// Tells the caller the result of the commit.
pub(super) type Acknowledge = Box<dyn FnOnce(Result<(), StoreError>) + Send>;
/// Takes the writer inside a transaction, or the error why there is none.
pub(super) type Run = Box<dyn FnOnce(Result<&Writer, StoreError>) -> Acknowledge + Send>;

pub(super) struct Write {
    pub(super) run: Run,
    pub(super) survives: Survives,
    /// Empty the write-ahead log afterwards, so that deleted bytes are gone from it too.
    pub(super) scrub: bool,
    pub(super) recount: Option<Recount>,
}

/// What a write does to the counts alone.
#[derive(Clone, Copy)]
pub(super) enum Recount {
    /// Accept the file although a later count is remembered.
    AcceptOlder(VaultState),
    /// Note the count of the file beside it.
    NoteBeside,
}

/// The count of transactions that survives a power cut.
#[derive(Default)]
pub(super) struct Durable {
    pub(super) generation: Count,
    pub(super) restored: AtomicU64,
    pub(super) beside: AtomicU64,
}

impl Durable {
    pub(super) fn set(&self, Counts { state: VaultState { generation, restored }, beside }: Counts) {
        self.generation.store(generation, Ordering::Release);
        self.restored.store(restored, Ordering::Release);
        self.beside.store(beside, Ordering::Release);
    }
}

/// The connection that writes, and the sum of the rows.
pub(super) struct Writer {
    pub(super) connection: Connection,
    /// SQLite's count of what other connections have written, as of the check.
    pub(super) others: i64,
    pub(super) rows: Rows,
    pub(super) durable: Arc<Durable>,
    pub(super) beside: Arc<OnceLock<Count>>,
    pub(super) mark: Option<HighWater>,
    pub(super) path: PathBuf,
    pub(super) log: Log,
    pub(super) supervisor: Supervisor,
}

impl Writer {
    pub(super) fn write_all(&mut self, queue: &Receiver<Write>) {
        let mut synchronous = Survives::PowerCut;
        while let Some(first) = self.next(queue) {
            let writes: Vec<Write> = std::iter::once(first).chain(queue.try_iter()).take(GROUP_MAX).collect();
            let scrub = writes.iter().any(|write| write.scrub);
            let survives = writes.iter().map(|write| write.survives).max().unwrap_or(Survives::PowerCut);
            let set = self.synchronise(survives, &mut synchronous);
            let mark = self.rows.mark();
            let begun = set.and_then(|()| self.execute("BEGIN IMMEDIATE")).and_then(|()| self.check_alone());
            let recount = writes.iter().find_map(|write| write.recount);
            let mut acknowledgements = Vec::with_capacity(writes.len());
            for write in writes {
                acknowledgements.push((write.run)(begun.clone().map(|()| &*self)));
            }
            let committed = begun.and_then(|()| self.commit(&mark, recount));
            match &committed {
                Ok(()) if survives == Survives::PowerCut => {
                    self.durable.set(self.rows.counts());
                    self.reach();
                }
                Ok(()) => {}
                Err(cause) => {
                    tracing::error!(%cause, "a transaction failed");
                    tell_damage(&self.supervisor, &self.path, &committed);
                    // If the transaction never began, there is nothing to undo.
                    let _ = self.execute("ROLLBACK");
                }
            }
            self.log.shreds |= scrub && committed.is_ok();
            // Only who deletes waits for readers.
            self.log.shorten(&self.connection, if scrub { BUSY_TIMEOUT } else { Duration::ZERO });
            for acknowledge in acknowledgements {
                acknowledge(committed.clone());
            }
        }
        self.log.shreds = true;
        self.log.shorten(&self.connection, BUSY_TIMEOUT);
    }

    /// The next write. While there is none, a log that was to be emptied is tried again.
    fn next(&mut self, queue: &Receiver<Write>) -> Option<Write> {
        while self.log.shreds {
            match queue.recv_timeout(self.log.again) {
                Ok(write) => return Some(write),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => self.log.shorten(&self.connection, Duration::ZERO),
            }
        }
        queue.recv().ok()
    }

    /// Notes how many transactions are durable.
    pub(super) fn reach(&mut self) {
        let count = self.rows.counts().state.generation;
        if let Some(mark) = &mut self.mark
            && let Err(cause) = mark.reach(Reached { count, digest: [0; 32] })
        {
            tracing::warn!(%cause, path = %self.path.display(), "the count of transactions was not noted");
        }
    }

    /// `NORMAL` appends to the log without waiting for the disk; it cannot be set within a transaction.
    fn synchronise(&self, survives: Survives, now: &mut Survives) -> Result<(), StoreError> {
        if survives != *now {
            let level = if survives == Survives::PowerCut { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", level).map_err(fault)?;
            *now = survives;
        }
        Ok(())
    }

    /// Refuses a transaction after one of another program, whose rows the sum does not include.
    fn check_alone(&self) -> Result<(), StoreError> {
        match others(&self.connection)? == self.others {
            true => Ok(()),
            false => {
                Err(StoreError::Altered("another program wrote to it while this one had it open".to_owned()))
            }
        }
    }

    /// Ends the transaction with the counts and sum of its rows. Without a commit all stay as they were.
    fn commit(&mut self, mark: &[u8; 32], recount: Option<Recount>) -> Result<(), StoreError> {
        let before = self.rows.counts();
        let beside = self.beside.get().map_or(before.beside, |beside| beside.load(Ordering::Acquire));
        let sealed = match recount {
            Some(Recount::AcceptOlder(remembered)) => {
                self.rows.accept_older(&self.connection, remembered, beside)
            }
            Some(Recount::NoteBeside) => self.rows.note(&self.connection, beside),
            None => self.rows.seal(&self.connection, mark, beside),
        };
        let committed = sealed.and_then(|()| self.execute("COMMIT"));
        if committed.is_err() {
            self.rows.undo(mark, before);
        }
        committed
    }

    fn execute(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(|cause| match fault(cause) {
            StoreError::Locked(cause) => {
                let mut shared = self.path.as_os_str().to_owned();
                shared.push("-shm");
                let holder = lock_holder(Path::new(&shared)).or_else(|| lock_holder(&self.path));
                let holder = holder.map_or(String::new(), |holder| format!(", process {holder},"));
                let path = self.path.display();
                StoreError::Locked(format!(
                    "another program{holder} holds a lock of {path} ({cause}): end it, or let it finish"
                ))
            }
            other => other,
        })
    }

    /// Runs one write; undoes it alone if it fails.
    pub(super) fn in_savepoint<T>(
        &self,
        operation: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.execute("SAVEPOINT one")?;
        let mark = self.rows.mark();
        let outcome = operation(&self.connection);
        self.execute(if outcome.is_ok() { "RELEASE one" } else { "ROLLBACK TO one; RELEASE one" })?;
        if outcome.is_err() {
            self.rows.go_back(&mark);
        }
        outcome
    }
}
