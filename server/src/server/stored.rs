//! What a start checks of the stored data before it uses it.

use super::store::OpenStore;
use super::{StartError, not_opened};
use std::path::Path;
use std::sync::atomic::Ordering;
use trefoil_attest::{Restoration, Seal, TrustRoot};
use trefoil_key_holder::vault::SqliteVault;
use trefoil_matching::{KeyHolding, StoreAge, Vault as _};
use trefoil_pipeline::ChainHead;
use trefoil_service::log::log_store::{self, SealedVaults};
use trefoil_service::{STORE_FILE, time};
use trefoil_storage::store::{Store, StoreError};

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
pub(super) fn introduce(
    OpenStore { store, path: store_path, noted }: &OpenStore,
    (vault, path): (&SqliteVault, &Path),
    restored: bool,
) -> Result<u64, StartError> {
    let (found, seen) = (store.count().load(Ordering::Acquire), vault.follow(store.count()));
    if found >= seen || restored {
        return Ok(store.follow(vault.count()));
    }
    let remedy = if *noted == Some(found) { DIRECTORY_ALONE } else { remedy(store_path) };
    Err(older((store_path, (0, found)), (path.display(), (0, seen)), remedy))
}

/// What to do about a file that is older than the vault.
const DIRECTORY: &str = "restore the whole directory from the newest backup";
/// What to do about an older database of which the directory has noted more.
const DATABASE: &str = "restore the whole directory from the newest backup; after the restoration of a PostgreSQL database start once with \
                        --store-restored, which every seal will show";
/// What to do if the directory has noted no more of the database, and by that nothing was restored.
const DIRECTORY_ALONE: &str = "restore the whole directory from the newest backup, and then start again: the postgres.mark that is there is as old \
                               as the database, so a start cannot tell that the database was restored";

fn remedy(store: &Path) -> &'static str {
    if store.ends_with(STORE_FILE) { DIRECTORY } else { DATABASE }
}

/// Tells a key-holder in another process how new the store is, unless it was `told` so. The first time refuses a store that is older than the
/// key-holder has seen it. Returns what the key-holder knows, which is what it was told before if it does not answer.
pub(super) fn tell_store(
    store: &dyn Store,
    path: &Path,
    key_holder: &dyn KeyHolding,
    told: Option<StoreAge>,
) -> Result<Option<StoreAge>, StartError> {
    if told.is_some_and(|(_, last)| last == store.count().load(Ordering::Acquire)) {
        return Ok(told);
    }
    let found = age(store, path)?;
    let Ok(seen) = key_holder.note_store(found) else { return Ok(told) };
    if told.is_none() && found < seen {
        if store.fleet().is_some() {
            // Other nodes may have told it. An empty transaction takes over what they left.
            store.note_api_key_uses(Vec::new()).map_err(|cause| not_opened(path, cause))?;
        }
        refuse_older(store, path, seen)?;
    }
    Ok(Some(found))
}

/// Refuses a store that is older than a key-holder in another process has seen it.
pub(super) fn refuse_older(store: &dyn Store, path: &Path, seen: StoreAge) -> Result<(), StartError> {
    let found = age(store, path)?;
    match found < seen {
        true => Err(older((path, found), ("the vault of its key-holder", seen), remedy(path))),
        false => Ok(()),
    }
}

fn age(store: &dyn Store, path: &Path) -> Result<StoreAge, StartError> {
    let restored = store.last_restoration().map_err(|cause| not_opened(path, cause))?;
    Ok((restored.map_or(0, |last| last.time), store.count().load(Ordering::Acquire)))
}

fn older(
    (store, found): (&Path, StoreAge),
    (vault, seen): (impl ToString, StoreAge),
    remedy: &'static str,
) -> StartError {
    StartError::OlderStore {
        store: store.display().to_string(),
        vault: vault.to_string(),
        found,
        seen,
        remedy,
    }
}

/// A vault in this process has no job log beside it: the newest seal, the store and the vault's mark show its last state.
pub(super) fn check_vault(
    vault: &SqliteVault,
    path: &Path,
    (sealed, seen): (Option<&SealedVaults>, u64),
    (accept_older, is_still): (bool, bool),
) -> Result<(), StartError> {
    let trefoil_matching::VaultState { generation, restored } = vault.state();
    let found = trefoil_attest::VaultState { generation, restored, jobs: None };
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
            Some((seal, sealed)) => {
                StartError::OlderVault { seal, found: Box::new(found), sealed: Box::new(sealed) }
            }
            None => {
                let older = StoreError::Older { found: found.generation, reached };
                let cause = format!(
                    "{older}, or, if there is none, start once with --accept-older-vault, which every seal will show"
                );
                StartError::Stored { what: "vault.sqlite", cause }
            }
        });
    }
    if is_still {
        return Ok(());
    }
    tracing::warn!(?found, ?sealed, reached, "an older vault is taken");
    let (generation, restored) = sealed.map_or((0, 0), |(_, sealed)| (sealed.generation, sealed.restored));
    let remembered = trefoil_matching::VaultState { generation: generation.max(reached), restored };
    vault.accept_older(remembered).map_err(|cause| not_opened(path, cause))
}
