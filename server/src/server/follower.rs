//! Follows the trust root's newer versions in the data directory of a running service.

use super::Server;
use crate::app::App;
use std::path::PathBuf;
use std::sync::Arc;

/// See the module.
pub(crate) struct Follower {
    app: Arc<App>,
    directory: PathBuf,
}

impl Server {
    /// What follows the trust root of this service.
    pub(crate) fn follower(&self) -> Follower {
        Follower { app: Arc::clone(&self.app), directory: self.directory.path().to_owned() }
    }
}

impl Follower {
    /// The contents of the file of the next version; `None` if there is none.
    pub(crate) fn waiting(&self) -> Option<Vec<u8>> {
        self.app.service.keys.waiting(&self.directory)
    }

    /// Shows the newest version that can be reached.
    pub(crate) fn follow(&self) {
        match self.app.service.keys.follow(&self.directory) {
            Ok(None) => {}
            Ok(Some(version)) => tracing::info!(version, "shows a newer trust root"),
            Err(cause) => tracing::warn!(%cause, "a newer trust root is not taken"),
        }
        self.app.service.announce_keys();
    }
}
