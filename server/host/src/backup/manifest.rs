//! `manifest.toml`: the contents of a backup.
//!
//! Two comments end it: an HMAC of the text above under a key from the passphrase, and the SHA3-256 of everything above that. So damage is
//! distinguished from a wrong passphrase, and a forged manifest is refused.

use super::Passphrase;
use super::sealed::{Keys, Stored};
use crate::settings::located;
use serde::{Deserialize, Serialize};
use sha3::{Digest as _, Sha3_256};
use thiserror::Error;
use trefoil_storage::database::VaultState;
use trefoil_storage::stretch::Cost;

/// The manifest of a backup.
pub const MANIFEST_FILE: &str = "manifest.toml";
const FORMAT: &str = "trefoil:backup/1";
const MAC: &str = "# hmac-sha256 ";
const DIGEST: &str = "# sha3-256 ";
/// 16 bytes.
const SALT_DIGITS: usize = 32;
/// Most files, which is more than a data directory has databases.
const FILES_MAX: usize = 16;

/// The contents of a backup.
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
    /// Salt of the passphrase, hexadecimal, which differs in each backup.
    salt: String,
    cost: Cost,
    /// The end of the log of seals; absent if the backup has no store, or nothing was sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogEnd>,
    /// The vault's counts; absent if the backup has no vault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vault: Option<VaultState>,
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

/// Why a text is not a valid manifest.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ManifestError {
    #[error("damaged")]
    Damaged,
    #[error("of another format than {FORMAT}, which this program reads")]
    Format,
    #[error("no manifest ({0})")]
    Text(String),
    #[error("made with another passphrase")]
    Passphrase,
}

impl Manifest {
    /// Begins a manifest for the installation whose record this is.
    pub fn new(
        record: &[u8],
        now: u64,
        log: Option<LogEnd>,
        vault: Option<VaultState>,
    ) -> Result<Manifest, ManifestError> {
        #[derive(Deserialize)]
        struct Record {
            id: String,
        }
        let record = trefoil_contents::text(record).map_err(ManifestError::Text)?;
        let unusual = |cause| ManifestError::Text(located(record, &cause));
        let Record { id } = toml::from_str(record).map_err(unusual)?;
        Ok(Manifest {
            format: FORMAT.to_owned(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            made_at: now,
            installation: id,
            salt: hex::encode(rand::random::<[u8; 16]>()),
            cost: Cost::CHOSEN,
            log,
            vault,
            files: Vec::new(),
        })
    }

    /// Whether all values are within the bounds of [`Manifest::write`]. This comes first, because it bounds the cost of testing the
    /// passphrase.
    fn is_bounded(&self) -> bool {
        let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'.');
        self.cost.is_bounded()
            && self.salt.len() == SALT_DIGITS
            && self.files.len() <= FILES_MAX
            && self.files.iter().all(|stored| plain(&stored.name))
    }

    /// The keys from its passphrase.
    pub fn keys(&self, passphrase: &Passphrase) -> Keys {
        Keys::derive(passphrase, self.cost, self.salt.as_bytes())
    }

    /// The text of the file.
    ///
    /// # Panics
    /// Never: every field has a TOML form.
    pub fn write(&self, keys: &Keys) -> String {
        let body = toml::to_string(self).expect("every field has a TOML form");
        let authentic = format!("{body}{MAC}{}\n", hex::encode(keys.tag(body.as_bytes())));
        format!("{authentic}{DIGEST}{}\n", digest(&authentic))
    }

    /// Reads a text that [`Manifest::write`] wrote under this passphrase.
    pub fn read(text: &str, passphrase: &Passphrase) -> Result<(Manifest, Keys), ManifestError> {
        let (authentic, found) = last_line(text, DIGEST).ok_or(ManifestError::Damaged)?;
        if digest(authentic) != found {
            return Err(ManifestError::Damaged);
        }
        let (body, tag) = last_line(authentic, MAC).ok_or(ManifestError::Damaged)?;
        #[derive(Deserialize)]
        struct Format {
            format: String,
        }
        let no_manifest = |cause| ManifestError::Text(located(body, &cause));
        let Format { format } = toml::from_str(body).map_err(no_manifest)?;
        if format != FORMAT {
            return Err(ManifestError::Format);
        }
        let manifest: Manifest = toml::from_str(body).map_err(no_manifest)?;
        if !manifest.is_bounded() {
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

/// The text before the last line, and the last line after `label`.
fn last_line<'a>(text: &'a str, label: &str) -> Option<(&'a str, &'a str)> {
    let line = text.strip_suffix('\n')?;
    let start = line.rfind('\n')? + 1;
    Some((&text[..start], line[start..].strip_prefix(label)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};
    use trefoil_testing::volume;

    fn passphrase() -> Passphrase {
        let Ok(passphrase) = Passphrase::new(b"correct horse battery".to_vec().into()) else {
            panic!("too short")
        };
        passphrase
    }

    fn written() -> (Manifest, String) {
        let state = VaultState { generation: 9, restored: 1 };
        let log = LogEnd { seal: 7, digest: "00".repeat(32) };
        let record = format!("id = \"{}\"\n", "ab".repeat(16));
        let mut manifest = Manifest::new(record.as_bytes(), 1_795_000_000, Some(log), Some(state)).unwrap();
        manifest.files.push(Stored { name: "files".to_owned(), bytes: 5, sha3_256: "cd".repeat(32) });
        let text = manifest.write(&manifest.keys(&passphrase()));
        (manifest, text)
    }

    /// A manifest written without the passphrase, with a correct digest at the end.
    fn forged(body: &str) -> String {
        let authentic = format!("{body}{MAC}{}\n", "00".repeat(32));
        format!("{authentic}{DIGEST}{}\n", digest(&authentic))
    }

    #[test]
    fn what_was_written_is_read_and_damage_is_told_from_another_passphrase() {
        let (manifest, text) = written();
        assert_eq!(Manifest::read(&text, &passphrase()).map(|(read, _)| read), Ok(manifest));
        let Ok(other) = Passphrase::new(b"another horse".to_vec().into()) else { panic!("too short") };
        let refused =
            |text: &str, passphrase: &Passphrase| Manifest::read(text, passphrase).map(drop).unwrap_err();
        assert_eq!(refused(&text, &other), ManifestError::Passphrase);
        let mut rng = StdRng::seed_from_u64(15);
        for _ in 0..volume(100_000, 2_000) {
            let mut bytes = text.clone().into_bytes();
            match rng.random_range(0..3) {
                0 => bytes.truncate(rng.random_range(0..bytes.len())),
                1 => {
                    let at = rng.random_range(0..bytes.len());
                    bytes[at] ^= rng.random_range(1..=255_u8);
                }
                _ => bytes.insert(rng.random_range(0..=bytes.len()), rng.random_range(0..128)),
            }
            let damaged = String::from_utf8_lossy(&bytes).into_owned();
            assert_eq!(refused(&damaged, &passphrase()), ManifestError::Damaged, "{damaged}");
        }
    }

    /// A manifest written without the passphrase cannot cause unbounded work, and none of its values causes a panic.
    #[test]
    fn a_forged_manifest_is_refused_before_it_costs_anything() {
        let (manifest, text) = written();
        let body = &text[..text.find(MAC).unwrap()];
        let refused = |body: &str| Manifest::read(&forged(body), &passphrase()).map(drop).unwrap_err();
        assert_eq!(refused(body), ManifestError::Passphrase, "well formed");
        let salt = |salt: &str| body.replace(&manifest.salt, salt);
        for hostile in [
            salt(""),
            salt("ab"),
            salt(&"ab".repeat(5_000)),
            body.replace("memory_kib = 65536", "memory_kib = 4294967295"),
            body.replace("passes = 3", "passes = 0"),
            body.replace("lanes = 4", "lanes = 255"),
            body.replace("name = \"files\"", "name = \"../files\""),
        ] {
            assert_ne!(hostile, body);
            assert_eq!(refused(&hostile), ManifestError::Damaged, "{hostile}");
        }
        assert!(matches!(refused("made_at = 1\n"), ManifestError::Text(_)));
        assert!(matches!(refused(&body.replace("backup/1", "backup/2")), ManifestError::Format));
    }
}
