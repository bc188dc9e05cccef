//! The store of a service: a file in its data directory, or a PostgreSQL database.

use super::{StartError, not_opened};
use crate::config::{self, Config, ConfigError};
use crate::node_name;
use std::fmt::Display;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use trefoil_matching::KeyHolding;
use trefoil_postgres::{Address, LINKS_OF_HANDLERS, Opening, Postgres, PostgresRegister, RegisterBounds};
use trefoil_service::backup::note_restoration;
use trefoil_service::keys::signing_keys;
use trefoil_service::log::log_store::SealedVaults;
use trefoil_service::login::register;
use trefoil_service::{POSTGRES_MARK, STORE_FILE, time};
use trefoil_storage::Supervisor;
use trefoil_storage::data_dir::{DataDir, DatabaseFile};
use trefoil_storage::store::{Register, Sqlite, Store, StoreError};

/// The PostgreSQL database of a configuration, if it names one. Its password may be in the file that PGPASSFILE names.
///
/// # Errors
/// The address is malformed or unsafe, or a password file cannot be read.
pub fn database(config: &Config) -> Result<Option<Address>, ConfigError> {
    config.store.database(std::env::var_os("PGPASSFILE").map(PathBuf::from))
}

/// A directory that has used no database cannot tell a foreign one from one that was tampered with, and the first is the likely one.
const ANOTHERS: &str = "this data directory is new, and the database belongs to another installation. For one more node of a fleet make its \
                        directory with `trefoil keys add-node --data-dir NODE --to NEW-NODE`, where NODE is the directory of a node that runs; for a \
                        new service give an empty database";

/// Before a first start makes keys: refuses a database that cannot be reached, or in which another installation is.
pub(super) fn reach(
    config: &Config,
    address: Option<&Address>,
    directory: &DataDir,
) -> Result<(), StartError> {
    let Some(address) = address.filter(|_| !signing_keys::are_there(directory.path())) else {
        return Ok(());
    };
    let patience = config.store.patience();
    // If there is one already, `trefoil store migrate` has made the tables with it.
    let looked = match directory.has("master.key")? {
        true => Postgres::user(address, patience).map(|_| true),
        false => Postgres::is_empty(address, patience, config.store.fleet),
    };
    match looked {
        Ok(true) => Ok(()),
        Ok(false) => Err(StartError::Database(StoreError::Unusable(format!("{address}: {ANOTHERS}")))),
        Err(cause) => Err(StartError::Database(cause)),
    }
}

/// A store, and where it is.
pub(super) struct OpenStore {
    pub(super) store: Arc<dyn Store>,
    pub(super) path: PathBuf,
    /// Transactions of the PostgreSQL database that the directory had noted.
    pub(super) noted: Option<u64>,
}

/// A database file of the directory, which a look does not make.
pub(super) fn database_file(directory: &DataDir, name: &'static str) -> Result<DatabaseFile, StartError> {
    let file = directory.database(name)?;
    if file.is_still && !file.exists { Err(StartError::Unfinished(name)) } else { Ok(file) }
}

/// Opens the store, or looks at it.
pub(super) fn open(
    supervisor: &Supervisor,
    directory: &DataDir,
    config: &Config,
    (address, seen): (Option<&Address>, u64),
    now: u64,
) -> Result<OpenStore, StartError> {
    let (secret, is_still) = (directory.secret::<32>("master.key")?, directory.is_still());
    let has_mark = directory.has(POSTGRES_MARK)?;
    let mark = (has_mark || address.is_some() && !is_still).then(|| directory.high_water(POSTGRES_MARK));
    let mark = mark.transpose()?;
    let noted = mark.as_ref().map_or(0, |mark| mark.reached().count);
    let Some(address) = address else {
        refuse_other(
            directory,
            noted > 0,
            "is in a PostgreSQL database: start with --store and its address",
        )?;
        let path = directory.join(STORE_FILE);
        let file = database_file(directory, STORE_FILE)?;
        let store =
            Sqlite::open_under(supervisor, file, &secret).map_err(|cause| not_opened(&path, cause))?;
        directory.note(STORE_FILE)?;
        return Ok(OpenStore { store: Arc::new(store), path, noted: None });
    };
    refuse_other(
        directory,
        directory.has(STORE_FILE)?,
        "is in its file store.sqlite: start without --store",
    )?;
    let config::Store { restored, fleet, .. } = config.store;
    let patience = config.store.patience();
    if is_still && noted == 0 && Postgres::is_empty(address, patience, fleet).map_err(StartError::Database)? {
        return Err(StartError::Unfinished(POSTGRES_MARK));
    }
    let opening = Opening { mark, restored, fleet: fleet.then(node_name), seen, is_still };
    let opened = Postgres::open(supervisor, address, &secret, patience, opening);
    let store = opened.map_err(|cause| refused(address, noted == 0, cause))?;
    if restored && !is_still {
        let restored = note_restoration(&store, now);
        let first = restored.map_err(|cause| StartError::Stored { what: "store", cause })?.first;
        tracing::warn!(
            first,
            "the store was restored: the log goes on at this seal, and every later one says so"
        );
    }
    tracing::info!(%address, "keeps the store in PostgreSQL");
    Ok(OpenStore { store: Arc::new(store), path: PathBuf::from(address.to_string()), noted: Some(noted) })
}

fn refused(address: &Address, is_new: bool, cause: StoreError) -> StartError {
    StartError::Database(match cause {
        StoreError::Forged(_) if is_new => StoreError::Unusable(format!("{address}: {ANOTHERS}")),
        StoreError::Forged(what) => StoreError::Forged(format!("{address}: {what}")),
        other => other,
    })
}

/// Says how far the vaults are ahead of a store that was restored: what the newest seal in it says of them, and what they say.
pub(super) fn tell_of_vaults(config: &Config, key_holder: &dyn KeyHolding, sealed: Option<&SealedVaults>) {
    let Some((seal, sealed)) = sealed.filter(|_| config.store.restored) else { return };
    let now = match key_holder.status() {
        Ok(status) => status.vaults,
        Err(cause) => {
            return tracing::warn!(%cause, "how far the vaults are ahead of the restored store is not known");
        }
    };
    for (seat, (sealed, now)) in (1..).zip(sealed.iter().zip(now)) {
        let (Some(sealed), Some(now)) = (sealed, now) else { continue };
        let ahead = now.generation.saturating_sub(sealed.generation);
        tracing::warn!(
            seat,
            seal,
            ahead,
            "the vault counts so many changes after the newest seal of the restored store: subjects that were enrolled since are not in the \
             store and enrol again, and subjects that were deleted since are in the store and match nobody"
        );
    }
}

/// The register of used nonces that this node shares with the others of its fleet. A process alone has none, and empties
/// that of a fleet before it, which would lack what this process accepts. So does a start that accepts the clock: the register would refuse
/// requests until the time at which it last forgot nonces by the wrong clock. A look compares the clocks alone.
pub(super) fn register(
    supervisor: &Supervisor,
    config: &Config,
    (address, is_still): (Option<&Address>, bool),
    now: impl Fn() -> u64,
) -> Result<Option<Arc<dyn Register>>, StartError> {
    let (Some(address), asked_at) = (address, now()) else { return Ok(None) };
    let patience = config.store.patience();
    if is_still {
        let clock = config.store.fleet.then(|| Postgres::clock(address, patience)).transpose();
        let clock = clock.map_err(StartError::Database)?;
        return clock.map_or(Ok(()), |clock| refuse_clock(address, [asked_at, now()], clock)).map(|()| None);
    }
    if !config.store.fleet || config.store.accept_clock {
        PostgresRegister::forget(address, patience).map_err(StartError::Database)?;
    }
    if !config.store.fleet {
        return Ok(None);
    }
    // As many as there are, or may be.
    let workers = match config.pipeline.workers {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        workers => workers,
    };
    let bounds = RegisterBounds {
        links_max: workers + LINKS_OF_HANDLERS,
        keep_s: register::KEEP_S,
        late_s: register::ALONE_S,
        early_s: register::EARLY_S,
    };
    let opened = PostgresRegister::open(supervisor, address, patience, bounds);
    let (opened, clock) = opened.map_err(StartError::Database)?;
    refuse_clock(address, [asked_at, now()], clock)?;
    Ok(Some(Arc::new(opened)))
}

/// Refuses a node whose clock is not that of its fleet's database, which said the time between these two of the node: it may have answered late.
fn refuse_clock(address: &dyn Display, [asked_at, now]: [u64; 2], clock: u64) -> Result<(), StartError> {
    if asked_at > clock + register::FAST_S || clock > now + register::SKEW_S {
        let cause = format!(
            "this machine's clock says {} and that of {address} says {}: set them, because the nodes of a fleet judge by the database's which \
             requests are fresh",
            time::format(now),
            time::format(clock)
        );
        return Err(StartError::Stored { what: "clock", cause });
    }
    Ok(())
}

/// A second store would begin the log of seals at 0 under the same keys.
fn refuse_other(directory: &DataDir, is_there: bool, instead: &str) -> Result<(), StartError> {
    match is_there {
        false => Ok(()),
        true => Err(StartError::Stored {
            what: "store",
            cause: format!(
                "the store of {} {instead}. A new store needs a new data directory, because its log begins with its keys",
                directory.path().display()
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_answers_late_is_no_wrong_clock() {
        let (asked_at, now) = (100_000, 100_060);
        for (clock, fits) in [
            (asked_at - register::FAST_S - 1, false),
            (asked_at - register::FAST_S, true),
            (asked_at + 30, true),
            (now + register::SKEW_S, true),
            (now + register::SKEW_S + 1, false),
        ] {
            assert_eq!(refuse_clock(&"postgres://db", [asked_at, now], clock).is_ok(), fits, "{clock}");
        }
    }
}
