//! The store of a service: a file in its data directory, or a PostgreSQL database.

use super::{StartError, not_opened};
use crate::config::{self, Config, ConfigError};
use crate::node_name;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trefoil_matching::KeyHolding;
use trefoil_postgres::{Address, LINKS_OF_HANDLERS, Opening, Postgres, PostgresRegister, RegisterBounds};
use trefoil_service::backup::note_restoration;
use trefoil_service::keys::signing_keys;
use trefoil_service::log::log_store::SealedVaults;
use trefoil_service::login::register;
use trefoil_service::{POSTGRES_MARK, STORE_FILE, time};
use trefoil_storage::Supervisor;
use trefoil_storage::data_dir::{DataDir, HighWater, read_private};
use trefoil_storage::store::{Register, Sqlite, Store, StoreError};
use zeroize::Zeroizing;

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
pub(super) async fn reach(config: &Config, directory: &DataDir) -> Result<(), StartError> {
    let Some(address) = database(config)?.filter(|_| !signing_keys::are_there(directory.path())) else {
        return Ok(());
    };
    let (place, patience, fleet) = (address.to_string(), config.store.patience(), config.store.fleet);
    // If there is one already, `trefoil store migrate` has made the tables with it.
    let has_secret = directory.has("master.key")?;
    let looking = tokio::task::spawn_blocking(move || match has_secret {
        true => Postgres::user(&address, patience).map(|_| true),
        false => Postgres::is_empty(&address, patience, fleet),
    });
    match looking.await.map_err(|cause| StartError::Thread(cause.to_string()))? {
        Ok(true) => Ok(()),
        Ok(false) => Err(StartError::Database(StoreError::Unusable(format!("{place}: {ANOTHERS}")))),
        Err(cause) => Err(StartError::Database(cause)),
    }
}

/// Opens the store, and says where it is.
pub(super) fn open(
    supervisor: &Supervisor,
    directory: &DataDir,
    config: &Config,
    (address, seen): (Option<&Address>, u64),
    now: u64,
) -> Result<(Arc<dyn Store>, PathBuf), StartError> {
    let secret = directory.secret::<32>("master.key")?;
    let Some(address) = address else {
        let is_used =
            directory.has(POSTGRES_MARK)? && directory.high_water(POSTGRES_MARK)?.reached().count > 0;
        refuse_other(directory, is_used, "is in a PostgreSQL database: start with --store and its address")?;
        let path = directory.join(STORE_FILE);
        let file = directory.database(STORE_FILE)?;
        let store =
            Sqlite::open_under(supervisor, file, &secret).map_err(|cause| not_opened(&path, cause))?;
        directory.note(STORE_FILE)?;
        return Ok((Arc::new(store), path));
    };
    refuse_other(
        directory,
        directory.has(STORE_FILE)?,
        "is in its file store.sqlite: start without --store",
    )?;
    let config::Store { restored, fleet, .. } = config.store;
    let fleet = fleet.then(node_name);
    let mark = directory.high_water(POSTGRES_MARK)?;
    let is_new = mark.reached().count == 0;
    let opening = Opening { mark: Some(mark), restored, fleet, seen, look: None };
    let opened = Postgres::open(supervisor, address, &secret, config.store.patience(), opening);
    let store = opened.map_err(|cause| refused(address, is_new, cause))?;
    if restored {
        let noted =
            note_restoration(&store, now).map_err(|cause| StartError::Stored { what: "store", cause });
        let first = noted?.first;
        tracing::warn!(
            first,
            "the store was restored: the log goes on at this seal, and every later one says so"
        );
    }
    tracing::info!(%address, "keeps the store in PostgreSQL");
    Ok((Arc::new(store), PathBuf::from(address.to_string())))
}

fn refused(address: &Address, is_new: bool, cause: StoreError) -> StartError {
    StartError::Database(match cause {
        StoreError::Forged(_) if is_new => StoreError::Unusable(format!("{address}: {ANOTHERS}")),
        StoreError::Forged(what) => StoreError::Forged(format!("{address}: {what}")),
        other => other,
    })
}

/// Looks at the store as [`open`] would open it, and changes nothing. Says where it is.
pub(super) fn look(config: &Config) -> Result<(Box<dyn Store>, PathBuf), StartError> {
    let directory = &config.server.data_dir;
    let Some(address) = database(config)? else {
        let store: Box<dyn Store> = Box::new(look_at(directory, STORE_FILE, "master.key", Sqlite::look)?);
        return Ok((store, directory.join(STORE_FILE)));
    };
    let secret = secret(&directory.join("master.key"))?;
    let mark = directory.join(POSTGRES_MARK);
    let reached = if mark.exists() { HighWater::read(&mark)?.count } else { 0 };
    let opening =
        Opening { look: Some(reached), fleet: config.store.fleet.then(node_name), ..Opening::default() };
    let opened = Postgres::open(&Supervisor::default(), &address, &secret, config.store.patience(), opening);
    let opened: Box<dyn Store> = Box::new(opened.map_err(|cause| refused(&address, reached == 0, cause))?);
    Ok((opened, PathBuf::from(address.to_string())))
}

/// Looks at a database file with its key and its mark.
pub(super) fn look_at<T>(
    directory: &Path,
    name: &str,
    key: &str,
    open: impl FnOnce(&Path, u64, &[u8; 32]) -> Result<T, StoreError>,
) -> Result<T, StartError> {
    let (path, secret) = (directory.join(name), secret(&directory.join(key))?);
    let mark = HighWater::read(&directory.join(format!("{name}.mark")))?;
    open(&path, mark.count, &secret).map_err(|cause| not_opened(&path, cause))
}

fn secret(path: &Path) -> Result<Zeroizing<[u8; 32]>, StartError> {
    let bytes = read_private(path)?;
    let of_length = |_| not_opened(path, StoreError::Fault("it has not 32 bytes".to_owned()));
    bytes.as_slice().try_into().map(Zeroizing::new).map_err(of_length)
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

/// The register of used nonces and hash chains that this node shares with the others of its fleet. A process alone has none, and empties
/// that of a fleet before it, which would lack what this process accepts. So does a start that accepts the clock: the register would refuse
/// requests until the time at which it last forgot nonces by the wrong clock.
pub(super) fn register(
    supervisor: &Supervisor,
    config: &Config,
    address: Option<&Address>,
    now: u64,
) -> Result<Option<Arc<dyn Register>>, StartError> {
    let Some(address) = address else { return Ok(None) };
    let patience = config.store.patience();
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
    refuse_clock(address, now, clock)?;
    Ok(Some(Arc::new(opened)))
}

/// Refuses a node whose clock is not that of its fleet's database.
fn refuse_clock(address: &Address, now: u64, clock: u64) -> Result<(), StartError> {
    if now > clock + register::FAST_S || clock > now + register::SKEW_S {
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

/// Looks at the clock of a fleet's database as [`register`] does.
pub(super) fn look_at_clock(config: &Config, now: u64) -> Result<(), StartError> {
    let Some(address) = database(config)?.filter(|_| config.store.fleet) else { return Ok(()) };
    let clock = Postgres::clock(&address, config.store.patience()).map_err(StartError::Database)?;
    refuse_clock(&address, now, clock)
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
