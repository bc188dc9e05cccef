//! The one process that uses the database: its lock, its term, the tables' version, and the count of transactions.
//!
//! The process keeps the tenants, the end of the log and more in memory, so two processes on one database would contradict each other. Three
//! facts exclude that:
//!
//! * A session-level advisory lock belongs to the connection that writes. PostgreSQL releases it with the connection, so a process that lost
//!   the lock has lost its writing connection too.
//! * The row of [`Node`] counts the processes that took the lock. A process whose term is over ends, because what it has in memory is old.
//! * Each transaction reads that row first, counts itself in it, and signs it together with the sum over the rows of the summed tables. A process that finds fewer transactions than it acknowledged, or more than
//!   it made, ends: a standby took over that lacked some, or somebody else wrote.
//!
//! A commit whose answer was lost may have happened. Then one transaction more is accepted.

use crate::address::Address;
use crate::link::{CONNECT_MAX, Link};
use crate::table::{RowMac, Rows, Sum, Value};
use std::cell::Cell;
use std::time::{Duration, Instant};
use trefoil_storage::data_dir::{HighWater, Reached};
use trefoil_storage::store::StoreError;
use trefoil_storage::store::{ApiKey, IssuerKey, Operator, OperatorToken, PolicyVersion, Root, Tenant};

/// The row of the installation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Node {
    /// Of the tables.
    pub(crate) version: u64,
    /// Counts the processes that have held the database.
    pub(crate) term: u64,
    /// Counts committed transactions.
    pub(crate) generation: u64,
}

/// The version of the tables.
pub(crate) const VERSION: u64 = 1;
const SCHEMA: &str = include_str!("schema.sql");
/// Steps from each version to the next, beginning with that from version 1.
const STEPS: &[&str] = &[];
/// `trefoil` and a number, as bytes.
const LOCK: i64 = i64::from_be_bytes(*b"trefoil\x01");
/// How long a start waits for the lock: PostgreSQL may still end the session of a process that was killed.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// Between two tries.
const LOCK_PAUSE: Duration = Duration::from_millis(100);
/// Longest wait for a start's statements, which may make indexes.
const START: Duration = Duration::from_secs(300);

/// How a database is opened.
#[derive(Debug, Default)]
pub struct Opening {
    /// The count of acknowledged transactions, as of the data directory.
    pub mark: Option<HighWater>,
    /// Whether tables of an earlier version are upgraded.
    pub migrate: bool,
    /// Whether it was restored, so that acknowledged transactions may be missing.
    pub restored: bool,
}

/// The hold of this process on the database.
pub(crate) struct Hold {
    address: Address,
    mac: RowMac,
    patience: Duration,
    node: Node,
    /// Over the rows that are committed.
    sum: Sum,
    /// The sum of the last transaction, if the answer to its commit was lost.
    in_doubt: Option<Sum>,
    mark: Option<HighWater>,
}

impl Hold {
    /// Takes the lock, makes or upgrades the tables, and begins a term.
    pub(crate) fn take(
        address: Address,
        secret: &[u8; 32],
        patience: Duration,
        opening: Opening,
    ) -> Result<(Hold, Link), StoreError> {
        let (mac, link) = (RowMac::of(secret), Link::open(&address, patience, CONNECT_MAX)?);
        lock(&address, &link, LOCK_WAIT)?;
        let Opening { mark, migrate, restored } = opening;
        let reached = mark.as_ref().map_or(0, |mark| mark.reached().count);
        let (node, sum) = (Node::default(), Sum::default());
        let mut hold = Hold { address, mac, patience, node, sum, in_doubt: None, mark };
        link.batch("BEGIN")?;
        link.be_patient(START)?;
        let node;
        (node, hold.sum) = hold.tables(&link, migrate, reached)?;
        if node.generation < reached && !restored {
            return Err(hold.older(node.generation, reached));
        }
        let generation = node.generation.max(reached) + 1;
        hold.node = Node { version: VERSION, term: node.term + 1, generation };
        link.batch(&format!("{}; COMMIT", hold.written(&hold.node, hold.sum)))?;
        link.be_usual(patience);
        warn_of_lost_writes(&link, &hold.address)?;
        hold.reach();
        Ok((hold, link))
    }

    /// The row of the installation and the sum that it vouches for, with tables of this version. In a transaction.
    fn tables(&self, link: &Link, migrate: bool, reached: u64) -> Result<(Node, Sum), StoreError> {
        let is_there = link.told("SELECT to_regclass('node')")?.is_some_and(|row| row != [None]);
        if !is_there {
            if reached > 0 {
                return Err(self.unusable(
                    "it is empty and was not before: restore it with PostgreSQL's tools, then start once with --store-restored",
                ));
            }
            link.batch(SCHEMA)?;
            link.batch("INSERT INTO node VALUES (0, 0, 0, 0, '')")?;
            return Ok((Node { version: VERSION, term: 0, generation: 0 }, Sum::default()));
        }
        let (node, code) = self.stored(link)?;
        let from = usize::try_from(node.version).unwrap_or(usize::MAX);
        if node.version > VERSION || from == 0 {
            return Err(self.unusable(&format!(
                "its tables have version {}, and this program knows {VERSION}: use the program that wrote them, or a later one",
                node.version
            )));
        }
        if node.version < VERSION && !migrate {
            return Err(self.unusable(&format!(
                "its tables have version {}, and this program writes {VERSION}: back it up with pg_dump, then start once with --migrate",
                node.version
            )));
        }
        let before = self.sum_of_rows(link)?;
        if code != self.code(&node, before) {
            return Err(StoreError::Forged(
                "the row of the table node does not vouch for the tenants, policies, API keys, operators and roots that are there: one of them \
                 was removed, added or put back"
                    .to_owned(),
            ));
        }
        STEPS[from - 1..].iter().try_for_each(|step| link.batch(step))?;
        Ok((node, if STEPS.len() >= from { self.sum_of_rows(link)? } else { before }))
    }

    /// The sum over the rows of every summed table.
    fn sum_of_rows(&self, link: &Link) -> Result<Sum, StoreError> {
        let rows = self.rows(link);
        let sum = rows.sum_of::<Tenant>(Sum::default())?;
        let sum = rows.sum_of::<PolicyVersion>(sum)?;
        let sum = rows.sum_of::<ApiKey>(sum)?;
        let sum = rows.sum_of::<Root>(sum)?;
        let sum = rows.sum_of::<IssuerKey>(sum)?;
        let sum = rows.sum_of::<Operator>(sum)?;
        rows.sum_of::<OperatorToken>(sum)
    }

    /// The row of the installation with its code, which is still to be checked.
    fn stored(&self, link: &Link) -> Result<(Node, Vec<u8>), StoreError> {
        stored(link)?.ok_or_else(|| {
            self.unusable("the row of its table node is missing or not one of Trefoil's: restore it with PostgreSQL's tools")
        })
    }

    fn code(&self, node: &Node, sum: Sum) -> Vec<u8> {
        let Node { version, term, generation } = *node;
        let [version, term, generation] = [version, term, generation].map(Value::number);
        self.mac.sign("node", &[version, term, generation, Value::bytes(sum.bytes())])
    }

    /// The statement that writes the row.
    fn written(&self, node: &Node, sum: Sum) -> String {
        let Node { version, term, generation } = node;
        let code = hex::encode(self.code(node, sum));
        format!(
            "UPDATE node SET version = {version}, term = {term}, generation = {generation}, mac = '\\x{code}' WHERE id = 0"
        )
    }

    /// A new connection within `wait`, with the lock, for the same term.
    pub(crate) fn again(&mut self, wait: Duration) -> Result<Link, StoreError> {
        let link = Link::open(&self.address, self.patience, wait)?;
        lock(&self.address, &link, Duration::ZERO)?;
        let (found, code) = self.stored(&link)?;
        let Node { version: _, term, generation } = found;
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
        Rows { link, mac: &self.mac, sum: Cell::new(self.sum) }
    }

    /// Begins a transaction of this term.
    pub(crate) fn begin(&self, link: &Link) -> Result<(), StoreError> {
        let told = link.told("BEGIN; SELECT term, generation FROM node WHERE id = 0")?.unwrap_or_default();
        let Node { term, generation, .. } = self.node;
        let expected = [term, generation].map(|number| Some(number.to_string()));
        match told == expected {
            true => Ok(()),
            false => Err(self.unusable(
                "another process wrote to it, so what this one has in memory is old: start this one again",
            )),
        }
    }

    /// Counts the transaction, after which the rows have this sum, and commits it.
    pub(crate) fn commit(&mut self, link: &Link, sum: Sum) -> Result<(), StoreError> {
        let next = Node { generation: self.node.generation + 1, ..self.node };
        match link.batch(&format!("{}; COMMIT", self.written(&next, sum))) {
            Ok(()) => {
                (self.node, self.sum) = (next, sum);
                self.reach();
                Ok(())
            }
            Err(cause) => {
                // An answer of the server says that it did not commit.
                self.in_doubt = link.is_lost().then_some(sum);
                Err(cause)
            }
        }
    }

    fn reach(&mut self) {
        let reached = Reached { count: self.node.generation, digest: [0; 32] };
        if let Some(mark) = &mut self.mark
            && let Err(cause) = mark.reach(reached)
        {
            tracing::warn!(%cause, "the count of transactions was not noted");
        }
    }

    fn older(&self, found: u64, reached: u64) -> StoreError {
        self.unusable(&format!(
            "it counts {found} transactions and {reached} were acknowledged. It is an older copy, or a standby took over that lacked some. \
             Switch to a server that has them; if there is none, start once with --store-restored, which every seal will show"
        ))
    }

    fn unusable(&self, why: &str) -> StoreError {
        StoreError::Unusable(format!("{}: {why}", self.address))
    }
}

/// The row of the installation with its code, without a check of either.
pub(crate) fn stored(link: &Link) -> Result<Option<(Node, Vec<u8>)>, StoreError> {
    let told = link.told("SELECT version, term, generation, encode(mac, 'hex') FROM node WHERE id = 0")?;
    let Some(columns) = told else { return Ok(None) };
    let number = |at: usize| columns.get(at).cloned().flatten().and_then(|text| text.parse().ok());
    let code = columns.get(3).cloned().flatten().and_then(|text| hex::decode(text).ok());
    let node = || Some(Node { version: number(0)?, term: number(1)?, generation: number(2)? });
    Ok(node().zip(code))
}

/// Takes the lock of the session, or says who has it.
fn lock(address: &Address, link: &Link, wait: Duration) -> Result<(), StoreError> {
    let begun = Instant::now();
    loop {
        let got = link.told(&format!("SELECT pg_try_advisory_lock({LOCK})"))?;
        if got == Some(vec![Some("t".to_owned())]) {
            return Ok(());
        }
        if begun.elapsed() >= wait {
            let who = holder(link)?.unwrap_or_else(|| "a session that has just ended".to_owned());
            return Err(StoreError::InUse(format!(
                "{address} is in use by another process ({who}), and one process may use a database at a time. Stop that one, or give this \
                 one a database of its own"
            )));
        }
        #[expect(clippy::disallowed_methods, reason = "at a start, on the thread of the connection")]
        std::thread::sleep(LOCK_PAUSE);
    }
}

/// Who has the lock.
pub(crate) fn holder(link: &Link) -> Result<Option<String>, StoreError> {
    let (high, low) = (LOCK.cast_unsigned() >> 32, LOCK.cast_unsigned() & 0xffff_ffff);
    let told = link.told(&format!(
        "SELECT l.pid, a.usename, coalesce(host(a.client_addr), 'this machine'), a.backend_start
         FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
         WHERE l.locktype = 'advisory' AND l.classid = {high} AND l.objid = {low} AND l.granted
         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    ))?;
    Ok(told.map(|columns| {
        let [pid, user, from, since] =
            [0, 1, 2, 3].map(|at: usize| columns.get(at).cloned().flatten().unwrap_or_default());
        format!("server process {pid}, user {user} from {from}, since {since}")
    }))
}

/// A server that does not write through acknowledges what a power cut loses.
fn warn_of_lost_writes(link: &Link, address: &Address) -> Result<(), StoreError> {
    if link.told("SELECT current_setting('fsync')")? == Some(vec![Some("off".to_owned())]) {
        tracing::warn!(%address, "the server has fsync = off: a power cut loses acknowledged writes, or all data");
    }
    Ok(())
}
