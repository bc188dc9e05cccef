//! The trust root that a running service shows. It follows the versions that `trefoil keys` and the operator put into the directory.

use super::{KeySetId, KeySetStatus, KeysError, Opened, TrustRoot, VERSIONS, followed, next, publish};
use arc_swap::ArcSwap;
use std::path::Path;
use std::sync::Arc;
use trefoil_storage::data_dir::DataDir;
use trefoil_storage::store::fleet::NodeKeys;

/// See the module.
pub struct Shown {
    /// The key set that this service signs with.
    own: KeySetId,
    root: ArcSwap<TrustRoot>,
}

impl Shown {
    /// The trust root of a start.
    pub fn new(opened: &Opened) -> Shown {
        Shown { own: opened.keys.id(), root: ArcSwap::from_pointee(opened.trust_root.clone()) }
    }

    /// The trust root, which relying parties pin.
    pub fn root(&self) -> Arc<TrustRoot> {
        self.root.load_full()
    }

    /// When the keys that this service signs with expire, unix seconds.
    pub fn until(&self) -> Option<u64> {
        self.root.load().key_set(&self.own).map(|set| set.keys.not_after)
    }

    /// When they begin to be valid, unix seconds.
    pub fn from(&self) -> Option<u64> {
        self.root.load().key_set(&self.own).map(|set| set.keys.not_before)
    }

    /// What this node tells the others of its fleet.
    pub fn told(&self) -> NodeKeys {
        NodeKeys { key_set: first(self.own), ..root_told(&self.root.load()) }
    }

    /// When the next version in the directory retires the keys that this service signs with, unix seconds; `None` if it does not.
    pub fn retires(&self, directory: &Path) -> Option<u64> {
        let next = next(directory, &self.root()).ok().flatten()?;
        match next.key_set(&self.own)?.status {
            KeySetStatus::Retired { since } => Some(since),
            KeySetStatus::Active | KeySetStatus::Revoked { .. } => None,
        }
    }

    /// The contents of the file of the next version; `None` if there is none.
    pub fn waiting(&self, directory: &Path) -> Option<Vec<u8>> {
        let file = format!("{}.json", self.root.load().version() + 1);
        std::fs::read(directory.join(VERSIONS).join(file)).ok()
    }

    /// Takes newer versions from the directory. Returns the version that is shown from now on, if it is another.
    ///
    /// # Errors
    /// Why a stored version is not taken. Those before it are.
    pub fn follow(&self, directory: &Path) -> Result<Option<u64>, KeysError> {
        let before = self.root();
        let (root, refused) = followed(directory, TrustRoot::clone(&before), &self.own);
        let version = root.version();
        if version > before.version() {
            // A command that has the lock publishes the newest version itself.
            if let Ok(directory) = DataDir::open_for_keys(directory) {
                publish(&directory, &root)?;
            }
            self.root.store(Arc::new(root));
        }
        match refused {
            Some(cause) => Err(cause),
            None => Ok((version > before.version()).then_some(version)),
        }
    }
}

/// The version and digest that a node with this trust root tells, without its key set.
pub fn root_told(root: &TrustRoot) -> NodeKeys {
    NodeKeys { key_set: [0; 4], version: root.version(), digest: first(root.digest()) }
}

fn first<const N: usize>(bytes: impl AsRef<[u8]>) -> [u8; N] {
    std::array::from_fn(|at| bytes.as_ref().get(at).copied().unwrap_or_default())
}
