//! What every part of the service stands on: the time, the store, the key-holder, and whether this node can work now.

use crate::counters::Counters;
use crate::keys::key_holder_watch::KeyHolderWatch;
use crate::refused::Refused;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trefoil_matching::KeyHolding;
use trefoil_pipeline::Clock;
use trefoil_storage::Supervisor;
use trefoil_storage::disk::Disk;
use trefoil_storage::store::fleet::Fleet;
use trefoil_storage::store::{Register, Store};

/// See the module.
pub struct Node {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The store.
    pub store: Arc<dyn Store>,
    /// The store's path or address, for messages to the operator who has to restore it.
    pub store_path: PathBuf,
    /// What the nodes of a fleet used once, if this is a node of one.
    pub register: Option<Arc<dyn Register>>,
    /// The key-holder, which decides.
    pub key_holder: Arc<dyn KeyHolding>,
    /// The key-holder's last known state.
    pub key_holder_watch: Arc<KeyHolderWatch>,
    /// The counts.
    pub counters: Arc<Counters>,
    /// Watches the essential threads.
    pub supervisor: Supervisor,
    /// Room under the data directory.
    pub disk: Disk,
    /// Whether it accepts no more requests.
    pub draining: AtomicBool,
}

impl Node {
    /// Unix seconds.
    pub fn now(&self) -> u64 {
        self.clock.unix_s()
    }

    /// Why the service accepts no requests, or `None`.
    pub fn unready(&self) -> Option<&'static str> {
        if self.supervisor.death().is_some() {
            Some("a part of the service failed, so it ends; retry at another instance")
        } else if self.draining.load(Ordering::Relaxed) {
            Some("draining")
        } else {
            None
        }
    }

    /// Whether this node does the work of which one copy suffices.
    pub fn keeps_house(&self) -> bool {
        self.store.fleet().is_none_or(|fleet| fleet.keeps_house())
    }

    /// Refuses every caller while this node of a fleet may not know that another node revoked it.
    pub fn check_heard(&self) -> Result<(), Refused> {
        let is_stale = self.store.fleet().is_some_and(Fleet::is_stale);
        if is_stale { Err(Refused::StoreAway) } else { Ok(()) }
    }

    /// Refuses a login where too many vaults are older copies.
    pub fn check_decidable(&self) -> Result<(), Refused> {
        self.key_holder_watch.too_many_older().map_or(Ok(()), |why| Err(Refused::OlderVault(why)))
    }

    /// Refuses requests that would write to a vault that is an older copy: its count would rise, and hide that it is older.
    pub fn check_vaults(&self) -> Result<(), Refused> {
        self.key_holder_watch.older_vault().map_or(Ok(()), |why| Err(Refused::OlderVault(why)))
    }

    /// Stored data contradicts itself: the process ends, because its answers could not be trusted.
    pub fn damaged(&self, cause: impl std::fmt::Display) -> Refused {
        let cure = format!("{cause}; restore the whole directory from the newest backup");
        self.supervisor.damaged(&self.store_path, &cure);
        Refused::StoreDamaged
    }
}

/// Runs `work` where it may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refused> + Send + 'static,
) -> Result<T, Refused> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|cause| Err(Refused::fault(cause)))
}
