//! `manifest.toml`: what is in a backup.
//!
//! Two comments end it: an HMAC of the text above under a key of the passphrase, and the SHA3-256 of everything above that. So damage is told
//! from another passphrase, and a manifest that somebody else wrote is refused.

use super::Passphrase;
use super::sealed::{Cost, Keys};
use serde::{Deserialize, Serialize};
use sha3::{Digest as _, Sha3_256};
use thiserror::Error;
use trefoil_matching::VaultState;

/// The manifest of a backup.
pub const MANIFEST_FILE: &str = "manifest.toml";
const FORMAT: &str = "trefoil:backup/1";
const MAC: &str = "# hmac-sha256 ";
const DIGEST: &str = "# sha3-256 ";
/// More files than a data directory has databases.
const FILES_MAX: usize = 16;

/// What is in a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    format: String,
    /// Version of the program that made it.
    pub program: String,
    /// Unix seconds.
    pub made_at: u64,
    /// The installation's id, hexadecimal.
    pub installation: String,
    /// Salt of the passphrase, hexadecimal: another one in each backup.
    salt: String,
    cost: Cost,
    /// Where the log of seals ended; absent where the backup has no store, or nothing was sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogEnd>,
    /// What the vault counted; absent where the backup has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vault: Option<Counted>,
    /// The encrypted files.
    pub files: Vec<Stored>,
}

/// The last seal of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogEnd {
    /// Its number.
    pub seal: u64,
    /// Its digest, hexadecimal.
    pub digest: String,
}

/// What a vault counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// Transactions.
    pub generation: u64,
    /// How often an older copy was taken for it.
    pub restored: u64,
}

/// An encrypted file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    /// Its name without `.sealed`.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Its digest, hexadecimal.
    pub sha3_256: String,
}

/// Why a text is no manifest.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum ManifestError {
    #[error("damaged")]
    Damaged,
    #[error("of the format {0}, and this program reads {FORMAT}")]
    Format(String),
    #[error("no manifest ({0})")]
    Text(String),
    #[error("made with another passphrase")]
    Passphrase,
}

impl Manifest {
    /// Begins a manifest for the installation whose record this is.
    pub(super) fn new(
        record: &[u8],
        now: u64,
        log: Option<LogEnd>,
        vault: Option<VaultState>,
    ) -> Result<Manifest, ManifestError> {
        #[derive(Deserialize)]
        struct Record {
            id: String,
        }
        let text = |cause: &dyn ToString| ManifestError::Text(cause.to_string());
        let record = std::str::from_utf8(record).map_err(|cause| text(&cause))?;
        let Record { id } = toml::from_str(record).map_err(|cause| text(&cause))?;
        Ok(Manifest {
            format: FORMAT.to_owned(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            made_at: now,
            installation: id,
            salt: hex::encode(rand::random::<[u8; 16]>()),
            cost: Cost::CHOSEN,
            log,
            vault: vault.map(|VaultState { generation, restored }| Counted { generation, restored }),
            files: Vec::new(),
        })
    }

    /// The keys that its passphrase makes.
    pub(super) fn keys(&self, passphrase: &Passphrase) -> Keys {
        Keys::derive(passphrase, self.cost, self.salt.as_bytes())
    }

    /// The text of the file.
    pub(super) fn write(&self, keys: &Keys) -> String {
        let body = toml::to_string(self).expect("every field has a TOML form");
        let authentic = format!("{body}{MAC}{}\n", hex::encode(keys.tag(body.as_bytes())));
        format!("{authentic}{DIGEST}{}\n", digest(&authentic))
    }

    /// Reads what [`Manifest::write`] wrote under this passphrase.
    pub(super) fn read(text: &str, passphrase: &Passphrase) -> Result<(Manifest, Keys), ManifestError> {
        let (authentic, found) = last_line(text, DIGEST).ok_or(ManifestError::Damaged)?;
        if digest(authentic) != found {
            return Err(ManifestError::Damaged);
        }
        let (body, tag) = last_line(authentic, MAC).ok_or(ManifestError::Damaged)?;
        #[derive(Deserialize)]
        struct Format {
            format: String,
        }
        let no_manifest = |cause: toml::de::Error| ManifestError::Text(cause.message().to_owned());
        let Format { format } = toml::from_str(body).map_err(no_manifest)?;
        if format != FORMAT {
            return Err(ManifestError::Format(format));
        }
        let manifest: Manifest = toml::from_str(body).map_err(no_manifest)?;
        let names = manifest.files.iter().map(|stored| stored.name.as_str());
        let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'.');
        if !manifest.cost.is_bounded() || manifest.files.len() > FILES_MAX || !names.into_iter().all(plain) {
            return Err(ManifestError::Damaged);
        }
        let keys = manifest.keys(passphrase);
        match hex::decode(tag).is_ok_and(|tag| keys.verifies(body.as_bytes(), &tag)) {
            true => Ok((manifest, keys)),
            false => Err(ManifestError::Passphrase),
        }
    }
}

fn digest(text: &str) -> String {
    hex::encode(Sha3_256::digest(text))
}

/// What is before the last line, and the last line after `label`.
fn last_line<'a>(text: &'a str, label: &str) -> Option<(&'a str, &'a str)> {
    let line = text.strip_suffix('\n')?;
    let start = line.rfind('\n')? + 1;
    Some((&text[..start], line[start..].strip_prefix(label)?))
}
