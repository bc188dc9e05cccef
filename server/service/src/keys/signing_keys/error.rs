//! Why the signing keys cannot be used, and the names of their files.

use crate::time;
use thiserror::Error;
use trefoil_storage::data_dir::DataDirError;

/// The secret keys.
pub(super) const KEYS_FILE: &str = "signing.keys";

/// Why the signing keys cannot be used. The texts name the file and what to do.
#[derive(Debug, Error)]
pub enum KeysError {
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// A passphrase file that cannot be used.
    #[error("passphrase file {path}: {cause}")]
    Passphrase {
        /// The file.
        path: String,
        /// Reason.
        cause: String,
    },
    /// Encrypted keys without a passphrase.
    #[error(
        "the signing keys are encrypted, no passphrase is given and {path} is missing; set keys.passphrase_file"
    )]
    PassphraseMissing {
        /// Where a generated passphrase would be.
        path: String,
    },
    /// The key file does not open.
    #[error("{path}: {cause}")]
    Keys {
        /// The file.
        path: String,
        /// Reason.
        cause: String,
    },
    /// A trust root does not read or does not follow.
    #[error("{path}: {cause}; restore the whole directory from one backup")]
    TrustRoot {
        /// The file.
        path: String,
        /// Reason.
        cause: String,
    },
    /// Keys that no trust root lists, or a trust root without its keys.
    #[error("{0}")]
    Apart(String),
    /// The trust root is another issuer's.
    #[error(
        "the trust root is of issuer {found}, the configuration says {configured}; set server.issuer to {found}, or serve \
         {configured} from a data directory of its own. If nothing was signed yet, as after a first start that failed, move the directory away and \
         start with a new one; keep its key-holder-client-certificate.pem and key-holder-client-private-key.pem, which the key-holders let in"
    )]
    Issuer {
        /// In the trust root.
        found: String,
        /// In the configuration.
        configured: String,
    },
    /// The keys exist already.
    #[error("{path} exists; `trefoil keys rotate` replaces keys")]
    Exists {
        /// The file.
        path: String,
    },
    /// The clock is before the beginning of the keys' validity.
    #[error(
        "this machine's clock says {}, and the signing keys are valid from {}, {} s later: set the clock; the keys are good",
        time::format(*now), time::format(*from), from - now
    )]
    ClockBehind {
        /// When they begin to be valid, Unix seconds.
        from: u64,
        /// The clock.
        now: u64,
    },
    /// The keys expired.
    #[error(
        "the signing keys have run out; `trefoil keys rotate` makes new ones that relying parties can accept"
    )]
    RunOut,
    /// A key set that cannot be revoked.
    #[error("{0}")]
    Revocation(String),
    /// The newest stored trust root revokes the keys, and no keys replaced them.
    #[error(
        "a revocation of the signing keys was cut short; repeat `trefoil keys revoke {id}`, or they would sign on"
    )]
    HalfRevoked {
        /// The key set, hexadecimal.
        id: String,
    },
    /// Keys were not made, or did not sign.
    #[error("{0}")]
    Sign(String),
}
