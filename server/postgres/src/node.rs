//! The process that uses the database, alone or as a node of a fleet: its lock, its term, and the count of transactions.
//!
//! A process that is alone keeps the tenants, the end of the log and more in memory, so two processes on one database would contradict each other. Three
//! facts exclude that:
//!
//! * A session-level advisory lock belongs to the connection that writes. PostgreSQL releases it with the connection, so a process that lost
//!   the lock has lost its writing connection too.
//! * The row of [`Node`] counts the processes that took the lock. A process whose term is over ends, because what it has in memory is old.
//! * Each transaction reads that row first, counts itself in it, and signs it together with the sum over the rows of the summed tables. A process that finds fewer transactions than it acknowledged, or more than
//!   it made, ends: a standby took over that lacked some, or somebody else wrote.
//!
//! A commit whose answer was lost may have happened. Then one transaction more is accepted.
//!
//! The nodes of a fleet share the lock, which a process that wants to be alone then does not get. Each of their transactions locks the row of
//! [`Node`] first, so they follow one another, and takes over what the one before left: the count, which must not fall below the one that this node
//! knows, and the sum.

mod lock;

use crate::address::Address;
use crate::link::{CONNECT_MAX, Link};
use crate::pool;
use crate::schema::VERSION;
use crate::scope::Scope;
use crate::table::{RowMac, Rows, Sum, Telling};
pub(crate) use lock::{LOCK, held, holder, holds, in_use, is_true, named};
use lock::{LOCK_WAIT, be_alone, lock, warn_of_lost_writes};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use trefoil_storage::data_dir::{HighWater, Reached};
use trefoil_storage::database::Count;
use trefoil_storage::store::StoreError;
use trefoil_storage::table::{Column as _, Value};

/// The row of the installation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Node {
    /// Counts the processes that have held the database.
    pub(crate) term: u64,
    /// Counts committed transactions.
    pub(crate) generation: u64,
    /// The last transaction that changed what every node of a fleet has in memory as a whole.
    pub(crate) registry: u64,
    /// The transactions of the vault beside it, as of the last one.
    vault: u64,
}

/// Longest wait for a start's statements, which may make indexes.
pub(crate) const START: Duration = Duration::from_secs(300);

/// How a database is opened.
#[derive(Debug, Default)]
pub struct Opening {
    /// The count of acknowledged transactions, as of the data directory.
    pub mark: Option<HighWater>,
    /// Whether it was restored, so that acknowledged transactions may be missing.
    pub restored: bool,
    /// The name of this node, if others use the database at the same time.
    pub fleet: Option<String>,
    /// Transactions that a key-holder elsewhere has seen.
    pub seen: u64,
    /// Only look.
    pub is_still: bool,
}

/// The hold of this process on the database.
pub(crate) struct Hold {
    address: Address,
    pub(crate) mac: RowMac,
    patience: Duration,
    node: Node,
    /// Over the rows that are committed.
    sum: Sum,
    /// The sum of the last transaction, if the answer to its commit was lost.
    in_doubt: Option<Sum>,
    mark: Option<HighWater>,
    /// The name of this node of a fleet.
    pub(crate) fleet: Option<String>,
    /// The last change of the registry that this node has in memory.
    seen: Arc<AtomicU64>,
    /// Its transactions that were acknowledged, for the vault beside it.
    count: Count,
    /// Those of the vault.
    beside: Beside,
}

/// The count of the vault in this process, if there is one, once it is open.
pub(crate) type Beside = Arc<OnceLock<Count>>;

/// The row of the installation as it is stored.
pub(crate) struct Stored {
    /// Of the tables.
    pub(crate) version: u64,
    pub(crate) node: Node,
    /// Hidden.
    sum: Vec<u8>,
    code: Vec<u8>,
}

impl Hold {
    /// Takes the lock, makes the tables if there are none, and begins a term.
    pub(crate) fn take(
        address: Address,
        secret: &[u8; 32],
        patience: Duration,
        opening: Opening,
    ) -> Result<(Hold, Link), StoreError> {
        let (mac, link) = (RowMac::of(secret), Link::open(&address, patience, CONNECT_MAX)?);
        pool::refuse(&address, &link, patience)?;
        let Opening { mark, restored, fleet, seen: elsewhere, is_still } = opening;
        if restored && fleet.is_some() {
            be_alone(&address, &link)?;
        }
        lock(&address, &link, LOCK_WAIT, fleet.as_deref())?;
        let reached = mark.as_ref().map_or(0, |mark| mark.reached().count);
        let (node, sum) = (Node::default(), Sum::default());
        let (in_doubt, seen, count) = (None, Arc::default(), Count::default());
        let beside = Beside::default();
        let mut hold = Hold { address, mac, patience, node, sum, in_doubt, mark, fleet, seen, count, beside };
        if is_still {
            // A look gives the lock back at once. A process that starts at that moment waits for the lock, for longer than the look has it.
            link.batch("SELECT pg_advisory_unlock_all()")?;
        }
        let verified = hold.verified(&link)?;
        link.batch(&format!("BEGIN; {}", Scope::All.local()))?;
        link.be_patient(START)?;
        let node;
        (node, hold.sum) = hold.tables(&link, reached, verified)?;
        if node.generation < reached && !restored {
            return Err(hold.older(node.generation, reached));
        }
        // Any other count may be an older copy's: a node of a fleet notes only its own transactions, and a directory may be restored too.
        if restored && reached > 0 && node.generation == reached && elsewhere <= reached {
            return Err(hold.unusable(&format!(
                "the database has every acknowledged transaction ({reached}): nothing was restored. Start without --store-restored"
            )));
        }
        if is_still {
            hold.node = node;
            hold.count.store(node.generation, Ordering::Release);
            link.batch("ROLLBACK")?;
            return Ok((hold, link));
        }
        if restored {
            let (found, lacks) = (node.generation, reached.saturating_sub(node.generation));
            tracing::warn!(
                found,
                lacks,
                "the restored database lacks so many of the transactions that were acknowledged here"
            );
        }
        // A start is not counted: an older copy that is refused would be newer at the next one.
        let generation = node.generation.max(reached) + u64::from(restored || node.generation == 0);
        hold.node = Node { term: node.term + 1, generation, ..node };
        hold.seen.store(node.registry, Ordering::Release);
        link.commit(&format!("{}; COMMIT", hold.written(&hold.node, hold.sum)?))?;
        if restored && hold.fleet.is_some() {
            link.batch(&format!("SELECT pg_advisory_unlock({LOCK})"))?;
        }
        link.be_usual(patience);
        warn_of_lost_writes(&link, &hold.address)?;
        hold.reach();
        Ok((hold, link))
    }

    /// The row of the installation with its code, which is still to be checked.
    pub(crate) fn stored(&self, link: &Link) -> Result<Stored, StoreError> {
        stored(link, "", "FOR UPDATE")?.ok_or_else(|| self.missing())
    }

    pub(crate) fn missing(&self) -> StoreError {
        self.unusable(
            "the row of its table node is missing or not one of Trefoil's: restore it with PostgreSQL's tools",
        )
    }

    fn code(&self, node: &Node, sum: Sum) -> Vec<u8> {
        code(&self.mac, node, sum)
    }

    /// The statement that writes the row.
    fn written(&self, node: &Node, sum: Sum) -> Result<String, StoreError> {
        let Node { term, generation, registry, vault } = node;
        let (code, sum) = (hex::encode(self.code(node, sum)), hex::encode(self.mac.hide(sum)?));
        Ok(format!(
            "UPDATE node SET term = {term}, generation = {generation}, registry = {registry}, vault = {vault}, sum = decode('{sum}', 'hex'),
             mac = decode('{code}', 'hex') WHERE id = 0"
        ))
    }

    /// A new connection within `wait`, with the lock, for the same term.
    pub(crate) fn again(&mut self, wait: Duration) -> Result<Link, StoreError> {
        let link = Link::open(&self.address, self.patience, wait)?;
        lock(&self.address, &link, Duration::ZERO, self.fleet.as_deref())?;
        let stored = self.stored(&link)?;
        if self.fleet.is_some() {
            self.take_over(&stored)?;
            return Ok(link);
        }
        let Stored { node: found, code, .. } = stored;
        let Node { term, generation, .. } = found;
        let acknowledged = self.node.generation;
        if term != self.node.term {
            return Err(self.unusable("another process used it meanwhile, so what this one has in memory is old: start this one again"));
        }
        if generation < acknowledged {
            return Err(self.older(generation, acknowledged));
        }
        let sum = match self.in_doubt {
            Some(sum) if generation == acknowledged + 1 => sum,
            _ if generation == acknowledged => self.sum,
            _ => {
                return Err(self.unusable(
                    "it counts transactions that this process did not make: find out who wrote to it",
                ));
            }
        };
        if code != self.code(&found, sum) {
            return Err(StoreError::Forged(
                "the row of the table node is not one that this process wrote".to_owned(),
            ));
        }
        (self.node, self.sum, self.in_doubt) = (found, sum, None);
        self.reach();
        Ok(link)
    }

    pub(crate) fn rows<'a>(&'a self, link: &'a Link) -> Rows<'a> {
        let telling = self.fleet.is_some().then(|| Telling {
            generation: self.node.generation + 1,
            is_behind: self.node.registry != self.seen.load(Ordering::Acquire),
            ..Telling::default()
        });
        Rows { link, mac: &self.mac, sum: Cell::new(self.sum), telling }
    }

    /// The last change of the registry that this node has in memory, for those who bring it up to date.
    pub(crate) fn seen(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.seen)
    }

    pub(crate) fn count(&self) -> Count {
        Arc::clone(&self.count)
    }

    /// Where to put the count of the vault, and the count that the database has seen.
    pub(crate) fn beside(&self) -> (Beside, u64) {
        (Arc::clone(&self.beside), self.node.vault)
    }

    /// Transactions until now.
    pub(crate) fn generation(&self) -> u64 {
        self.node.generation
    }

    /// Begins a transaction of this term, or of the fleet.
    pub(crate) fn begin(&mut self, link: &Link, scope: Scope) -> Result<(), StoreError> {
        let begin = format!("BEGIN; {};", scope.local());
        if self.fleet.is_some() {
            let stored = stored(link, &begin, "FOR UPDATE")?;
            return self.take_over(&stored.ok_or_else(|| self.missing())?);
        }
        let told = link
            .told(&format!("{begin} SELECT term, generation FROM node WHERE id = 0"))?
            .unwrap_or_default();
        let Node { term, generation, .. } = self.node;
        let expected = [term, generation].map(|number| Some(number.to_string()));
        match told == expected {
            true => Ok(()),
            false => Err(self.unusable(
                "another process wrote to it, so what this one has in memory is old: start this one again",
            )),
        }
    }

    /// Takes over what other nodes of the fleet left.
    fn take_over(&mut self, stored: &Stored) -> Result<(), StoreError> {
        let (found, sum) = stored.open(&self.mac)?;
        if found.generation < self.node.generation {
            return Err(self.older(found.generation, self.node.generation));
        }
        (self.node, self.sum) = (found, sum);
        Ok(())
    }

    /// Counts the transaction, after which the rows have this sum, and commits it. `registry`: whether it changed what every node has in memory; then
    /// it returns its number, for [`Hold::know`].
    pub(crate) fn commit(
        &mut self,
        link: &Link,
        sum: Sum,
        registry: bool,
    ) -> Result<Option<u64>, StoreError> {
        let generation = self.node.generation + 1;
        let last = if registry { generation } else { self.node.registry };
        let vault = self.beside.get().map_or(self.node.vault, |vault| vault.load(Ordering::Acquire));
        let next = Node { generation, registry: last, vault, ..self.node };
        match link.commit(&format!("{}; COMMIT", self.written(&next, sum)?)) {
            Ok(()) => {
                (self.node, self.sum) = (next, sum);
                self.reach();
                Ok(registry.then_some(generation))
            }
            Err(cause) => {
                // An answer of the server says that it did not commit.
                self.in_doubt = link.is_lost().then_some(sum);
                Err(cause)
            }
        }
    }

    /// This node has all changes of the registry up to this transaction in memory, or is about to: those who made them were told.
    #[expect(clippy::disallowed_methods, reason = "for changes of the registry, which are rare")]
    pub(crate) fn know(&self, registry: u64) {
        // The thread that hears sets it too.
        self.seen.fetch_max(registry, Ordering::AcqRel);
    }

    fn reach(&mut self) {
        self.count.store(self.node.generation, Ordering::Release);
        let reached = Reached { count: self.node.generation, digest: [0; 32] };
        if let Some(mark) = &mut self.mark
            && let Err(cause) = mark.reach(reached)
        {
            tracing::warn!(%cause, "the count of transactions was not noted");
        }
    }

    pub(crate) fn older(&self, found: u64, reached: u64) -> StoreError {
        self.unusable(&format!(
            "it counts {found} transactions and {reached} were acknowledged. It is an older copy, or a standby took over that lacked some. \
             Switch to a server that has them; if there is none, start once with --store-restored, which every seal will show"
        ))
    }

    pub(crate) fn unusable(&self, why: &str) -> StoreError {
        StoreError::Unusable(format!("{}: {why}", self.address))
    }
}

/// The code of the row.
fn code(mac: &RowMac, node: &Node, sum: Sum) -> Vec<u8> {
    let Node { term, generation, registry, vault } = *node;
    let (sum, numbers) = (sum.bytes(), [VERSION, term, generation, registry, vault]);
    let [version, term, generation, registry, vault] = numbers.each_ref().map(|number| number.value());
    mac.sign("node", &[version, term, generation, registry, vault, Value::Bytes(Some(&sum))]).to_vec()
}

impl Stored {
    /// The row and the sum that it hides, if this installation wrote them.
    pub(crate) fn open(&self, mac: &RowMac) -> Result<(Node, Sum), StoreError> {
        match mac.show(&self.sum).filter(|sum| code(mac, &self.node, *sum) == self.code) {
            Some(sum) => Ok((self.node, sum)),
            None => Err(StoreError::Forged(
                "the row of the table node is not one that this installation wrote".to_owned(),
            )),
        }
    }
}

/// The row of the installation, without a check of it.
pub(crate) fn stored(link: &Link, before: &str, how: &str) -> Result<Option<Stored>, StoreError> {
    let told = link.told(&format!(
        "{before} SELECT version, term, generation, registry, vault, encode(mac, 'hex'), encode(sum, 'hex') FROM node WHERE id = 0 {how}"
    ))?;
    let Some(columns) = told else { return Ok(None) };
    let text = |at: usize| columns.get(at).cloned().flatten();
    let number = |at: usize| text(at).and_then(|text| text.parse().ok());
    let bytes = |at: usize| hex::decode(text(at)?).ok();
    let found = || {
        let node = Node { term: number(1)?, generation: number(2)?, registry: number(3)?, vault: number(4)? };
        Some(Stored { version: number(0)?, node, sum: bytes(6)?, code: bytes(5)? })
    };
    Ok(found())
}
