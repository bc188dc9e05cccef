//! Examines an installation: faults, their places, and what to do.
//!
//! This changes nothing and keeps no lock, so it works on a stopped and on a running installation. Where no service runs, the start itself goes through
//! the installation and only looks. The other checks find what it does not refuse, and say more of what it does.

mod databases;
mod nodes;
mod service;
mod tls;

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};
use trefoil_api::{Finding, Level};
use trefoil_attest::{KeySetStatus, TrustRoot, VaultState};
use trefoil_host::identity::Identity;
use trefoil_key_holder::cli::GATEWAY_IDENTITY;
use trefoil_key_holder::{Address, Bounds, Remote};
use trefoil_matching::KeyHolding as _;
use trefoil_matching::quorum::Seat;
use trefoil_server::config::{Config, ConfigError, Place};
use trefoil_server::findings::{self, Fault};
use trefoil_server::server::{StartError, look};
use trefoil_service::keys::signing_keys::TRUST_ROOT_FILE;
use trefoil_service::time::format as time;
use trefoil_storage::Supervisor;
use trefoil_storage::data_dir::{self, DataDir};
use trefoil_storage::disk::RESERVE_FILE;

/// If the newest seal is older than this, the clock may be wrong.
const IDLE_S: u64 = 400 * 86_400;
/// Longest wait for a listener of this machine, and for a key-holder.
const WAIT: Duration = Duration::from_secs(3);

/// Examines the installation of this configuration at this time, unix seconds. A running service is asked with the token in `token_file`, or with that of the
/// data directory.
pub(crate) fn examine(config: &Config, token_file: Option<&Path>, now: u64) -> Vec<Finding> {
    let directory = &config.server.data_dir;
    if let Some(foreign) = foreign(directory) {
        return vec![foreign];
    }
    if !directory.is_file() && !DataDir::is_made(directory) {
        return vec![Fault::DirectoryMissing.at(directory.display(), "there is no installation")];
    }
    // A service that runs has passed the checks of a start, and changes the files meanwhile.
    let is_running = DataDir::holder(directory).is_some();
    let refused = if is_running { None } else { look(config, now).err() };
    let mut stored = files(directory);
    if let Some(unfinished @ StartError::Unfinished(_)) = &refused {
        stored.push(Fault::StartUnfinished.at(directory.display(), unfinished.to_string()));
        stored.extend(disk(config));
        return stored;
    }
    let (in_store, newest) = match trefoil_server::server::database(config) {
        Ok(None) => databases::store(directory, now),
        Ok(Some(address)) => databases::postgres(&address, config, now),
        Err(cause) => (vec![configuration(&cause)], None),
    };
    stored.extend(in_store);
    let sealed = newest.as_ref().map_or(&[][..], |header| header.vaults.as_slice());
    stored.extend(key_holder(config, now, sealed));
    let mut found = stored;
    found.extend(tls::examine(config, now));
    found.extend(keys(config, now));
    found.extend(disk(config));
    found.extend(refused.map(|cause| Fault::StartRefused.at(directory.display(), cause.to_string())));
    let (running, attention) = service::examine(config, &tls::certificate_path(config), token_file);
    found.extend(running);
    // What is found here too has the place that an operator can see.
    let is_news = |news: &Finding| !found.iter().any(|known| known.code == news.code);
    let news: Vec<Finding> = attention.into_iter().filter(is_news).collect();
    found.extend(news);
    found
}

/// The finding for an invalid configuration.
pub(crate) fn configuration(cause: &ConfigError) -> Finding {
    // It is shown on one line.
    let text = cause.to_string();
    let text = text.rsplit_once('\n').map_or(text.clone(), |(what, more)| format!("{what}; {more}"));
    Fault::Configuration.at("configuration", text)
}

/// That the directory is another user's: every file would be named, and none of them be wrong.
fn foreign(directory: &Path) -> Option<Finding> {
    let owner = std::fs::metadata(directory).ok()?.uid();
    let user = rustix::process::geteuid().as_raw();
    (owner != user).then(|| {
        let what = format!("it belongs to user {owner}, and this is user {user}");
        let remedy =
            format!("run it as the service's user: `sudo -u '#{owner}' trefoil doctor`, with the same flags");
        Fault::DirectoryOwner.at(directory.display(), what).do_this(remedy)
    })
}

/// Modes, owners, and the record of the files that belong together.
fn files(directory: &Path) -> Vec<Finding> {
    let found: Vec<Finding> = data_dir::inspect(directory).iter().map(file).collect();
    match found.is_empty() {
        true => {
            let what = "files are the owner's alone, and those of this installation";
            vec![Finding::ok("files", directory.display(), what)]
        }
        false => found,
    }
}

fn file(cause: &data_dir::DataDirError) -> Finding {
    use data_dir::DataDirError as E;
    let (fault, place) = match cause {
        E::Exposed { path, .. } => (Fault::FileExposed, path),
        E::Owner { path, .. } => (Fault::FileOwner, path),
        E::NotAFile { path } | E::NotADirectory { path } => (Fault::FileKind, path),
        E::Lost { path, .. } => (Fault::FileLost, path),
        E::Other { path } => (Fault::FileForeign, path),
        E::Record { path, .. } => (Fault::RecordDamaged, path),
        E::Unfinished { path } => (Fault::RestoreUnfinished, path),
        E::UnfinishedNode { path } => (Fault::NodeUnfinished, path),
        E::Io { path, .. }
        | E::Locked { path, .. }
        | E::Incomplete { path, .. }
        | E::Occupied { path, .. }
        | E::Length { path, .. } => (Fault::FileUnreadable, path),
    };
    // The text begins with the file and ends with the remedy.
    let text = cause.to_string();
    let (what, remedy) = text.rsplit_once("; ").or_else(|| text.rsplit_once(". ")).unwrap_or((&text, ""));
    let what = what.strip_prefix(place.as_str()).unwrap_or(what).trim_start_matches(':').trim_start();
    fault.at(place, what).do_this(remedy)
}

/// The trust root's keys, and the issuer.
fn keys(config: &Config, now: u64) -> Vec<Finding> {
    let path = config.server.data_dir.join(TRUST_ROOT_FILE);
    let place = path.display();
    let read = std::fs::read(&path).map_err(|cause| cause.to_string());
    let root = match read.and_then(|bytes| TrustRoot::from_file(&bytes).map_err(|cause| cause.to_string())) {
        Ok(root) => root,
        Err(cause) => return vec![Fault::TrustRoot.at(place, cause)],
    };
    let mut found = Vec::new();
    let configured = config.issuer(Some(root.issuer())).unwrap_or_default();
    if configured != root.issuer() {
        let what =
            format!("the trust root is of issuer {}, the configuration says {configured}", root.issuer());
        found.push(Fault::Issuer.at(place, what).do_this(format!("set server.issuer to {}", root.issuer())));
    }
    let active = root.key_sets().iter().filter(|set| set.status == KeySetStatus::Active);
    // Those of other nodes are among them, and which are this directory's shows only with the passphrase.
    let active = active.min_by_key(|set| set.keys.not_after);
    let place = path.display();
    let Some(active) = active else {
        found.push(Fault::KeysNone.at(place, "no key set is active"));
        return found;
    };
    let (from, until) = (active.keys.not_before, active.keys.not_after);
    let well = || {
        let what = format!("signing keys of {} until {}", root.issuer(), time(until));
        Finding::ok("keys", path.display(), what)
    };
    found.push(findings::signing_keys(place, (from, until), now).unwrap_or_else(well));
    let passphrase = &config.keys.passphrase_file;
    if !passphrase.as_os_str().is_empty() {
        if let Err(cause) = std::fs::metadata(passphrase) {
            found.push(Fault::PassphraseMissing.at(passphrase.display(), cause.to_string()));
        } else if let Err(cause) = data_dir::refuse_exposed(passphrase) {
            found.push(file(&cause));
        }
    }
    found
}

/// The key-holder: its vault in the directory, or its own process.
fn key_holder(config: &Config, now: u64, sealed: &[Option<VaultState>]) -> Vec<Finding> {
    let directory = &config.server.data_dir;
    match config.key_holder.place() {
        Ok(Place::Here) => databases::vault(directory, now, sealed),
        Ok(Place::One(address)) => asked(directory, &address, None, sealed.first().copied().flatten()),
        Ok(Place::Three(three)) => {
            let sealed = |seat: usize| sealed.get(seat).copied().flatten();
            let each = Seat::ALL.into_iter().zip(&three);
            each.flat_map(|(seat, address)| asked(directory, address, Some(seat), sealed(seat.index())))
                .collect()
        }
        // The configuration was read, so its addresses are valid.
        Err(_) => Vec::new(),
    }
}

/// `seat` is that of the place in which a key-holder of a quorum is listed.
fn asked(
    directory: &Path,
    address: &Address,
    seat: Option<Seat>,
    sealed: Option<VaultState>,
) -> Vec<Finding> {
    let place = &address.authority;
    let identity = match Identity::look(directory, GATEWAY_IDENTITY) {
        Ok(identity) => identity,
        Err(cause) => {
            return vec![Fault::KeyHolderCredential.at(directory.display(), cause.to_string())];
        }
    };
    let bounds = Bounds { timeout: WAIT, connections: 1 };
    let away = |cause: String| vec![Fault::KeyHolderAway.at(place, cause)];
    let remote = match Remote::start(&Supervisor::default(), address.clone(), identity, bounds, seat) {
        Ok(remote) => remote,
        Err(cause) => return away(cause.to_string()),
    };
    let ready = remote.wait_until_ready(Instant::now() + WAIT);
    if let Some(what) = remote.misplaced() {
        let (what, remedy) = what.split_once("; ").unwrap_or((&what, ""));
        return vec![Fault::KeyHolderOrder.at(place, what).do_this(remedy)];
    }
    let status = match ready.and_then(|()| remote.status().map_err(|cause| cause.to_string())) {
        Ok(status) => status,
        Err(cause) => return away(cause),
    };
    let mut found = findings::malformed(place, status.malformed_jobs(), &status.frozen);
    let vault = trefoil_service::keys::key_holder_watch::shown(&status).first().copied().flatten();
    if let (Some(vault), Some(sealed)) = (vault, sealed)
        && vault.is_older_than(&sealed)
    {
        found.push(older_vault(place, vault, sealed));
    }
    if found.is_empty() {
        let what = format!("{} tenants, {} templates", status.tenants, status.templates);
        found.push(Finding::ok("key-holder", place, what));
    }
    found
}

fn older_vault(place: impl ToString, found: VaultState, sealed: VaultState) -> Finding {
    let what = format!(
        "the vault is an older copy: it counts {} transactions and was restored {} times, the newest seal says {} and {}",
        found.generation, found.restored, sealed.generation, sealed.restored
    );
    Fault::VaultOlder.at(place, what)
}

/// Free space under the data directory, and the reserve for erasures.
fn disk(config: &Config) -> Vec<Finding> {
    let directory = &config.server.data_dir;
    let place = directory.display();
    let free = match rustix::fs::statvfs(directory) {
        Ok(found) => found.f_bavail.saturating_mul(found.f_frsize) >> 20,
        Err(cause) => return vec![Fault::DiskUnknown.at(place, cause.to_string())],
    };
    let low = config.disk.low_water_mib;
    let well = || Finding::ok("disk", directory.display(), format!("{free} MiB are free"));
    let mut found = vec![findings::disk(place, free, low, &findings::Stood::new()).unwrap_or_else(well)];
    let (reserve, wanted) = (directory.join(RESERVE_FILE), config.disk.reserve_mib);
    let has = std::fs::metadata(&reserve).map_or(0, |metadata| metadata.len() >> 20);
    if has < wanted {
        let what = format!("{has} of {wanted} MiB are reserved for erasures");
        found.push(Fault::DiskReserve.at(reserve.display(), what));
    }
    found
}

#[cfg(test)]
mod tests;
