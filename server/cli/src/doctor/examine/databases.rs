//! Checks of the databases: versions, the newest seal against the clock, lock-outs and frozen tenants.

use super::{Finding, IDLE_S, Level, nodes, older_vault, time};
use rusqlite::Connection;
use std::path::Path;
use trefoil_attest::{LogEntry, SealHeader, VaultState};
use trefoil_key_holder::vault::{self, VAULT_FILE};
use trefoil_matching::MALFORMED_MAX;
use trefoil_postgres::{Address, Postgres, Rights};
use trefoil_server::config::Config;
use trefoil_server::findings::{self, Fault, frozen};
use trefoil_service::login::past::{self, BEHIND_S};
use trefoil_service::{POSTGRES_MARK, STORE_FILE};
use trefoil_storage::data_dir::{HighWater, read_private};
use trefoil_storage::database::open_still;
use trefoil_storage::store::{self, AcceptedClock, Seal, StoreError};
use trefoil_storage::table::Records as _;
use trefoil_types::TenantId;
use zeroize::Zeroizing;

/// The store, and the header of its newest seal.
pub(super) fn store(directory: &Path, now: u64) -> (Vec<Finding>, Option<SealHeader>) {
    let path = directory.join(STORE_FILE);
    if !path.exists() && noted(directory) > 0 {
        let what = "this node keeps its store in PostgreSQL, and no database is named";
        return (vec![Fault::DatabaseUnnamed.at(directory.display(), what)], None);
    }
    let place = path.display();
    let connection = match opened(&path, store::VERSION) {
        Ok(connection) => connection,
        Err(found) => return (vec![found], None),
    };
    let read = connection.one::<Seal>("ORDER BY number DESC", &[]).and_then(|newest| {
        Ok((newest.map(|newest| newest.bytes), connection.one::<AcceptedClock>("ORDER BY id DESC", &[])?))
    });
    match read {
        Ok((newest, accepted)) => newest_seal(&place, newest.as_deref(), accepted, now),
        Err(cause) => (vec![unreadable(&path, &cause)], None),
    }
}

/// A store in a PostgreSQL database, which is looked at and not taken.
pub(super) fn postgres(address: &Address, config: &Config, now: u64) -> (Vec<Finding>, Option<SealHeader>) {
    let key = config.server.data_dir.join("master.key");
    let secret = read_private(&key).map_err(|cause| cause.to_string());
    let secret = secret.and_then(|bytes| {
        <[u8; 32]>::try_from(bytes.as_slice()).map_err(|_| format!("{} has not 32 bytes", key.display()))
    });
    let secret = match secret {
        Ok(secret) => Zeroizing::new(secret),
        Err(cause) => {
            return (vec![Fault::DatabaseMissing.at(address, cause)], None);
        }
    };
    let found = match Postgres::inspect(address, &secret, config.store.patience()) {
        Ok(found) => found,
        Err(StoreError::Unreachable(cause)) => {
            return (vec![Fault::DatabaseAway.at(address, cause)], None);
        }
        Err(cause) => {
            let broken = Fault::DatabaseDamaged.at(address, cause.to_string());
            return (vec![broken.do_this("see FLEET.md, \"PostgreSQL\"")], None);
        }
    };
    if found.generation.is_none() {
        return (vec![Fault::DatabaseMissing.at(address, "the database has no tables of Trefoil")], None);
    }
    let holder =
        found.holder.map_or_else(|| "no process uses it".to_owned(), |who| format!("in use by {who}"));
    let (mut findings, header) =
        newest_seal(&address, found.newest_seal.as_deref(), found.accepted_clock, now);
    findings.push(Finding::ok("database", address, holder));
    if config.store.fleet {
        findings.extend(nodes::examine(config, &found.nodes, now));
    }
    findings.extend(role(address, found.rights));
    (findings, header)
}

/// A role of the service with other rights than it needs.
fn role(address: &Address, rights: Rights) -> Option<Finding> {
    let Rights { excess, lacks } = rights;
    let lacks = lacks.map(|lacks| {
        let found = Fault::DatabaseRights.at(address, format!("its role lacks {lacks}"));
        Finding { level: Level::Broken, ..found }
    });
    lacks.or_else(|| {
        let what = format!("its role may do more than it needs: {}", excess?);
        Some(Fault::DatabaseRights.at(address, what))
    })
}

/// Transactions that the directory noted of its PostgreSQL database; 0 if it used none. A mark that does not read is found among the files.
fn noted(directory: &Path) -> u64 {
    HighWater::read(&directory.join(POSTGRES_MARK)).map_or(0, |reached| reached.count)
}

/// The newest seal against the clock.
fn newest_seal(
    place: &impl std::fmt::Display,
    bytes: Option<&[u8]>,
    accepted: Option<AcceptedClock>,
    now: u64,
) -> (Vec<Finding>, Option<SealHeader>) {
    let header = bytes.map(|bytes| LogEntry::decode(bytes).map(|entry| entry.header().clone()));
    let header = match header.transpose() {
        Ok(header) => header,
        Err(cause) => {
            return (vec![Fault::SealDamaged.at(place, format!("the newest seal: {cause}"))], None);
        }
    };
    let reached = |header: &SealHeader| past::reached(accepted, header.seal_number, header.time);
    let found = match &header {
        None => Finding::ok("store", place, "no seal yet"),
        Some(header) if now + BEHIND_S < reached(header) => {
            findings::clock_behind(place, reached(header), now)
        }
        Some(header) if now > header.time.saturating_add(IDLE_S) => {
            let what = format!(
                "the newest seal was made at {}, and the clock says {}",
                time(header.time),
                time(now)
            );
            let remedy = "check the clock of this machine, if the service was not stopped for so long";
            Fault::ClockAhead.at(place, what).do_this(remedy)
        }
        Some(header) => Finding::ok(
            "store",
            place,
            format!("newest seal {} at {}", header.seal_number, time(header.time)),
        ),
    };
    (vec![found], header)
}

/// The vault of a key-holder in the service's process.
pub(super) fn vault(directory: &Path, now: u64, sealed: &[Option<VaultState>]) -> Vec<Finding> {
    let path = directory.join(VAULT_FILE);
    let connection = match opened(&path, vault::VERSION) {
        Ok(connection) => connection,
        Err(found) => return vec![found],
    };
    looked_at(&connection, &path, now, sealed).unwrap_or_else(|cause| vec![unreadable(&path, &cause)])
}

fn looked_at(
    connection: &Connection,
    path: &Path,
    now: u64,
    sealed: &[Option<VaultState>],
) -> rusqlite::Result<Vec<Finding>> {
    let place = || path.display();
    let mut found = Vec::new();
    let tenants = "SELECT tenant, malformed - forgiven FROM tenants WHERE malformed > forgiven";
    let mut tenants = connection.prepare(tenants)?;
    let rows = tenants.query_map([], |row| Ok((row.get(0).map(TenantId::new)?, row.get::<_, u32>(1)?)))?;
    for row in rows {
        let (tenant, malformed) = row?;
        found.push(match malformed >= MALFORMED_MAX {
            true => frozen(place(), &tenant),
            false => {
                let what = format!("{malformed} malformed jobs for tenant {tenant}");
                Fault::MalformedJobs.at(place(), what)
            }
        });
    }
    // A count of subjects, never their names.
    let locked = "SELECT tenants.tenant,
            sum(generation_failures >= failures_per_generation OR generation_attempts >= attempts_per_generation),
            sum(retry_at > ?1 OR (day = ?1 / 86400 AND (day_failures >= failures_per_day OR day_attempts >= attempts_per_day)))
        FROM subjects JOIN tenants USING (tenant) GROUP BY tenants.tenant";
    let mut locked = connection.prepare(locked)?;
    let rows = locked.query_map([i64::try_from(now).unwrap_or(i64::MAX)], |row| {
        Ok((row.get(0).map(TenantId::new)?, row.get::<_, u64>(1)?, row.get::<_, u64>(2)?))
    })?;
    for row in rows {
        let (tenant, for_good, for_now) = row?;
        if for_good > 0 {
            let what = format!("{for_good} templates of tenant {tenant} have spent their budget for good");
            found.push(Fault::BudgetSpent.at(place(), what));
        }
        if for_now > 0 {
            let what = format!(
                "{for_now} subjects of tenant {tenant} are locked out for seconds, or until midnight UTC"
            );
            found.push(Fault::BudgetTrips.at(place(), what));
        }
    }
    let state = connection.query_row("SELECT generation, restored FROM authentic", [], |row| {
        Ok(VaultState { generation: row.get(0)?, restored: row.get(1)?, jobs: None })
    })?;
    if let [Some(sealed)] = sealed
        && state.is_older_than(sealed)
    {
        found.push(older_vault(place(), state, *sealed));
    }
    if found.is_empty() {
        let what = format!("generation {}, no tenant is frozen, nobody is locked out", state.generation);
        found.push(Finding::ok("key-holder", place(), what));
    }
    Ok(found)
}

/// A database of this version, to be read only.
fn opened(path: &Path, version: i64) -> Result<Connection, Finding> {
    let place = path.display();
    if !path.exists() {
        return Err(Fault::DatabaseMissing.at(place, "the database is not there"));
    }
    let open = || -> rusqlite::Result<(Connection, i64)> {
        let connection = open_still(path)?;
        let found = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        Ok((connection, found))
    };
    let (connection, found) = open().map_err(|cause| unreadable(path, &cause))?;
    let what = format!("schema version {found}, and this program knows {version}");
    match found == version {
        true => Ok(connection),
        false => Err(Fault::SchemaOther.at(place, what)),
    }
}

fn unreadable(path: &Path, cause: &impl std::fmt::Display) -> Finding {
    Fault::DatabaseDamaged.at(path.display(), cause.to_string())
}
