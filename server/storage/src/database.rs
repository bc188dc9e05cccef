//! One SQLite file with one writer: the code that both databases share.
//!
//! A thread owns the only writing connection. It takes all waiting writes, runs each in a savepoint of one
//! transaction, commits once (`synchronous = FULL`), and only then acknowledges, so concurrent writes share one `fsync`.
//! A failed write undoes only itself; a failed commit fails its whole batch. Reads use their own connections and never
//! wait for the writer (WAL). `secure_delete` overwrites freed bytes, what it misses is overwritten before a page reaches the file (`residue`),
//! and a deletion that must shred is followed by a checkpoint that empties the log, again and again until no reader keeps it. Memory mapping is off, because a report says that it amplifies a WAL bug. Only their owner can read
//! the files. A file is opened with a key ([`RowKey`]), and refused if another program wrote to it.
//!
//! Opening a file checks it for damage: SQLite's own check of every page and index, then the sum of the rows. Rows that are loaded
//! before the first write are read in the transaction that computed the sum, so nothing changes between check and use. Damage that
//! SQLite finds later, or a transaction of another program, ends the process ([`Supervisor::damaged`]). A lost or damaged write-ahead log
//! leaves a sound file with fewer transactions than the file's mark ([`crate::data_dir::HighWater`]) counts. An older copy with its older mark is noticed by the file
//! beside it ([`Database::follow`]): each has the other's count in its own HMAC.

#![expect(
    clippy::disallowed_types,
    reason = "SQLite has one writer; a batch writes for a failure and once in 16 attempts"
)]

mod connection;
mod copy;
mod error;
mod log;
mod residue;
mod rows;
mod writer;

use crate::data_dir::DatabaseFile;
use crate::supervisor::Supervisor;
pub use connection::open_still;
use connection::{
    check_pages, check_version, make_private, open_reader, others, prepare, user_version, with_tables,
};
pub use copy::{Pinned, check_copy};
pub use error::{StoreError, fault, tell_damage};
use log::{Log, log_of};
pub use rows::RowKey;
use rows::Rows;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
pub use trefoil_matching::VaultState;
use writer::{Acknowledge, Durable, Recount, Write, Writer};

/// Most waiting writes. At 4 ms for each commit of up to [`GROUP_MAX`] this is a tenth of a second.
const QUEUE_MAX: usize = 1024;
/// Idle read connections kept.
const READERS_MAX: usize = 8;
/// The failure that an acknowledged write survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Survives {
    /// A kill of the process: the operating system has it.
    Kill,
    /// A power cut too: the disk has it.
    PowerCut,
}

/// Durable transactions of a file, for the one beside it.
pub type Count = Arc<AtomicU64>;

/// An open database. Dropping it finishes the waiting writes.
pub struct Database {
    path: PathBuf,
    checked: Checked,
    readers: Mutex<Vec<Connection>>,
    writes: Option<SyncSender<Write>>,
    writer: Option<JoinHandle<()>>,
    durable: Arc<Durable>,
    reached: u64,
    seen: u64,
    beside: Arc<OnceLock<Count>>,
    supervisor: Supervisor,
}

/// The connection that computed the sum of the rows, still in that transaction: until the first write it sees exactly the rows that
/// were checked.
struct Checked {
    connection: Mutex<Option<Connection>>,
    over: AtomicBool,
}

impl Checked {
    fn new(connection: Connection) -> Checked {
        Checked { connection: Mutex::new(Some(connection)), over: AtomicBool::default() }
    }

    fn locked(&self) -> MutexGuard<'_, Option<Connection>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the transaction before a write, because it would not see the write and would hold the write-ahead log back.
    #[expect(clippy::disallowed_methods, reason = "once, at the first write; the others read a word")]
    fn end(&self) {
        if !self.over.load(Ordering::Acquire) && !self.over.swap(true, Ordering::AcqRel) {
            *self.locked() = None;
        }
    }

    /// Takes back a connection.
    fn put_back(&self, connection: Connection) {
        let mut place = self.locked();
        if !self.over.load(Ordering::Acquire) {
            *place = Some(connection);
        }
    }
}

impl Database {
    /// Opens or creates a file with `schema`, which is of this version. Refuses any other version, and a file with a row that another program
    /// wrote. The writing thread runs under `supervisor`.
    pub fn open(
        file: impl Into<DatabaseFile>,
        version: i64,
        schema: &str,
        key: RowKey,
        supervisor: &Supervisor,
    ) -> Result<Database, StoreError> {
        let DatabaseFile { path, exists, is_still, mark } = file.into();
        let reached = mark.as_ref().map_or(0, |mark| mark.reached().count);
        if is_still {
            return Database::look(&path, reached, version, schema, key);
        }
        make_private(&path).map_err(fault)?;
        let connection = Connection::open(&path).map_err(fault)?;
        prepare(&connection).map_err(fault)?;
        check_pages(&connection)?;
        let connection = with_tables(connection, (version, exists), schema, &key, &path)?;
        let log = Log::open(&connection, &path)?;
        let others = others(&connection)?;
        let checked = open_reader(&path).map_err(fault)?;
        checked.execute_batch("BEGIN").map_err(fault)?;
        let rows = Rows::verify(&checked, key, schema)?;
        rows.follow(&connection).map_err(fault)?;
        let durable: Arc<Durable> = Arc::default();
        durable.set(rows.counts());
        let (seen, beside) = (rows.counts().beside, Arc::<OnceLock<Count>>::default());
        let (writes, queue) = sync_channel(QUEUE_MAX);
        let mut writer = Writer {
            connection,
            others,
            rows,
            durable: Arc::clone(&durable),
            beside: Arc::clone(&beside),
            mark,
            path: path.clone(),
            log,
            supervisor: supervisor.clone(),
        };
        writer.reach();
        let writer = supervisor.spawn("store-writer", move || writer.write_all(&queue)).map_err(fault)?;
        let (readers, supervisor) = (Mutex::default(), supervisor.clone());
        Ok(Database {
            path,
            checked: Checked::new(checked),
            readers,
            writes: Some(writes),
            writer: Some(writer),
            durable,
            reached,
            seen,
            beside,
            supervisor,
        })
    }

    /// A file that no process has open, with the same checks, to be read only. `reached` is the count in its mark.
    fn look(
        path: &Path,
        reached: u64,
        version: i64,
        schema: &str,
        key: RowKey,
    ) -> Result<Database, StoreError> {
        let checked = open_still(path).map_err(fault)?;
        check_pages(&checked)?;
        check_version(path, user_version(&checked)?, version)?;
        let (durable, counts) = (Arc::<Durable>::default(), Rows::verify(&checked, key, schema)?.counts());
        durable.set(counts);
        Ok(Database {
            path: path.to_owned(),
            checked: Checked::new(checked),
            readers: Mutex::default(),
            writes: None,
            writer: None,
            durable,
            reached,
            seen: counts.beside,
            beside: Arc::default(),
            supervisor: Supervisor::default(),
        })
    }

    /// Refuses a file that lost acknowledged transactions, unless the operator accepted an older copy.
    ///
    /// # Errors
    /// [`StoreError::Older`].
    pub fn refuse_older(&self) -> Result<(), StoreError> {
        let (found, reached) = (self.state().generation, self.reached);
        if found < reached { Err(StoreError::Older { found, reached }) } else { Ok(()) }
    }

    /// Whether the file is only looked at, so that every write fails.
    pub fn is_still(&self) -> bool {
        self.writes.is_none()
    }

    /// Transactions that were acknowledged when the file was opened, by its mark.
    pub fn reached(&self) -> u64 {
        self.reached
    }

    /// Moves the write-ahead log into the file, so that the file is complete without it.
    ///
    /// # Errors
    /// When a reader holds the log back, or the disk fails.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.shred(|_| Ok(()))?;
        match std::fs::metadata(log_of(&self.path)) {
            Ok(log) if log.len() > 0 => Err(fault("a reader holds the write-ahead log back")),
            _ => Ok(()),
        }
    }

    /// How many transactions are on the disk, and how often an older copy of the file was accepted.
    pub fn state(&self) -> VaultState {
        let Durable { generation, restored, .. } = &*self.durable;
        VaultState {
            generation: generation.load(Ordering::Acquire),
            restored: restored.load(Ordering::Acquire),
        }
    }

    /// How many transactions are on the disk, from now on too.
    pub fn count(&self) -> Count {
        Arc::clone(&self.durable.generation)
    }

    /// The count that the file beside this one had reached when this one was written last, as it was opened.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Has every transaction from now on note the count of the file beside this one.
    pub fn follow(&self, beside: Count) {
        // A second one would be another file.
        let _ = self.beside.set(beside);
    }

    /// Notes that count now, if it changed.
    pub fn note_beside(&self) -> Result<(), StoreError> {
        match self.beside.get().map(|beside| beside.load(Ordering::Acquire)) {
            Some(count) if count != self.durable.beside.load(Ordering::Acquire) => {
                self.recount(Recount::NoteBeside)
            }
            _ => Ok(()),
        }
    }

    /// Accepts this file although a later state of it is remembered. Both counts continue above that state.
    pub fn accept_older(&self, remembered: VaultState) -> Result<(), StoreError> {
        self.recount(Recount::AcceptOlder(remembered))
    }

    fn recount(&self, recount: Recount) -> Result<(), StoreError> {
        let (answer, wait) = sync_channel(1);
        let writes = self.writes.as_ref().ok_or_else(|| fault("the file is only looked at"))?;
        let stopped = || StoreError::Fault("the writer has stopped".to_owned());
        let write = Write {
            run: Box::new(|_| Box::new(move |committed| drop(answer.send(committed)))),
            survives: Survives::PowerCut,
            scrub: false,
            recount: Some(recount),
        };
        self.checked.end();
        writes.send(write).map_err(|_| stopped())?;
        wait.recv().map_err(|_| stopped())?
    }

    /// Runs `operation` in the next transaction and returns once it is durable. The inner error undoes the operation.
    pub fn write<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.submit(operation, Survives::PowerCut, false)
    }

    /// Like [`Database::write`], with a choice of the failure that the write survives. It is durable at the latest with the next
    /// write that survives a power cut.
    pub fn write_surviving<T: Send + 'static>(
        &self,
        survives: Survives,
        operation: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.submit(operation, survives, false)
    }

    /// Like [`Database::write`]; then empties the log, so that deleted bytes are no longer in the files.
    pub fn shred<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.submit(operation, Survives::PowerCut, true)
    }

    /// Runs `operation` on a connection that cannot write.
    pub fn read<T>(
        &self,
        operation: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let checked = self.checked.locked().take();
        let is_checked = checked.is_some();
        let idle = checked.or_else(|| self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop());
        let connection = match idle {
            Some(connection) => connection,
            None => open_reader(&self.path).map_err(fault)?,
        };
        let answer = operation(&connection);
        tell_damage(&self.supervisor, &self.path, &answer);
        if is_checked {
            self.checked.put_back(connection);
            return answer;
        }
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if answer.is_ok() && readers.len() < READERS_MAX {
            readers.push(connection);
        }
        answer
    }

    /// Queues `operation` and returns; `done` gets the result of its transaction.
    pub fn write_behind(
        &self,
        operation: impl FnOnce(&Connection) -> Result<(), StoreError> + Send + 'static,
        done: impl FnOnce(Result<(), StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        self.enqueue(operation, done, Survives::PowerCut, false)
    }

    fn submit<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
        survives: Survives,
        scrub: bool,
    ) -> Result<T, StoreError> {
        let (answer, wait) = sync_channel(1);
        // The receiver waits below, so a failed send means that its thread has ended.
        self.enqueue(operation, move |outcome| drop(answer.send(outcome)), survives, scrub)?;
        wait.recv().map_err(|_| StoreError::Fault("the writer has stopped".to_owned()))?
    }

    fn enqueue<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
        done: impl FnOnce(Result<T, StoreError>) + Send + 'static,
        survives: Survives,
        scrub: bool,
    ) -> Result<(), StoreError> {
        let run = move |transaction: Result<&Writer, StoreError>| -> Acknowledge {
            let outcome = transaction.and_then(|writer| {
                let outcome = writer.in_savepoint(operation);
                tell_damage(&writer.supervisor, &writer.path, &outcome);
                outcome
            });
            Box::new(move |committed| done(committed.and(outcome)))
        };
        self.checked.end();
        let writes = self.writes.as_ref().ok_or_else(|| fault("the file is only looked at"))?;
        writes.try_send(Write { run: Box::new(run), survives, scrub, recount: None }).map_err(|error| {
            match error {
                TrySendError::Full(_) => StoreError::Busy,
                TrySendError::Disconnected(_) => StoreError::Fault("the writer has stopped".to_owned()),
            }
        })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // The writer closes last, because only it can empty the log into the file.
        self.checked.end();
        self.readers.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        self.writes = None;
        if let Some(writer) = self.writer.take() {
            // A panic of the writer is already in the log.
            let _ = writer.join();
        }
    }
}

#[cfg(test)]
mod tests;
