//! The register of a fleet: which nonces were used, at any node.
//!
//! A batch is one statement. Of two batches with one nonce the database lets one insert it, and the other waits for that and inserts nothing.
//! Keys are sorted, so two batches cannot deadlock. A worker blocks for at most the patience: it uses a connection that is idle, or waits
//! for one that the keeper opens. After an error every call is refused at once, until the keeper, a thread of its own, has had an answer.
//!
//! **Forgetting.** The tables are UNLOGGED, so a batch waits for no disk, and they are empty after a crash of the server and on a promoted
//! replica. The row of the table `register` says since when everything is remembered. It is UNLOGGED too, and it names the server's start
//! and the files of the tables. So a copy that was restored, a truncated table and a restarted server count as a loss as well: the batch that
//! finds no row that fits uses nothing, and the keeper begins anew. All times are the database's.
//!
//! **The clock may step.** Nonces have the dates of their requests. Before any is deleted, the row's `swept` is raised above its date, and no request
//! up to then is accepted any more, whatever the clock says later. A node deletes only up to what it raised at its sweep before: by then every
//! batch that does not know of it is over, because its node waits no longer than `patience`. A register that begins anew does so no earlier
//! than at the time of the newest seal.
//!
//! **Bound.** Every nonce has passed its node's own guard, which takes a bounded number in its time. Nonces are deleted when they are older
//! than `keep_s`, by any node that finds some, so there are at most as many as all guards together hold in that time.

use crate::address::Address;
use crate::link::{CONNECT_MAX, Link};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio_postgres::Row;
use trefoil_attest::LogEntry;
use trefoil_storage::Supervisor;
use trefoil_storage::store::{Register, Registered, Spending, Spent, StoreError};

mod sql;
pub(crate) use sql::{CLOCK, TABLES};
#[cfg(test)]
mod tests;

/// Between two looks of the keeper.
const LOOK: Duration = Duration::from_secs(1);
/// The same while the database is away.
const LOOK_AWAY: Duration = Duration::from_millis(200);
/// Between two deletions of what is old.
const SWEEP: Duration = Duration::from_secs(10);
/// Calls that may wait for the keeper.
const CALLS_MAX: usize = 1024;

/// What the keeper is asked for.
enum Call {
    /// One more connection.
    Link,
    /// Whether the database is there.
    Look,
}

/// A connection that is lent. The number of its second part's clones says how many there are.
struct Lent(Link, #[expect(dead_code, reason = "it counts while it is there")] Arc<()>);

/// What all threads read, and one writes seldom.
#[derive(Default)]
struct State {
    is_away: AtomicBool,
    since: AtomicU64,
}

impl State {
    #[expect(clippy::disallowed_methods, reason = "when the database gave no answer")]
    fn fall(&self, cause: &StoreError) {
        if !self.is_away.swap(true, Ordering::AcqRel) {
            tracing::error!(%cause, "the register of used nonces is away; logins are refused until it is back");
        }
    }

    #[expect(clippy::disallowed_methods, reason = "by the keeper, a few times a second")]
    fn rise(&self, since: u64) {
        self.since.store(since, Ordering::Release);
        if self.is_away.swap(false, Ordering::AcqRel) {
            tracing::info!(since, "the register of used nonces is back");
        }
    }
}

impl State {
    /// A batch may know before the keeper that the register began anew.
    #[expect(clippy::disallowed_methods, reason = "when the register began anew")]
    fn heard(&self, since: u64) {
        if self.since.load(Ordering::Acquire) < since {
            self.since.fetch_max(since, Ordering::AcqRel);
        }
    }
}

/// See the module. Dropping it ends the keeper, which closes the connections: an asynchronous thread must not.
pub struct PostgresRegister {
    idle: Receiver<Lent>,
    back: Sender<Lent>,
    calls: Option<Sender<Call>>,
    state: Arc<State>,
    patience: Duration,
    early_s: i64,
    place: String,
    keeper: Option<JoinHandle<()>>,
}

/// The register's bounds.
#[derive(Clone, Copy)]
pub struct Bounds {
    /// Connections beside that of the keeper, each opened when it is first needed.
    pub links_max: usize,
    /// How long a nonce is remembered, seconds.
    pub keep_s: u64,
    /// A register that begins anew when it is opened remembers what comes so much later, seconds: a process alone may have used the database.
    pub late_s: u64,
    /// A request that is dated further ahead is refused, seconds.
    pub early_s: u64,
}

impl PostgresRegister {
    /// Opens the register, and makes its tables. No call takes longer than `patience`. Also returns the database's time, Unix seconds.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`], and a fault.
    pub fn open(
        supervisor: &Supervisor,
        address: &Address,
        patience: Duration,
        bounds: Bounds,
    ) -> Result<(PostgresRegister, u64), StoreError> {
        let Bounds { links_max, late_s, early_s, .. } = bounds;
        let ((back, idle), (calls, asked)) = (bounded(links_max), bounded(CALLS_MAX));
        let (state, now) = (Arc::<State>::default(), Instant::now());
        let mut keeper = Keeper {
            address: address.clone(),
            patience,
            state: Arc::clone(&state),
            bounds,
            swept: 0,
            lend: back.clone(),
            idle: idle.clone(),
            lent: Arc::default(),
            late: address.old_primary_counts_for() + Duration::from_secs(late_s),
            link: None,
            look_at: now + LOOK,
            sweep_at: now + SWEEP,
        };
        let (tell, told) = bounded(1);
        let keeper = supervisor.spawn("register", move || match keeper.tend() {
            Err(cause) => drop(tell.send(Err(cause))),
            Ok((since, now)) => {
                keeper.late = keeper.address.old_primary_counts_for();
                keeper.state.rise(since);
                let _ = tell.send(Ok(now));
                keeper.run(&asked);
            }
        });
        let keeper = Some(keeper.map_err(|cause| StoreError::Fault(cause.to_string()))?);
        let now =
            told.recv().map_err(|_| StoreError::Fault("the register's thread has ended".to_owned()))??;
        let (calls, place) = (Some(calls), address.to_string());
        let early_s = i64::try_from(early_s).unwrap_or(i64::MAX);
        Ok((PostgresRegister { idle, back, calls, state, patience, early_s, place, keeper }, now))
    }

    /// Empties the register: of a database that one process will use, whose requests would not be in it, and after a clock that was wrong.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`], and a fault.
    pub fn forget(address: &Address, patience: Duration) -> Result<(), StoreError> {
        let forget = || {
            let link = Link::open(address, patience, CONNECT_MAX)?;
            if are_there(&link)? { link.batch(sql::FORGET) } else { Ok(()) }
        };
        // A connection may not be opened on a thread of an asynchronous caller.
        let forgotten = std::thread::scope(|scope| scope.spawn(forget).join());
        forgotten.unwrap_or_else(|_| {
            Err(StoreError::Fault("the thread that empties the register has ended".to_owned()))
        })
    }

    /// Asks on a connection. All waits together end within the patience.
    fn ask<T>(&self, ask: impl FnOnce(&Link) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let until = Instant::now() + self.patience;
        if self.state.is_away.load(Ordering::Acquire) {
            return Err(self.away("it gave no answer lately"));
        }
        let outcome = self.link(until).and_then(|lent| {
            lent.0.be_usual(until.saturating_duration_since(Instant::now()));
            let answer = ask(&lent.0)?;
            lent.0.assure()?;
            // There is room for all.
            let _ = self.back.try_send(lent);
            Ok(answer)
        });
        if let Err(cause) = &outcome {
            self.state.fall(cause);
            // They were opened to a server that may be gone.
            self.idle.try_iter().for_each(drop);
            let _ = self.call(Call::Look);
        }
        outcome
    }

    /// A connection that nobody else has.
    fn link(&self, until: Instant) -> Result<Lent, StoreError> {
        if let Ok(lent) = self.idle.try_recv() {
            return Ok(lent);
        }
        // If the keeper has that many calls, it will look at this one too late anyway.
        let _ = self.call(Call::Link);
        self.idle.recv_deadline(until).map_err(|_| self.away("no connection in time"))
    }

    fn call(&self, call: Call) -> Result<(), TrySendError<Call>> {
        self.calls.as_ref().expect("lives as long as the register").try_send(call)
    }

    fn away(&self, why: &str) -> StoreError {
        StoreError::Unreachable(format!("{}: the register of used nonces: {why}", self.place))
    }
}

impl Drop for PostgresRegister {
    fn drop(&mut self) {
        self.calls = None;
        if let Some(keeper) = self.keeper.take() {
            // Its panic is already in the log.
            let _ = keeper.join();
        }
    }
}

impl Register for PostgresRegister {
    fn unready(&self) -> Option<String> {
        let is_away = self.state.is_away.load(Ordering::Acquire);
        is_away.then(|| self.away("it gave no answer lately").to_string())
    }

    fn since(&self) -> u64 {
        self.state.since.load(Ordering::Acquire)
    }

    fn spend(&self, batch: &[Spending]) -> Result<Registered, StoreError> {
        let nonces: Vec<&[u8]> = batch.iter().map(|spending| &spending.nonce[..]).collect();
        let dates: Vec<i64> = batch.iter().map(|spending| spending.issued_at.cast_signed()).collect();
        self.ask(|link| {
            let rows = link.query(sql::SPEND, &[&nonces, &dates, &self.early_s])?;
            answered(&rows, batch)?.ok_or_else(|| self.away("it began anew"))
        })
        .inspect(|registered| self.state.heard(registered.since))
    }
}

/// The answer in these rows; none if the register forgot.
fn answered(rows: &[Row], batch: &[Spending]) -> Result<Option<Registered>, StoreError> {
    let (mut times, mut nonces) = (None, Vec::new());
    for row in rows {
        let read = || {
            let kind: i32 = row.try_get(0)?;
            let (key, number): (Option<&[u8]>, Option<i64>) = (row.try_get(1)?, row.try_get(2)?);
            Ok((kind, key.unwrap_or_default(), number.unwrap_or_default().cast_unsigned()))
        };
        let (kind, key, number) =
            read().map_err(|cause: tokio_postgres::Error| StoreError::Fault(cause.to_string()))?;
        match kind {
            sql::NOW => times = Some((number, 0)),
            sql::SINCE => times = times.map(|(now, _)| (now, number)),
            _ => nonces.push(key),
        }
    }
    // Each is taken out, so that it is given to one request.
    let mut spend = |nonce: &[u8]| match nonces.iter().position(|new| *new == nonce) {
        Some(at) => {
            nonces.swap_remove(at);
            Spent::First
        }
        None => Spent::Repeated,
    };
    let spent = batch.iter().map(|spending| spend(&spending.nonce)).collect();
    Ok(times.map(|(now, since)| Registered { now, since, spent }))
}

/// The thread that opens connections, looks whether the register remembers, and deletes what is old.
struct Keeper {
    address: Address,
    patience: Duration,
    state: Arc<State>,
    bounds: Bounds,
    /// What the last sweep raised the time to up to which nonces may be forgotten.
    swept: u64,
    lend: Sender<Lent>,
    idle: Receiver<Lent>,
    lent: Arc<()>,
    /// So much after now a register that begins anew remembers.
    late: Duration,
    link: Option<Link>,
    look_at: Instant,
    sweep_at: Instant,
}

impl Keeper {
    fn run(mut self, calls: &Receiver<Call>) {
        loop {
            match calls.recv_deadline(self.look_at) {
                Ok(Call::Link) => {
                    if let Err(cause) = self.give() {
                        self.state.fall(&cause);
                    }
                }
                Ok(Call::Look) => self.look_at = Instant::now(),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.idle.try_iter().for_each(drop),
            }
            if Instant::now() >= self.look_at {
                self.look();
            }
        }
    }

    /// Puts one more connection where a worker waits for it, unless one was given back meanwhile, or all are lent.
    fn give(&self) -> Result<(), StoreError> {
        // This one is counted too.
        if self.idle.is_empty() && Arc::strong_count(&self.lent) <= self.bounds.links_max {
            let link = Link::open(&self.address, self.patience, self.patience)?;
            link.prepare(sql::SPEND)?;
            let _ = self.lend.try_send(Lent(link, Arc::clone(&self.lent)));
        }
        Ok(())
    }

    fn look(&mut self) {
        let looked = self.tend();
        self.look_at = Instant::now() + if looked.is_ok() { LOOK } else { LOOK_AWAY };
        match looked {
            Ok((since, _)) => self.state.rise(since),
            Err(cause) => {
                self.link = None;
                self.idle.try_iter().for_each(drop);
                self.state.fall(&cause);
            }
        }
        if Instant::now() >= self.sweep_at && self.link.is_some() {
            self.sweep();
        }
    }

    /// Since when the register remembers, and its time. It begins anew if it forgot.
    fn tend(&mut self) -> Result<(u64, u64), StoreError> {
        if self.link.is_none() {
            let link = Link::open(&self.address, self.patience, CONNECT_MAX)?;
            // Not "IF NOT EXISTS" alone, which needs the right to make them.
            if !are_there(&link)? {
                link.batch(TABLES)?;
            }
            self.link = Some(link);
        }
        let link = self.link.as_ref().expect("it is there");
        link.assure()?;
        if let Some(times) = remembered(link)? {
            return Ok(times);
        }
        link.batch(sql::LOCK)?;
        // Another node may have been first.
        match remembered(link)? {
            Some(_) => link.batch("COMMIT")?,
            None => link.batch(&sql::begin_anew(self.late.as_secs(), reached(link)?))?,
        }
        remembered(link)?
            .ok_or_else(|| StoreError::Fault(format!("{}: its register has no row", self.address)))
    }

    /// Deletes some of what is old, and comes back soon if that was not all.
    fn sweep(&mut self) {
        let Some(link) = &self.link else { return };
        let swept = || -> Result<Option<u64>, StoreError> {
            if link.execute(&sql::sweep(self.swept), &[])? == sql::SWEEP_MAX {
                return Ok(None);
            }
            let Bounds { keep_s, early_s, .. } = self.bounds;
            let raised = link.told(&sql::raise(keep_s, early_s, reached(link)?))?;
            Ok(Some(raised.and_then(|row| row.first()?.as_ref()?.parse().ok()).unwrap_or(0)))
        };
        match swept() {
            Ok(None) => return self.look_at = Instant::now(),
            Ok(Some(raised)) => self.swept = raised,
            Err(cause) => tracing::warn!(%cause, "old nonces were not deleted from the register"),
        }
        self.sweep_at = Instant::now() + SWEEP.max(self.patience);
    }
}

/// Whether the tables are there.
fn are_there(link: &Link) -> Result<bool, StoreError> {
    Ok(link.told(sql::ARE_THERE)? == Some(vec![Some("2".to_owned())]))
}

/// Up to when the register may have forgotten, and its time; none if it forgot everything.
fn remembered(link: &Link) -> Result<Option<(u64, u64)>, StoreError> {
    let told = link.told(sql::REMEMBERS)?;
    let number = |at: usize| told.as_ref()?.get(at)?.as_ref()?.parse().ok();
    Ok(number(0).zip(number(1)))
}

/// The time that the log of seals has reached: that of the newest one, or what the clock said that an operator accepted after it. 0 without a log.
fn reached(link: &Link) -> Result<u64, StoreError> {
    if link.told(sql::HAS_SEALS)?.is_none() {
        return Ok(0);
    }
    let told = link.told(sql::REACHED)?.unwrap_or_default();
    let text = |at: usize| told.get(at)?.as_deref();
    if let Some(accepted) = text(1) {
        return Ok(accepted.parse().unwrap_or(u64::MAX));
    }
    let Some(newest) = text(0) else { return Ok(0) };
    let seal = hex::decode(newest).ok().and_then(|bytes| Some(LogEntry::decode(&bytes).ok()?.header().time));
    seal.ok_or_else(|| StoreError::Forged("the newest seal cannot be read".to_owned()))
}
