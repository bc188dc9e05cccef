//! The service's part of a backup: the store, the end of the log of seals, and the note of the restoration that every later seal shows.

use crate::keys::signing_keys::TRUST_ROOT_FILE;
use crate::log::log_store;
use crate::time;
use crate::{POSTGRES_MARK, STORE_FILE};
use std::path::Path;
use trefoil_attest::{KeySetStatus, Restoration, Seal, TrustRoot};
use trefoil_host::backup::{BackupError, LogEnd, Manifest, Passphrase};
use trefoil_key_holder::backup::{self, Kept, VAULT};
use trefoil_storage::Supervisor;
use trefoil_storage::data_dir::DataDir;
use trefoil_storage::database::Pinned;
use trefoil_storage::store::{self, Log as _, Sqlite, Store, Tables as _};
use trefoil_storage::table::Records as _;

/// The store of a service.
const STORE: Kept = Kept { name: STORE_FILE, secret: "master.key", check: Sqlite::check_copy };

/// The databases that a service may have. It has a vault if its key-holder is in its process.
const DATABASES: [Kept; 2] = [STORE, VAULT];

/// Makes a backup of a service's data directory, which may be in use.
///
/// # Errors
/// [`BackupError`].
pub fn make(
    data: &Path,
    to: &Path,
    passphrase: &Passphrase,
    now: u64,
    tell: &mut dyn FnMut(&str),
) -> Result<Manifest, BackupError> {
    if data.join(POSTGRES_MARK).exists() {
        return Err(BackupError::Role(format!(
            "the store of {} is in a PostgreSQL database, which this command does not copy. Back the database up with PostgreSQL's tools (pg_dump, or \
             pg_basebackup with an archive of its log), then stop the service and copy the whole directory, which has the keys and the vault: see \
             FLEET.md, \"Back up and restore the database\"",
            data.display()
        )));
    }
    backup::make(data, to, passphrase, &DATABASES, end_of_log, now, tell)
}

/// Restores a service's backup into a new directory. The log of seals continues from it and shows a restoration at `now`. `newest` is a trust
/// root that may be newer than the backup: signing keys that it does not list as active are refused.
///
/// # Errors
/// [`BackupError`].
pub fn restore(
    from: &Path,
    into: &Path,
    passphrase: &Passphrase,
    newest: Option<&TrustRoot>,
    now: u64,
    tell: &mut dyn FnMut(&str),
) -> Result<(Manifest, Restoration), BackupError> {
    let mut restoration = None;
    let finish = |directory: &DataDir, manifest: &Manifest| {
        let checked = newest.map_or(Ok(()), |newest| check_keys(directory, newest));
        let gone_on = checked.and_then(|()| go_on(directory, manifest, now));
        let again = |cause| {
            format!("{cause}; this restoration is unusable: remove {} before you repeat it", into.display())
        };
        restoration = Some(gone_on.map_err(again)?);
        Ok(())
    };
    let manifest = backup::restore(from, into, passphrase, &DATABASES, now, tell, finish)?;
    let none = || BackupError::Role("the restoration was not noted".to_owned());
    Ok((manifest, restoration.ok_or_else(none)?))
}

fn end_of_log(pinned: &[Pinned]) -> Result<Option<LogEnd>, String> {
    let is_store = |pinned: &&Pinned| pinned.path().file_name().is_some_and(|name| name == STORE_FILE);
    let Some(store) = pinned.iter().find(is_store) else {
        return Err(format!(
            "{STORE_FILE} is missing; a key-holder is backed up with `trefoil key-holder backup`"
        ));
    };
    let newest = store.read(|rows| rows.one::<store::Seal>("ORDER BY number DESC", &[]));
    let newest = newest.map_err(|cause| cause.to_string())?;
    newest.map(|newest| end(&newest.bytes)).transpose()
}

fn end(seal: &[u8]) -> Result<LogEnd, String> {
    let header = Seal::decode(seal).map_err(|cause| format!("the newest seal: {cause}"))?.header;
    Ok(LogEnd { seal: header.seal_number, digest: hex::encode(header.digest()) })
}

/// Checks the end of the log, and notes the restoration.
fn go_on(directory: &DataDir, manifest: &Manifest, now: u64) -> Result<Restoration, String> {
    let text = |cause: &dyn ToString| cause.to_string();
    let secret = directory.secret::<32>(STORE.secret).map_err(|cause| text(&cause))?;
    let file = directory.database(STORE_FILE).map_err(|cause| text(&cause))?;
    let store = Sqlite::open_under(&Supervisor::default(), file, &secret).map_err(|cause| text(&cause))?;
    let last = store.last_seal().map_err(|cause| text(&cause))?;
    let found = last.as_ref().map(|(_, bytes)| end(bytes)).transpose()?;
    if found != manifest.log {
        return Err(format!("{STORE_FILE} does not end with the seal of the manifest; use another backup"));
    }
    let restoration = note_restoration(&store, now).map_err(|cause| text(&cause))?;
    store.checkpoint().map_err(|cause| text(&cause))?;
    Ok(restoration)
}

/// Notes that a store was restored at `now`, and deletes all sessions, because some may have been closed or revoked since the backup. Every later
/// seal names the restoration.
///
/// # Errors
/// The store failed, or the clock is before its newest seal.
pub fn note_restoration(store: &dyn Store, now: u64) -> Result<Restoration, String> {
    let text = |cause: &dyn ToString| cause.to_string();
    let last = store.last_seal().map_err(|cause| text(&cause))?;
    let earlier = store.last_restoration().map_err(|cause| text(&cause))?.map(|earlier| earlier.time);
    let sealed = log_store::last_header(store).map_err(|cause| text(&cause))?.map(|newest| newest.time);
    if let Some(before) = earlier.max(sealed).filter(|before| *before >= now) {
        return Err(format!(
            "this machine's clock says {}, and the backup has a seal or a restoration of {}: set the clock, or wait, and repeat",
            time::format(now),
            time::format(before)
        ));
    }
    let restoration = Restoration { time: now, first: last.map_or(0, |(number, _)| number + 1) };
    store.put_restoration(restoration).map_err(|cause| text(&cause))?;
    store.remove_sessions().map_err(|cause| text(&cause))?;
    Ok(restoration)
}

/// Refuses keys that were retired or revoked after the backup.
fn check_keys(directory: &DataDir, newest: &TrustRoot) -> Result<(), String> {
    let path = directory.join(TRUST_ROOT_FILE);
    let named = |cause: &dyn std::fmt::Display| format!("{}: {cause}", path.display());
    let bytes = std::fs::read(&path).map_err(|cause| named(&cause))?;
    let backed_up = TrustRoot::from_file(&bytes).map_err(|cause| named(&cause))?;
    if backed_up.issuer() != newest.issuer() {
        let (one, other) = (backed_up.issuer(), newest.issuer());
        return Err(format!(
            "the backup is of issuer {one}, and the trust root that was given is of {other}"
        ));
    }
    let of_backup = backed_up.key_sets().iter().filter(|set| set.status == KeySetStatus::Active);
    for set in of_backup {
        let id = set.keys.id();
        let Some(listed) = newest.key_set(&id) else {
            return Err(format!(
                "the backup has the signing keys {}, which the trust root that was given does not list: it is another service's, or older",
                hex::encode(id)
            ));
        };
        if listed.status != KeySetStatus::Active {
            return Err(format!(
                "the backup has the signing keys {}, which version {} of the trust root does not list as active: they were rotated or revoked \
                 after the backup, and what they seal verifies for nobody who follows the trust root. Use a backup that was made after that, or \
                 restore without --trust-root, revoke these keys, and deliver the new trust root as you delivered the first one",
                hex::encode(id),
                newest.version()
            ));
        }
    }
    Ok(())
}
