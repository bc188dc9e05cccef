//! The source of the signing keys' passphrase.

use super::error::{KEYS_FILE, KeysError};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use trefoil_storage::data_dir::{DataDir, refuse_exposed};
use trefoil_storage::stretch::Cost;
use zeroize::Zeroizing;

/// The file of the generated passphrase, used if no other is given.
pub(super) const GENERATED_FILE: &str = "keys.passphrase";
/// Name of the systemd credential.
const CREDENTIAL: &str = "trefoil-keys-passphrase";
/// Shortest accepted passphrase: a shorter one can be guessed, whatever a guess costs.
const BYTES_MIN: usize = 12;
const BYTES_MAX: u64 = 4096;

/// A passphrase. Zeroised on drop; it has no `Debug`.
pub struct Passphrase {
    text: Zeroizing<Vec<u8>>,
    cost: Cost,
}

/// The settings that choose the passphrase.
pub struct Source {
    /// The configured file; empty for none.
    pub file: PathBuf,
    /// systemd's directory of credentials for this service, `$CREDENTIALS_DIRECTORY`.
    pub credentials: Option<OsString>,
}

impl Source {
    /// The configured file, and the credentials of this process.
    pub fn of_process(file: &Path) -> Source {
        Source { file: file.to_owned(), credentials: std::env::var_os("CREDENTIALS_DIRECTORY") }
    }

    /// The passphrase: the configured file, else the systemd credential, else a generated one beside the keys.
    pub(super) fn find(&self, directory: &DataDir) -> Result<Passphrase, KeysError> {
        if !self.file.as_os_str().is_empty() {
            refuse_exposed(&self.file)?;
            return Passphrase::read(&self.file);
        }
        // systemd gives the directory to this service alone, so the permissions inside are systemd's.
        if let Some(path) = self.credentials.as_ref().map(|directory| Path::new(directory).join(CREDENTIAL))
            && path.exists()
        {
            return Passphrase::read(&path);
        }
        generated(directory)
    }
}

/// 256 random bits as hexadecimal in a file of their own. They protect copies of the key file without this file, such
/// as a backup of it alone, and do not protect against a reader of the directory.
fn generated(directory: &DataDir) -> Result<Passphrase, KeysError> {
    let file = directory.join(GENERATED_FILE);
    if directory.join(KEYS_FILE).exists() && !file.exists() {
        return Err(KeysError::PassphraseMissing { path: file.display().to_string() });
    }
    directory.file(GENERATED_FILE, || {
        let random = Zeroizing::new(rand::random::<[u8; 32]>());
        let text = Zeroizing::new(hex::encode(&random[..]) + "\n");
        Zeroizing::new(text.as_bytes().to_vec())
    })?;
    Ok(Passphrase { cost: Cost::RANDOM, ..Passphrase::read(&file)? })
}

impl Passphrase {
    /// The content of a file without a byte order mark and the newline at its end.
    pub fn read(path: &Path) -> Result<Passphrase, KeysError> {
        let named = |cause: std::io::Error| KeysError::Passphrase {
            path: path.display().to_string(),
            cause: match cause.kind() {
                ErrorKind::NotFound => "there is no such file; write the passphrase into it".to_owned(),
                _ => cause.to_string(),
            },
        };
        let length = std::fs::metadata(path).map_err(named)?.len();
        if length > BYTES_MAX {
            return Err(named(std::io::Error::other(format!("longer than {BYTES_MAX} bytes"))));
        }
        let bytes = Zeroizing::new(std::fs::read(path).map_err(named)?);
        let bytes = trefoil_contents::unmarked(&bytes);
        let end = bytes.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |at| at + 1);
        if end < BYTES_MIN {
            return Err(named(std::io::Error::other(format!("shorter than {BYTES_MIN} bytes"))));
        }
        Ok(Passphrase { text: Zeroizing::new(bytes[..end].to_vec()), cost: Cost::CHOSEN })
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    pub(super) fn cost(&self) -> Cost {
        self.cost
    }
}
