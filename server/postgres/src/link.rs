//! One connection to PostgreSQL, with a deadline for each answer.
//!
//! Calls block. The driver is asynchronous, so a connection has a runtime of its own, which works while a call waits. A connection that missed
//! a deadline is lost: its answer might come later and be taken for another one.

use crate::address::Address;
use crate::connections::{CONNECTIONS_BESIDE, CONNECTIONS_OF_A_NODE};
use crate::scope::Scope;
use crate::servers::{PROOF, PROVEN_FOR, Servers, TIMELINE};
use crate::table::parameters;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::error::Error as _;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use tokio_postgres::error::{DbError, SqlState};
use tokio_postgres::types::ToSql;
use tokio_postgres::{
    AsyncMessage, Client, Connection, Error, NoTls, Row, SimpleQueryMessage, Socket, Statement,
};
use trefoil_storage::store::StoreError;
use trefoil_storage::table::Value;

/// Longest wait for a connection, over all addresses of the server.
pub(crate) const CONNECT_MAX: Duration = Duration::from_secs(5);

/// See the module.
pub(crate) struct Link {
    // Before the runtime, so that it is dropped first.
    client: Client,
    prepared: RefCell<HashMap<String, Statement>>,
    place: String,
    servers: Arc<Servers>,
    /// Which of them it is with, and that one's timeline.
    at: usize,
    timeline: u64,
    patience: Cell<Duration>,
    /// Whether the server has warned of something.
    warned: Arc<AtomicBool>,
    lost: Cell<bool>,
    /// The scope for the next query.
    wanted: Cell<Option<Scope>>,
    /// That of the session.
    scope: Cell<Option<Scope>>,
    runtime: Runtime,
}

impl Link {
    /// Connects within `wait` to the first of the servers that writes. `patience` is the longest wait for an answer, here and a little shorter in
    /// the server.
    pub(crate) fn open(address: &Address, patience: Duration, wait: Duration) -> Result<Link, StoreError> {
        let until = Instant::now() + wait;
        let mut failed = None;
        for (at, left) in address.servers.order() {
            // One that gives no answer leaves time for the others.
            let wait = until.saturating_duration_since(Instant::now()) / left;
            match Link::open_at(address, at, patience, wait) {
                Ok(link) => {
                    address.servers.prefer(at);
                    return Ok(link);
                }
                Err(cause) => failed = Some(cause),
            }
        }
        Err(failed.unwrap_or_else(|| StoreError::Unreachable(format!("{address}: it names no server"))))
    }

    fn open_at(address: &Address, at: usize, patience: Duration, wait: Duration) -> Result<Link, StoreError> {
        let until = Instant::now() + wait;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|cause| StoreError::Fault(cause.to_string()))?;
        let unreachable = |cause: String| StoreError::Unreachable(format!("{address}: {cause}"));
        let (config, warned) = (address.servers.config(at), Arc::<AtomicBool>::default());
        let connect = async {
            match &address.tls {
                None => {
                    let (client, connection) = config.connect(NoTls).await?;
                    tokio::spawn(attend(connection, Arc::clone(&warned)));
                    Ok::<_, Error>(client)
                }
                Some(tls) => {
                    let (client, connection) = config.connect(tls.clone()).await?;
                    tokio::spawn(attend(connection, Arc::clone(&warned)));
                    Ok::<_, Error>(client)
                }
            }
        };
        let connected = runtime.block_on(async { tokio::time::timeout(wait, connect).await });
        let late = |_| unreachable(format!("no connection within {} ms", wait.as_millis()));
        let client = connected
            .map_err(late)?
            .map_err(|cause: Error| unreachable(text(&cause) + &next_step(&cause)))?;
        let mut link = Link {
            client,
            prepared: RefCell::default(),
            place: address.to_string(),
            servers: Arc::clone(&address.servers),
            at,
            timeline: 0,
            patience: Cell::new(patience.min(until.saturating_duration_since(Instant::now()))),
            warned,
            lost: Cell::new(false),
            wanted: Cell::new(None),
            scope: Cell::new(None),
            runtime,
        };
        link.pin(patience)?;
        let told = link.told(TIMELINE)?.and_then(|row| row.into_iter().next().flatten());
        link.timeline = told.and_then(|told| u64::from_str_radix(&told, 16).ok()).unwrap_or(0);
        link.assure()?;
        link.be_usual(patience);
        Ok(link)
    }

    /// Gives every setting of the session its value, whatever the server, the database or the role says of it.
    fn pin(&self, patience: Duration) -> Result<(), StoreError> {
        let wanted = settings(patience);
        let list: String = wanted.iter().map(|(name, value)| format!("('{name}', '{value}'), ")).collect();
        let list = format!("(VALUES {list} {COMMITS}) AS wanted (name, value) JOIN pg_settings USING (name)");
        // The role's own may be shorter than what follows.
        let first = (patience * 4 / 5).as_millis();
        self.batch(&format!(
            "SET statement_timeout = {first}; SELECT set_config(name, value, false) FROM {list};
             SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3"
        ))?;
        let all = "SELECT string_agg(name || ' = ' || setting, ', ') FROM";
        let told = self.told(&format!(
            "SELECT ({all} {list} WHERE setting <> value), ({all} pg_settings WHERE {FORBIDDEN}),
                    array_to_string(current_schemas(true), ', ')"
        ))?;
        let [others, forbidden, path] =
            told.and_then(|row| row.try_into().ok()).unwrap_or([const { None }; 3]);
        let path = path.unwrap_or_default();
        let begun_with = self.servers.path(&path);
        let why = match (others, forbidden) {
            (Some(others), _) => {
                return Err(StoreError::Unusable(format!(
                    "{}: a session keeps other settings than it was given ({others}). Connect to PostgreSQL itself, or through a pooler that gives each \
                 client a server connection of its own (session pooling)",
                    self.place
                )));
            }
            (_, Some(set)) => format!(
                "a session has {set}, from the server, the database or the role, and could not write as it must: take it back there (ALTER ROLE, \
                 ALTER DATABASE ... RESET), or wait until its administrator does"
            ),
            _ if path != begun_with => format!(
                "search_path leads a session to the schemas {path}, and this process began with {begun_with}: set it back for the role or the \
                 database, or, if the tables are in the new ones, start every node again"
            ),
            _ => return Ok(()),
        };
        // Until they are as they were.
        Err(self.unreachable(&why))
    }

    /// Proves that its server was the primary a moment ago, unless a proof is that young. Outside transactions.
    pub(crate) fn assure(&self) -> Result<(), StoreError> {
        self.assure_within(PROVEN_FOR).map(drop)
    }

    /// The same with a proof that is at most this old. Returns when the proof began.
    pub(crate) fn assure_within(&self, age: Duration) -> Result<Instant, StoreError> {
        self.check_timeline()?;
        match self.servers.proven_at(self.at) {
            Some(proven) if proven.elapsed() <= age => Ok(proven),
            _ => self.prove(),
        }
    }

    /// Loses the connection if another server is known to be the primary after its own.
    pub(crate) fn check_timeline(&self) -> Result<(), StoreError> {
        match self.is_over() {
            true => Err(self.lose("this server was the primary before another one")),
            false => Ok(()),
        }
    }

    /// Whether another server is known to be the primary after its own.
    pub(crate) fn is_over(&self) -> bool {
        self.servers.is_over(self.timeline)
    }

    fn prove(&self) -> Result<Instant, StoreError> {
        let begun = Instant::now();
        let told = self.confirmed(|| self.told(PROOF))?.and_then(|row| row.into_iter().next().flatten());
        if told.as_deref() == Some("waits") {
            self.servers.suspect(self.at);
            return Err(
                self.lose("its commits wait for a synchronous standby, so another server may be the primary")
            );
        }
        self.servers.prove(self.at, self.timeline, begun);
        Ok(begun)
    }

    /// Statements that end with a commit.
    pub(crate) fn commit(&self, sql: &str) -> Result<(), StoreError> {
        self.confirmed(|| self.batch(sql))
    }

    /// If an administrator cancels a commit that waits for its standby, the server reports success, and warns.
    fn confirmed<T>(&self, commit: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.warned.store(false, Ordering::Release);
        let told = commit()?;
        match self.warned.load(Ordering::Acquire) {
            true => Err(self.lose("no synchronous standby confirmed a commit, which may have happened")),
            false => Ok(told),
        }
    }

    fn lose(&self, cause: &str) -> StoreError {
        self.lost.set(true);
        self.unreachable(cause)
    }

    /// Whether it cannot be used any more.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.get() || self.client.is_closed()
    }

    /// Whether the server has ended it.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Waits longer for the answers until [`Link::be_usual`]. Inside a transaction, so that the server waits too.
    pub(crate) fn be_patient(&self, patience: Duration) -> Result<(), StoreError> {
        self.patience.set(patience + Duration::from_millis(500));
        self.batch(&format!("SET LOCAL statement_timeout = {}", patience.as_millis()))
    }

    /// Ends [`Link::be_patient`].
    pub(crate) fn be_usual(&self, patience: Duration) {
        self.patience.set(patience);
    }

    pub(crate) fn rows(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        self.query(sql, &parameters(values))
    }

    /// The same, with parameters of any kind.
    pub(crate) fn query(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, StoreError> {
        let statement = self.prepared(sql)?;
        let asked = self.client.query(&statement, values);
        let Some(wanted) = self.wanted.take().filter(|wanted| self.scope.get() != Some(*wanted)) else {
            return self.within(asked);
        };
        // Both are on their way before either is answered.
        let set = wanted.set("");
        let rows = self.within(async {
            let (set, rows) = tokio::join!(self.client.batch_execute(&set), asked);
            set.and(rows)
        });
        self.scope.set(rows.is_ok().then_some(wanted));
        rows
    }

    /// Sets whose rows the queries see from now on, in the round trip of the next one. For a connection that is in no transaction.
    pub(crate) fn set_scope(&self, scope: Scope) {
        self.wanted.set(Some(scope));
    }

    /// Prepares a statement, so that its first use is one round trip.
    pub(crate) fn prepare(&self, sql: &str) -> Result<(), StoreError> {
        self.prepared(sql).map(drop)
    }

    /// Returns how many rows changed.
    pub(crate) fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let statement = self.prepared(sql)?;
        self.within(self.client.execute(&statement, &parameters(values)))
    }

    /// Statements without parameters, in one round trip.
    pub(crate) fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.within(self.client.batch_execute(sql))
    }

    /// The same, with the columns of the first row as text.
    pub(crate) fn told(&self, sql: &str) -> Result<Option<Vec<Option<String>>>, StoreError> {
        let told = self.within(self.client.simple_query(sql))?;
        Ok(told.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
            }
            _ => None,
        }))
    }

    fn prepared(&self, sql: &str) -> Result<Statement, StoreError> {
        if let Some(statement) = self.prepared.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.within(self.client.prepare(sql))?;
        self.prepared.borrow_mut().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn within<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
        if self.is_lost() {
            return Err(self.unreachable("the connection was lost"));
        }
        let patience = self.patience.get();
        let done = self.runtime.block_on(async { tokio::time::timeout(patience, work).await });
        let Ok(done) = done else {
            self.servers.suspect(self.at);
            return Err(self.lose(&format!("no answer within {} ms", patience.as_millis())));
        };
        done.map_err(|cause| self.failed(&cause))
    }

    fn failed(&self, cause: &Error) -> StoreError {
        let Some(code) = cause.code() else {
            self.lost.set(true);
            return self.unreachable(&text(cause));
        };
        let text = text(cause);
        match (code.code(), code.code().get(..2).unwrap_or_default()) {
            // A key exists.
            ("23505", _) => StoreError::Conflict,
            // The server cancelled it, would like it to be repeated, or is out of something.
            ("57014" | "55P03", _) | (_, "40" | "53") => self.unreachable(&text),
            // The session ended, or is with a server that does not write.
            ("25006", _) => {
                let why = "it is a standby, or default_transaction_read_only is on for the server, the database or the role";
                self.lose(&format!("{text}: {why}"))
            }
            ("25P03", _) | (_, "08" | "57") => self.lose(&text),
            // Not where a policy of row security refuses a row.
            ("42501", _)
                if cause.as_db_error().and_then(DbError::routine) != Some("ExecWithCheckOptions") =>
            {
                StoreError::Fault(format!(
                    "{}: {text}. Run `trefoil store migrate` with the address of the role that owns the tables",
                    self.place
                ))
            }
            _ => StoreError::Fault(format!("{}: {text}", self.place)),
        }
    }

    fn unreachable(&self, cause: &str) -> StoreError {
        StoreError::Unreachable(format!("{}: {cause}", self.place))
    }
}

/// Drives a connection, and notes warnings of the class that has no meaning of its own, as that of a commit which no standby confirmed.
async fn attend<T: AsyncRead + AsyncWrite + Unpin>(
    mut connection: Connection<Socket, T>,
    warned: Arc<AtomicBool>,
) {
    while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
        match message {
            Ok(AsyncMessage::Notice(notice)) if *notice.code() == SqlState::WARNING => {
                warned.store(true, Ordering::Release);
                tracing::warn!(told = notice.message(), "the store's database warns");
            }
            Ok(_) => {}
            // Calls on it fail from now on.
            Err(cause) => return tracing::debug!(%cause, "a connection to the store's database has ended"),
        }
    }
}

/// Acknowledge once the disk has it, or more, if the operator wants that.
const COMMITS: &str = "('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END)";
/// What is the operator's to say, and without which a session is of no use.
const FORBIDDEN: &str = "name = 'session_replication_role' AND setting <> 'origin'";

/// What a session is to do: read and write values in one way, give up in time, and notice a process that is gone. A server that is too old for one does
/// without it. `search_path` is the operator's, and names the schema of the tables; all sessions of a process have the same ([`Servers::path`]).
fn settings(patience: Duration) -> Vec<(&'static str, String)> {
    // A statement that the server gives up leaves a connection that can be used.
    let (statement, transaction) = ((patience * 4 / 5).as_millis(), (patience * 5).as_millis());
    let fixed = [
        ("standard_conforming_strings", "on"),
        ("client_encoding", "UTF8"),
        ("bytea_output", "hex"),
        ("DateStyle", "ISO, MDY"),
        ("IntervalStyle", "postgres"),
        ("extra_float_digits", "1"),
        ("array_nulls", "on"),
        ("transform_null_equals", "off"),
        ("TimeZone", "UTC"),
        ("row_security", "on"),
        ("default_transaction_isolation", "read committed"),
        ("default_transaction_deferrable", "off"),
        ("client_min_messages", "warning"),
        ("client_connection_check_interval", "1000"),
        ("idle_session_timeout", "0"),
        ("transaction_timeout", "0"),
    ];
    let timed = [
        ("statement_timeout", statement),
        ("lock_timeout", statement),
        ("idle_in_transaction_session_timeout", transaction),
    ];
    let fixed = fixed.into_iter().map(|(name, value)| (name, value.to_owned()));
    fixed.chain(timed.into_iter().map(|(name, wait)| (name, wait.to_string()))).collect()
}

/// What to do about a connection that was refused.
fn next_step(cause: &Error) -> Cow<'static, str> {
    let code = cause.code().map_or("", |code| code.code());
    let told = if code.is_empty() { text(cause) } else { String::new() };
    Cow::Borrowed(match code {
        "28P01" => "; correct it in the file of store.password_file, or in the address",
        "28000" => {
            "; allow this user and machine in the server's pg_hba.conf, and see that the role may log in"
        }
        "3D000" => "; create it, see FLEET.md, PostgreSQL",
        "53300" => return Cow::Owned(too_many()),
        _ if told.contains("password missing") => "; name a file in store.password_file (mode 0600)",
        _ if told.contains("does not allow writes") => {
            ": it is a standby, or default_transaction_read_only is on for the server, the database or the role; take that back, or wait until its \
             administrator does"
        }
        _ if told.contains("does not support TLS") => {
            "; set ssl = on there (sslmode=disable is for 127.0.0.1 only)"
        }
        _ => "",
    })
}

/// How many connections a fleet needs, as FLEET.md says it.
fn too_many() -> String {
    format!(
        "; raise CONNECTION LIMIT of the role to nodes x (workers + {CONNECTIONS_OF_A_NODE}) + {CONNECTIONS_BESIDE}, where workers is \
         pipeline.workers, or the number of processors, and max_connections of the server so that it has room for them, or lower pipeline.workers"
    )
}

/// The message without the values of rows, which PostgreSQL puts into the detail.
fn text(cause: &Error) -> String {
    match cause.as_db_error() {
        Some(told) => format!("{} (SQLSTATE {})", told.message(), told.code().code()),
        None => std::iter::successors(cause.source(), |&cause| cause.source()).map(ToString::to_string).fold(
            cause.to_string(),
            |text, more| if text.contains(&more) { text } else { format!("{text}: {more}") },
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_too_many_connections_says_as_many_as_the_manual() {
        let manual = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../FLEET.md")).unwrap();
        let formula = format!("nodes × (workers + {CONNECTIONS_OF_A_NODE}) + {CONNECTIONS_BESIDE}");
        assert!(manual.contains(&format!("Set `CONNECTION LIMIT` to {formula};")), "{formula}");
        assert!(manual.contains(&format!(
            "| node of a fleet | {CONNECTIONS_OF_A_NODE} and one for each of its workers"
        )));
        let three_of_eight = 3 * (8 + CONNECTIONS_OF_A_NODE) + CONNECTIONS_BESIDE;
        assert!(manual.contains(&format!("CONNECTION LIMIT {three_of_eight};")), "{three_of_eight}");
        assert!(too_many().contains(&formula.replace('×', "x")), "{}", too_many());
    }
}
