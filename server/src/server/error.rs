//! Why the service cannot start.

use crate::config::ConfigError;
use crate::tls::TlsError;
use std::net::SocketAddr;
use std::path::Path;
use thiserror::Error;
use trefoil_attest::VaultState;
use trefoil_host::settings::not_bound;
use trefoil_matching::StoreAge;
use trefoil_service::keys::signing_keys::KeysError;
use trefoil_service::time;
use trefoil_storage::data_dir::DataDirError;
use trefoil_storage::store::StoreError;

/// Why the service cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// A setting cannot be used here.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The signing keys cannot be used.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A database cannot be opened.
    #[error("{path}: {cause}")]
    Store {
        /// The file.
        path: String,
        /// Reason.
        cause: StoreError,
    },
    /// The PostgreSQL database cannot be used.
    #[error(transparent)]
    Database(StoreError),
    /// An address cannot be bound.
    #[error("cannot listen on {address}: {cause}; {}", not_bound(cause))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Reason.
        cause: std::io::Error,
    },
    /// The vault is older than a seal shows.
    #[error(
        "the vault is older than seal {seal}: it counts {} transactions and was restored {} times, the seal says {} and {}. Budgets \
         that were spent and templates that were deleted since would be back: restore the whole directory from the newest backup, or, if there is none, start \
         once with --accept-older-vault, which every seal will show", found.generation, found.restored, sealed.generation, sealed.restored
    )]
    OlderVault {
        /// The newest seal.
        seal: u64,
        /// What the vault says.
        found: Box<VaultState>,
        /// What the seal says.
        sealed: Box<VaultState>,
    },
    /// The store is older than the vault shows.
    #[error(
        "the store is older than the vault: {store} counts {}, and {vault} has seen {}. Its log of seals would get a \
         second history, and what was erased since would be back: {remedy}", told(*found), told(*seen)
    )]
    OlderStore {
        /// Where the store is.
        store: String,
        /// Where the vault is.
        vault: String,
        /// How new the store is.
        found: StoreAge,
        /// How new the vault has seen it.
        seen: StoreAge,
        /// What to do.
        remedy: &'static str,
    },
    /// Stored data cannot be opened, or contradicts itself.
    #[error("{what}: {cause}")]
    Stored {
        /// The part that is damaged.
        what: &'static str,
        /// Reason.
        cause: String,
    },
    /// Only in a look: the file that a first start would go on to make.
    #[error("the first start did not finish: {0} is not made yet")]
    Unfinished(&'static str),
    /// A thread or the pipeline did not start.
    #[error("{0}")]
    Thread(String),
}

pub(super) fn not_opened(path: &Path, cause: StoreError) -> StartError {
    StartError::Store { path: path.display().to_string(), cause }
}

/// How new a store is, in words.
fn told((restored, count): StoreAge) -> String {
    match restored {
        0 => format!("{count} transactions"),
        _ => format!("{count} transactions and a restoration at {}", time::format(restored)),
    }
}
