//! The lock of the process or of the fleet.

use crate::address::Address;
use crate::link::Link;
use std::time::{Duration, Instant};
use trefoil_storage::store::StoreError;

/// `trefoil` and a number, as bytes.
pub(crate) const LOCK: i64 = i64::from_be_bytes(*b"trefoil\x01");
/// How long a start waits for the lock: PostgreSQL may still end the session of a process that was killed.
pub(super) const LOCK_WAIT: Duration = Duration::from_secs(5);
/// Between two tries.
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// Takes the lock of the session, alone or with the other nodes of a fleet, or says who has it.
pub(super) fn lock(
    address: &Address,
    link: &Link,
    wait: Duration,
    fleet: Option<&str>,
) -> Result<(), StoreError> {
    let begun = Instant::now();
    let shared = if fleet.is_some() { "_shared" } else { "" };
    if let Some(name) = fleet {
        link.batch(&named(name))?;
    }
    loop {
        if is_true(link, &format!("pg_try_advisory_lock{shared}({LOCK})"))? {
            return Ok(());
        }
        if begun.elapsed() >= wait {
            if fleet.is_some() {
                let who = holder(link)?.unwrap_or_else(|| "a session that has just ended".to_owned());
                return Err(StoreError::InUse(format!(
                    "{address} is in use by a process that is no node of a fleet ({who}): start that one with --fleet too, or stop it"
                )));
            }
            let who = holder(link)?.unwrap_or_else(|| "a session that has just ended".to_owned());
            return Err(in_use(address, &who));
        }
        #[expect(clippy::disallowed_methods, reason = "at a start, on the thread of the connection")]
        std::thread::sleep(LOCK_PAUSE);
    }
}

/// That a process which serves alone has the database.
pub(crate) fn in_use(address: &Address, who: &str) -> StoreError {
    StoreError::InUse(format!(
        "{address} is in use by another process ({who}), and one process may use a database at a time. Stop that one, or give this \
         one a database of its own"
    ))
}

/// PostgreSQL keeps 63 bytes: `trefoil `, the name, and what [`crate::fleet`] tells of keys.
const NAME_MAX: usize = 34;
/// Takes the lock alone, until the fleet's is taken too: other nodes have in memory what a restored database lacks.
pub(super) fn be_alone(address: &Address, link: &Link) -> Result<(), StoreError> {
    match lock(address, link, LOCK_WAIT, None) {
        Err(StoreError::InUse(_)) => Err(StoreError::InUse(format!(
            "{address}: a node runs ({}): stop all nodes before one starts with --store-restored",
            holder(link)?.unwrap_or_default()
        ))),
        other => other,
    }
}

/// The statement that gives a connection the name of its node.
pub(crate) fn named(node: &str) -> String {
    let name: String =
        node.chars().filter(|c| c.is_ascii_graphic() && !matches!(c, '\'' | '\\')).take(NAME_MAX).collect();
    format!("SET application_name = 'trefoil {name}'")
}

/// Whether the server says that an expression is true.
pub(crate) fn is_true(link: &Link, expression: &str) -> Result<bool, StoreError> {
    Ok(link.told(&format!("SELECT {expression}"))? == Some(vec![Some("t".to_owned())]))
}

/// The condition that a row of `pg_locks AS l` is a hold of the lock.
pub(crate) fn held() -> String {
    holds(LOCK)
}

/// The condition that a row of `pg_locks AS l` is a hold of this lock in this database.
pub(crate) fn holds(lock: i64) -> String {
    let (high, low) = (lock.cast_unsigned() >> 32, lock.cast_unsigned() & 0xffff_ffff);
    format!(
        "l.locktype = 'advisory' AND l.classid = {high} AND l.objid = {low} AND l.granted
         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
}

/// Who has the lock.
pub(crate) fn holder(link: &Link) -> Result<Option<String>, StoreError> {
    let told = link.told(&format!(
        "SELECT l.pid, a.usename, coalesce(host(a.client_addr), 'this machine'), a.backend_start, a.application_name
         FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
         WHERE {}",
        held()
    ))?;
    Ok(told.map(|columns| {
        let [pid, user, from, since, name] =
            [0, 1, 2, 3, 4].map(|at: usize| columns.get(at).cloned().flatten().unwrap_or_default());
        format!("server process {pid} of {name}, user {user} from {from}, since {since}")
    }))
}

/// A server that does not write through acknowledges what a power cut loses.
pub(super) fn warn_of_lost_writes(link: &Link, address: &Address) -> Result<(), StoreError> {
    if link.told("SELECT current_setting('fsync')")? == Some(vec![Some("off".to_owned())]) {
        tracing::warn!(%address, "the server has fsync = off: a power cut loses acknowledged writes, or all data");
    }
    Ok(())
}
