//! What a node of a fleet hears of the others, and its turns in the log.
//!
//! A thread asks for the row of [`crate::node`] every [`POLL`] and reads what was changed since. It asks rather than waits to be told: a notification
//! that was lost on the way looks like no change, and an answer that does not come looks like none. The age of the last answer is what
//! [`Heard::check`] goes by. News are taken over again for a while, because a read that began before them may put an old row into memory after them.
//!
//! Two more threads take turns, in the log and in the registry: each an advisory lock of a transaction, which the server ends with the session, or if the
//! node does nothing for too long.

#![expect(clippy::disallowed_types, reason = "the list of nodes, for operators who look at it")]

mod ears;
mod keys;
mod rights;
mod shared;

pub use keys::Signs;

use crate::address::Address;
use crate::link::{CONNECT_MAX, Link};
use crate::node::{held, named};
use crate::table::RowMac;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use ears::Ears;
use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use trefoil_storage::Supervisor;
use trefoil_storage::store::StoreError;
use trefoil_storage::store::fleet::{Apply, Figures, Node, NodeKeys, Right, STALE_MAX, Work};
use trefoil_types::TenantId;

/// Between two looks at the other nodes' changes.
const POLL: Duration = Duration::from_millis(100);
/// Between two proofs that the server which tells the news is the primary.
const PROOF_PAUSE: Duration = Duration::from_millis(250);
/// For how long news are taken over again: at least so long, and the longest read of a row with a margin.
const AGAIN_MIN: Duration = Duration::from_millis(1500);
const AGAIN_MARGIN: Duration = Duration::from_millis(500);
/// A node that has not heard for so long may have missed changes that are not kept any more.
const MISSED: Duration = Duration::from_secs(300);
/// Changes that are read at a time. With more, everything is taken for changed.
const CHANGES_MAX: usize = 10_000;
/// Between two looks at who the nodes are, and two tries to be the one that keeps house.
const LOOK_PAUSE: Duration = Duration::from_secs(2);
/// Locks beside the one of the database and those of [`rights`].
const LOG: i64 = i64::from_be_bytes(*b"trefoil\x02");
const HOUSE: i64 = i64::from_be_bytes(*b"trefoil\x03");
const REGISTRY: i64 = i64::from_be_bytes(*b"trefoil\x06");

/// Turns that may be waited for.
const TURNS_MAX: usize = 1024;
/// How long a change waits for its turn, in longest waits for an answer.
const TURN_PATIENCES: u32 = 5;

/// Waits for a turn.
type Ask = Sender<Result<Sender<()>, StoreError>>;

/// See the module.
pub(crate) struct Parts {
    place: Place,
    heard: Arc<Heard>,
    seen: Arc<AtomicU64>,
    house: Arc<AtomicBool>,
    nodes: Arc<Mutex<Vec<Node>>>,
    keys: Arc<Mutex<Option<NodeKeys>>>,
    /// Ends the thread that hears when it is dropped; wakes it.
    wake: (Sender<()>, Receiver<()>),
    log: Sender<Ask>,
    /// Turns taken in the log, and nanoseconds waited for them. The thread that seals alone writes them.
    log_turns: [AtomicU64; 2],
    registry: Sender<Ask>,
    /// The transactions before the first news.
    begun: u64,
    started: AtomicBool,
}

/// What a thread needs for a connection.
#[derive(Clone)]
struct Place {
    address: Address,
    mac: Arc<RowMac>,
    patience: Duration,
    supervisor: Supervisor,
    /// The statement that gives a connection the node's name.
    named: String,
}

/// When this node heard last.
struct Heard {
    since: Instant,
    /// Milliseconds after that.
    at: AtomicU64,
}

impl Heard {
    fn new() -> Heard {
        Heard { since: Instant::now(), at: AtomicU64::new(0) }
    }

    fn age(&self) -> Duration {
        self.since.elapsed().saturating_sub(Duration::from_millis(self.at.load(Ordering::Acquire)))
    }

    fn note(&self, begun: Instant) {
        let at = begun.saturating_duration_since(self.since).as_millis();
        self.at.store(u64::try_from(at).unwrap_or(u64::MAX), Ordering::Release);
    }

    /// Whether a look that began after this time was taken over. Times are compared in whole milliseconds, to the safe side.
    fn is_after(&self, asked: Instant) -> bool {
        u128::from(self.at.load(Ordering::Acquire)) > asked.saturating_duration_since(self.since).as_millis()
    }

    fn check(&self) -> Option<String> {
        let age = self.age();
        (age > STALE_MAX).then(|| {
            format!("this node has not heard of the other nodes' changes for {} ms", age.as_millis())
        })
    }
}

impl Parts {
    /// Starts the thread that takes turns. The node knows all changes of the registry up to `seen`, and of the rest up to `begun`.
    pub(crate) fn start(
        supervisor: &Supervisor,
        address: &Address,
        secret: &[u8; 32],
        patience: Duration,
        (begun, seen): (u64, Arc<AtomicU64>),
        name: &str,
    ) -> Result<Parts, StoreError> {
        let (address, mac, supervisor) = (address.clone(), Arc::new(RowMac::of(secret)), supervisor.clone());
        let place = Place { address, mac, patience, supervisor, named: named(name) };
        let log = place.turns("store-log-turn", LOG)?;
        let registry = place.turns("store-registry-turn", REGISTRY)?;
        let (heard, house, started) = (Arc::new(Heard::new()), Arc::default(), AtomicBool::default());
        let (nodes, keys, log_turns) = (Arc::default(), Arc::default(), Default::default());
        Ok(Parts {
            place,
            heard,
            seen,
            house,
            nodes,
            keys,
            wake: bounded(1),
            log,
            log_turns,
            registry,
            begun,
            started,
        })
    }

    /// Why what this node has in memory may be too old, or `None`.
    pub(crate) fn stale(&self) -> Option<String> {
        self.started.load(Ordering::Acquire).then(|| self.heard.check()).flatten()
    }

    pub(crate) fn follow(&self, apply: Apply) -> Result<(), StoreError> {
        let Place { patience, supervisor, .. } = &self.place;
        let mut ears = Ears {
            place: self.place.clone(),
            link: None,
            apply,
            heard: Arc::clone(&self.heard),
            seen: Arc::clone(&self.seen),
            house: Arc::clone(&self.house),
            nodes: Arc::clone(&self.nodes),
            keys: Arc::clone(&self.keys),
            looked_at: None,
            last: self.begun,
            recent: VecDeque::new(),
        };
        ears.hear()?;
        self.started.store(true, Ordering::Release);
        let (wake, patience) = (self.wake.1.clone(), *patience);
        let thread = supervisor.spawn("store-news", move || ears.run(&wake, patience));
        thread.map(drop).map_err(|cause| StoreError::Fault(cause.to_string()))
    }

    /// Waits until the registry of this transaction is known.
    pub(crate) fn until_seen(&self, registry: u64) -> Result<(), StoreError> {
        let until = Instant::now() + self.place.patience;
        while self.seen.load(Ordering::Acquire) < registry {
            if Instant::now() >= until {
                return Err(StoreError::Unreachable(
                    "this node hears of other nodes' changes too late".to_owned(),
                ));
            }
            let _ = self.wake.0.try_send(());
            #[expect(clippy::disallowed_methods, reason = "off the path of a login, where it may block")]
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    pub(crate) fn has_heard_since(&self, asked: Instant) -> bool {
        self.heard.is_after(asked)
    }

    pub(crate) fn log_turn(&self) -> Result<Box<dyn Any + Send>, StoreError> {
        let (begun, wait) = (Instant::now(), ask(&self.log)?);
        let turn = wait.recv().map_err(|_| turns_ended())??;
        let waited = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        for (sum, more) in self.log_turns.iter().zip([1, waited]) {
            sum.store(sum.load(Ordering::Relaxed).saturating_add(more), Ordering::Relaxed);
        }
        Ok(Box::new(turn))
    }

    pub(crate) fn figures(&self) -> Figures {
        let [log_turns, waited_ns] = self.log_turns.each_ref().map(|sum| sum.load(Ordering::Relaxed));
        Figures { news_age: self.heard.age(), log_turns, log_turn_wait: Duration::from_nanos(waited_ns) }
    }

    /// `check` says whether the database is away, so that those who wait for others' changes hear of it.
    pub(crate) fn registry_turn(
        &self,
        check: impl Fn() -> Result<(), StoreError>,
    ) -> Result<Box<dyn Any + Send>, StoreError> {
        let (wait, until) = (ask(&self.registry)?, Instant::now() + self.place.patience * TURN_PATIENCES);
        loop {
            match wait.recv_timeout(POLL) {
                Ok(turn) => return Ok(Box::new(turn?)),
                Err(RecvTimeoutError::Disconnected) => return Err(turns_ended()),
                Err(RecvTimeoutError::Timeout) => check()?,
            }
            if Instant::now() >= until {
                return Err(StoreError::Unreachable(
                    "other changes of tenants, keys or operators take too long".to_owned(),
                ));
            }
        }
    }

    pub(crate) fn right(
        &self,
        work: Work,
        of: &TenantId,
        wait: Duration,
    ) -> Result<Option<Box<dyn Right>>, StoreError> {
        rights::right(&self.place, work, of, wait)
    }

    pub(crate) fn nodes(&self) -> Vec<Node> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn announce(&self, keys: NodeKeys) {
        *self.keys.lock().unwrap_or_else(PoisonError::into_inner) = Some(keys);
    }

    pub(crate) fn keeps_house(&self) -> bool {
        self.house.load(Ordering::Acquire)
    }
}

/// Asks for a turn.
fn ask(of: &Sender<Ask>) -> Result<Receiver<Result<Sender<()>, StoreError>>, StoreError> {
    let (answer, wait) = bounded(1);
    of.try_send(answer).map_err(|cause| match cause {
        TrySendError::Full(_) => StoreError::Busy,
        TrySendError::Disconnected(_) => turns_ended(),
    })?;
    Ok(wait)
}

fn turns_ended() -> StoreError {
    StoreError::Fault("a thread that takes turns has ended".to_owned())
}

/// The nodes that share the lock. PostgreSQL shows a role only of its own sessions since when they are, and from where.
fn nodes(link: &Link) -> Result<Vec<Node>, StoreError> {
    let (high, house) = (HOUSE.cast_unsigned() >> 32, HOUSE.cast_unsigned() & 0xffff_ffff);
    let rows = link.rows(
        &format!(
            "SELECT a.application_name, CASE WHEN a.backend_start IS NULL THEN 'another role' ELSE coalesce(host(a.client_addr), 'this machine') END,
             coalesce(extract(epoch FROM a.backend_start)::bigint, 0),
             EXISTS (SELECT FROM pg_locks AS h JOIN pg_stat_activity AS b ON b.pid = h.pid WHERE h.locktype = 'advisory'
                     AND h.classid = {high} AND h.objid = {house} AND h.granted AND split_part(b.application_name, ' ', 2) = split_part(a.application_name, ' ', 2))
             FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
             WHERE {} ORDER BY 3, 1",
            held()
        ),
        &[],
    )?;
    let failed = |cause: tokio_postgres::Error| StoreError::Fault(cause.to_string());
    let nodes = rows
        .iter()
        .map(|row| {
            let name: String = row.try_get(0).map_err(failed)?;
            let since: i64 = row.try_get(2).map_err(failed)?;
            Ok(Node {
                name: name.strip_prefix("trefoil ").unwrap_or(&name).to_owned(),
                address: row.try_get(1).map_err(failed)?,
                since: since.cast_unsigned(),
                keeps_house: row.try_get(3).map_err(failed)?,
                keys: None,
            })
        })
        .collect::<Result<Vec<Node>, StoreError>>();
    let mut nodes = nodes?;
    keys::fill(link, &mut nodes)?;
    Ok(nodes)
}

/// The nodes and what they show, for somebody who looks at the database from outside.
pub(crate) fn nodes_and_signs(link: &Link) -> Result<Vec<(Node, Signs)>, StoreError> {
    let signs = keys::signs(link)?;
    let with = |node: Node| {
        let shown = signs.get(&node.name).cloned().unwrap_or_default();
        (node, shown)
    };
    Ok(nodes(link)?.into_iter().map(with).collect())
}

impl Place {
    fn open(&self) -> Result<Link, StoreError> {
        Link::open(&self.address, self.patience, CONNECT_MAX)
    }

    /// Starts a thread that takes turns.
    fn turns(&self, name: &str, lock: i64) -> Result<Sender<Ask>, StoreError> {
        let (ask, asked) = bounded(TURNS_MAX);
        let place = self.clone();
        let thread = self.supervisor.spawn(name, move || place.take_turns(lock, &asked));
        thread.map_err(|cause| StoreError::Fault(cause.to_string()))?;
        Ok(ask)
    }

    fn take_turns(&self, lock: i64, asked: &Receiver<Ask>) {
        let mut kept: Option<Link> = None;
        for ask in asked {
            let held = kept.take().filter(|link| !link.is_lost() && link.assure().is_ok());
            let link = match held.map_or_else(|| self.turning(), Ok) {
                Ok(link) => link,
                Err(cause) => {
                    drop(ask.send(Err(cause)));
                    continue;
                }
            };
            match link.batch(&format!("BEGIN; SELECT pg_advisory_xact_lock({lock})")) {
                Ok(()) => {
                    let (turn, ends) = bounded::<()>(0);
                    drop(ask.send(Ok(turn)));
                    // Nothing is sent: the turn ends when it is dropped.
                    ends.iter().for_each(drop);
                    // If that fails, the session ends, and the turn with it.
                    kept = link.batch("COMMIT").is_ok().then_some(link);
                }
                Err(cause) => {
                    kept = link.batch("ROLLBACK").is_ok().then_some(link);
                    drop(ask.send(Err(cause)));
                }
            }
        }
    }

    /// A connection that hears, and shows the version of the program.
    fn hearing(&self) -> Result<Link, StoreError> {
        let link = self.open()?;
        link.batch(&keys::versioned())?;
        Ok(link)
    }

    /// A connection whose turn ends if this node hangs.
    fn turning(&self) -> Result<Link, StoreError> {
        let link = self.open()?;
        let longest = self.patience * 2;
        link.batch(&format!("SET idle_in_transaction_session_timeout = {}", longest.as_millis()))?;
        Ok(link)
    }
}

#[cfg(test)]
mod tests;
