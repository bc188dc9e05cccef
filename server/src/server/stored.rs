//! What a start checks of the stored data before it uses it, and `trefoil doctor` where no service runs.

use super::{StartError, not_opened};
use crate::config::{Config, Place};
use std::path::Path;
use std::sync::atomic::Ordering;
use trefoil_attest::{Restoration, Seal, TrustRoot};
use trefoil_key_holder::vault::{SqliteVault, VAULT_FILE};
use trefoil_matching::Vault as _;
use trefoil_pipeline::ChainHead;
use trefoil_service::log_store::{self, SealedVaults};
use trefoil_service::{STORE_FILE, key_holder_watch, signing_keys, time};
use trefoil_storage::data_dir::{HighWater, read_private};
use trefoil_storage::store::{Sqlite, Store, StoreError};
use zeroize::Zeroizing;

/// The end of the log, and what it says.
pub(super) struct Stored {
    pub(super) head: ChainHead,
    pub(super) sealed: Option<SealedVaults>,
    pub(super) restored: Option<Restoration>,
}

impl Stored {
    /// Refuses a log that this service's keys did not sign to its end, and a clock that is before its restoration.
    pub(super) fn check(store: &dyn Store, trust_root: &TrustRoot, now: u64) -> Result<Stored, StartError> {
        let stored = |cause: &dyn ToString| StartError::Stored { what: "seals", cause: cause.to_string() };
        let signed = |seal: &Seal| log_store::check_signatures(seal, trust_root);
        let head = log_store::chain_head(store, signed).map_err(|cause| stored(&cause))?;
        let sealed = log_store::sealed_vaults(store).map_err(|cause| stored(&cause))?;
        let restored = log_store::restoration(store).map_err(|cause| stored(&cause))?;
        // Seals would have dates before it.
        if let Some(Restoration { time, .. }) = restored.filter(|restored| restored.time > now) {
            let cause = format!(
                "the log was restored at {}, and this machine's clock is before that: set the clock, or, if it was wrong then, restore the \
                 backup again",
                time::format(time)
            );
            return Err(StartError::Stored { what: "clock", cause });
        }
        Ok(Stored { head, sealed, restored })
    }
}

/// Has store and vault note each other's count. Refuses a store that is older than the vault has seen it. Returns the count that the store has seen
/// of the vault.
pub(super) fn introduce(store: &dyn Store, vault: &SqliteVault, restored: bool) -> Result<u64, StartError> {
    let (found, seen) = (store.count().load(Ordering::Acquire), vault.follow(store.count()));
    match found < seen && !restored {
        true => Err(StartError::OlderStore { found, seen }),
        false => Ok(store.follow(vault.count())),
    }
}

/// A vault in this process has no job log beside it: the newest seal, the store and the vault's mark show its last state.
pub(super) fn check_vault(
    vault: &SqliteVault,
    path: &Path,
    (sealed, seen): (Option<&SealedVaults>, u64),
    accept_older: bool,
) -> Result<(), StartError> {
    let found = key_holder_watch::shown(vault.state());
    let sealed = match sealed.map(|(number, vaults)| (*number, vaults.as_slice())) {
        Some((seal, [Some(sealed)])) if found.is_older_than(sealed) => Some((seal, *sealed)),
        _ => None,
    };
    let reached = vault.reached().max(seen);
    if sealed.is_none() && found.generation >= reached {
        return Ok(());
    }
    if !accept_older {
        return Err(match sealed {
            Some((seal, sealed)) => StartError::OlderVault { seal, found, sealed },
            None => {
                let older = StoreError::Older { found: found.generation, reached };
                let cause = format!(
                    "{older}, or, if there is none, start once with --accept-older-vault, which every seal will show"
                );
                StartError::Stored { what: "vault.sqlite", cause }
            }
        });
    }
    tracing::warn!(?found, ?sealed, reached, "an older vault is taken");
    let (generation, restored) = sealed.map_or((0, 0), |(_, sealed)| (sealed.generation, sealed.restored));
    let remembered = trefoil_matching::VaultState { generation: generation.max(reached), restored };
    vault.accept_older(remembered).map_err(|cause| not_opened(path, cause))
}

/// Whether a start would refuse what is stored in the files of a directory that no process uses, which stay as they are. What is in PostgreSQL or at
/// another key-holder is not looked at.
///
/// # Errors
/// The words of the start.
pub fn would_start(config: &Config, now: u64) -> Result<(), StartError> {
    let directory = &config.server.data_dir;
    let [path, vault] = [STORE_FILE, VAULT_FILE].map(|name| directory.join(name));
    if !config.store.url.0.is_empty() || !path.exists() {
        return Ok(());
    }
    let opened = look(directory, STORE_FILE, "master.key", Sqlite::look)?;
    let trust_root = signing_keys::newest(directory)?;
    let stored = Stored::check(&opened, &trust_root, now)?;
    if config.key_holder.place().is_ok_and(|place| place == Place::Here) && vault.exists() {
        let looked = look(directory, VAULT_FILE, "vault.key", SqliteVault::look)?;
        let seen = introduce(&opened, &looked, false)?;
        check_vault(&looked, &vault, (stored.sealed.as_ref(), seen), false)?;
    }
    Ok(())
}

/// Looks at a database with its key and its mark.
fn look<T>(
    directory: &Path,
    name: &str,
    key: &str,
    open: impl FnOnce(&Path, u64, &[u8; 32]) -> Result<T, StoreError>,
) -> Result<T, StartError> {
    let (path, key) = (directory.join(name), directory.join(key));
    let mark = HighWater::read(&directory.join(format!("{name}.mark")))?;
    let bytes = read_private(&key)?;
    let secret = <[u8; 32]>::try_from(bytes.as_slice()).map(Zeroizing::new);
    let of_length = |_| StoreError::Fault(format!("{} has not 32 bytes", key.display()));
    let opened = secret.map_err(of_length).and_then(|secret| open(&path, mark.count, &secret));
    opened.map_err(|cause| not_opened(&path, cause))
}
