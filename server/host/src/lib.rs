//! What every program of ours needs from its machine: settings, the log, a TLS identity, systemd, output, the files of a backup.
//!
//! ```
//! use trefoil_host::identity::Identity;
//! use trefoil_storage::data_dir::DataDir;
//!
//! # let folder = tempfile::tempdir()?;
//! // The other side pins this fingerprint; there is no certificate authority.
//! let directory = DataDir::open(&folder.path().join("data"))?;
//! let made = Identity::open(&directory, "tls")?.fingerprint();
//! assert_eq!(Identity::open(&directory, "tls")?.fingerprint(), made, "made once");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

pub mod arguments;
pub mod backup;
mod clock;
pub mod identity;
pub mod logging;
pub mod memory;
pub mod output;
pub mod settings;
pub mod systemd;
pub mod tls;

pub use clock::unix_s;
