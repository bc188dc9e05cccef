//! `installation.toml`: the files that were made in a data directory, with their fingerprints.

use super::error::{DataDirError, failed};
use super::private_file::{self, read_private};
use serde::{Deserialize, Serialize};
use sha3::{Digest as _, Sha3_256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

pub(super) const FILE: &str = "installation.toml";
const HEAD: &str = "# Which files belong together. Trefoil writes this file and refuses what is missing or another one: back it up and\n\
                    # restore it with the rest of the directory.\n# To have a certificate made anew on purpose, remove its two files and their two lines here.\n";

/// See the module.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    /// Random, hexadecimal.
    id: String,
    /// By name: the fingerprint of a file that never changes, two while it is replaced, none for a file that may change.
    #[serde(default)]
    files: BTreeMap<String, String>,
}

/// How the names of files end that are made after the record, of which each directory has one soon.
const MADE: [&str; 8] = [
    ".sqlite",
    ".mark",
    "master.key",
    "vault.key",
    "issuer.key",
    "signing.keys",
    "trust-root.json",
    "-private-key.pem",
];

/// What would happen if a file were made again.
pub(super) fn loss(name: &str) -> &'static str {
    match name {
        "store.sqlite" => {
            "the seal log would begin again at 0 under the same keys, and every tenant and enrolment would be gone"
        }
        "vault.sqlite" => "no enrolled template could be matched, and attempt budgets would begin again",
        "master.key" | "vault.key" => "nothing in the database that it protects can be read or checked",
        "pepper.key" => "no API key would be accepted",
        "job-log-signing.key" => "auditors would know the key-holder no more by the heads that it signs",
        "job-log.key" => "the digests in the job log could never be explained",
        "jobs.mark" => "a job log that was cut short would not be noticed",
        "pieces.key" => "this key-holder's pieces of every key would be gone",
        "signing.keys" | "trust-root.json" => {
            "the service would sign with keys that no relying party trusts, and its seal log would have two histories"
        }
        name if name.ends_with(".mark") => "an older copy of the database would not be noticed",
        name if name.ends_with(".pem") => "everyone who pinned the certificate would refuse the new one",
        _ => "what it protects would be lost",
    }
}

impl Record {
    /// Begins the record of a new directory.
    pub(super) fn begin(directory: &Path) -> Result<(), DataDirError> {
        let _one_at_a_time = lock(directory)?;
        if Record::look(directory)? {
            return Ok(());
        }
        let id = hex::encode(rand::random::<[u8; 32]>());
        Record { id, files: BTreeMap::new() }.write(directory)?;
        tracing::info!("made a new installation in {}", directory.display());
        Ok(())
    }

    /// Whether a directory has a record. Refuses one that does not read, and files of an installation without one.
    pub(super) fn look(directory: &Path) -> Result<bool, DataDirError> {
        match directory.join(FILE).exists() {
            true => Record::read(directory).map(|_| true),
            false => Record::missing(directory).map_or(Ok(false), Err),
        }
    }

    /// Why a directory without a record is not a new one, if so.
    pub(super) fn missing(directory: &Path) -> Option<DataDirError> {
        let names = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let mut names = names.map(|entry| entry.file_name().display().to_string());
        let beside = names.find(|name| MADE.iter().any(|made| name.ends_with(made)))?;
        Some(DataDirError::Incomplete { path: directory.join(FILE).display().to_string(), beside })
    }

    pub(super) fn read(directory: &Path) -> Result<Record, DataDirError> {
        let path = directory.join(FILE);
        let refused = |cause: String| DataDirError::Record { path: path.display().to_string(), cause };
        let bytes = read_private(&path)?;
        let text = trefoil_contents::text(&bytes).map_err(refused)?;
        let unusual = |cause: toml::de::Error| refused(trefoil_contents::parse_error(cause.message()));
        let record: Record = toml::from_str(text).map_err(unusual)?;
        match hex::decode(&record.id).is_ok_and(|id| id.len() == 32) {
            true => Ok(record),
            false => Err(refused("its id is not 64 hexadecimal digits".to_owned())),
        }
    }

    /// The identifier of the installation.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The names, with the fingerprint of a file that never changes and none for a file that may.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(name, noted)| (name.as_str(), noted.as_str()))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Whether a file is noted. Refuses content other than the noted one.
    pub(super) fn claims(directory: &Path, name: &str, fixed: Option<&[u8]>) -> Result<bool, DataDirError> {
        let now = fixed.map(|bytes| fingerprint(name, bytes)).unwrap_or_default();
        match Record::read(directory)?.files.get(name) {
            Some(noted) if noted.is_empty() || is_noted(noted, &now) => Ok(true),
            Some(_) => Err(DataDirError::Other { path: directory.join(name).display().to_string() }),
            None => Ok(false),
        }
    }

    /// Notes a file, with its content if that never changes.
    pub(super) fn claim(directory: &Path, name: &str, fixed: Option<&[u8]>) -> Result<(), DataDirError> {
        let _one_at_a_time = lock(directory)?;
        let mut record = Record::read(directory)?;
        record.files.insert(name.to_owned(), fixed.map(|bytes| fingerprint(name, bytes)).unwrap_or_default());
        record.write(directory)
    }

    /// Notes that a file has one of these contents: two while it is replaced, because a crash leaves either.
    pub(super) fn permit(directory: &Path, name: &str, contents: &[&[u8]]) -> Result<(), DataDirError> {
        let _one_at_a_time = lock(directory)?;
        let mut record = Record::read(directory)?;
        let noted: Vec<String> = contents.iter().map(|bytes| fingerprint(name, bytes)).collect();
        record.files.insert(name.to_owned(), noted.join(" "));
        record.write(directory)
    }

    fn write(&self, directory: &Path) -> Result<(), DataDirError> {
        let text = toml::to_string(self).expect("every field has a TOML form");
        private_file::write(directory, FILE, (HEAD.to_owned() + &text).as_bytes())
    }
}

/// Whether this fingerprint is one of those that were noted.
pub(super) fn is_noted(noted: &str, fingerprint: &str) -> bool {
    noted.split(' ').any(|one| one == fingerprint)
}

/// Held by the process that changes the record, because a service and `trefoil keys` may both have the directory open.
fn lock(directory: &Path) -> Result<File, DataDirError> {
    let locked = File::open(directory).and_then(|file| file.lock().map(|()| file));
    locked.map_err(|cause: io::Error| failed(directory, "lock", cause))
}

pub(super) fn fingerprint(name: &str, bytes: &[u8]) -> String {
    let (domain, length) = (b"trefoil/installation-file/1", (name.len() as u64).to_le_bytes());
    let digest =
        Sha3_256::new().chain_update(domain).chain_update(length).chain_update(name).chain_update(bytes);
    hex::encode(digest.finalize())
}
