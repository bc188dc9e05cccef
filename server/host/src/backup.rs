//! Files of a backup: a manifest, and files that are encrypted under a passphrase.
//!
//! | file of a backup | what |
//! |---|---|
//! | `manifest.toml` | sizes, digests, the log's end, the vault's state. Written last: without it the backup is invalid |
//! | `files.sealed` | the archive of small files (see [`Archive`]) |
//! | `NAME.sealed` | a database |
//!
//! Everything except the manifest is encrypted (see [`sealed`]), and the manifest is authenticated under the passphrase. So a thief of a
//! backup learns sizes, the time, and facts that seals make public. Which files a backup has is for its role to say.

#![expect(
    clippy::missing_errors_doc,
    reason = "every function fails with a `BackupError`, whose variants say why"
)]

mod manifest;
mod passphrase;
mod sealed;

pub use manifest::{LogEnd, MANIFEST_FILE, Manifest};
pub use passphrase::{Passphrase, PassphraseArgs};
pub use sealed::{Keys, Opened, Sealing, Stored, create};

use manifest::ManifestError;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};
use thiserror::Error;
use trefoil_storage::data_dir::{self, DataDirError};
use trefoil_storage::database::StoreError;
use zeroize::Zeroizing;

/// The archive of a backup.
pub const FILES: &str = "files";
/// Longest name in an archive.
const NAME_BYTES_MAX: usize = 255;

/// Why a backup was not made, is invalid, or was not restored.
#[derive(Debug, Error)]
pub enum BackupError {
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The file system failed.
    #[error("{path}: {cause}")]
    Io {
        /// File or directory.
        path: String,
        /// Reason.
        cause: io::Error,
    },
    /// Nothing to back up.
    #[error(
        "{0} is no data directory of this version: it has no installation.toml; give the right --data-dir"
    )]
    NoData(String),
    /// The target is not empty.
    #[error("{0} is not empty; give a directory that is new or empty")]
    NotEmpty(String),
    /// The target of a restore is not empty.
    #[error(
        "{0} is not empty, and a restore never writes over data; move what is there away, or give another directory. What a restore that was cut \
         short left there is of no use: remove it"
    )]
    Over(String),
    /// The backup would be a part of itself.
    #[error("{0} is inside the data directory; keep backups elsewhere, best on another machine")]
    Inside(String),
    /// A database was not copied, or another program wrote to it.
    #[error("{path}: {cause}")]
    Store {
        /// The file.
        path: String,
        /// Reason.
        cause: StoreError,
    },
    /// A file of the backup does not match the manifest.
    #[error("{path} is {how}: this backup is not whole; use another one")]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong.
        how: String,
    },
    /// The passphrase is another one.
    #[error(
        "{0}: the passphrase does not open it, or somebody wrote the manifest who does not have the passphrase"
    )]
    Passphrase(String),
    /// A file that does not belong in a data directory.
    #[error("{path} {how}; move it out of the data directory and repeat the backup")]
    Foreign {
        /// The file.
        path: String,
        /// Why it cannot be kept.
        how: &'static str,
    },
    /// The role refused the restored data.
    #[error("{0}")]
    Role(String),
}

/// The error of the file system at `path`.
pub fn io_at(path: &Path) -> impl FnOnce(io::Error) -> BackupError + '_ {
    move |cause| BackupError::Io { path: path.display().to_string(), cause }
}

/// The error of the database at `path`.
pub fn store_at(path: &Path) -> impl FnOnce(StoreError) -> BackupError + '_ {
    move |cause| BackupError::Store { path: path.display().to_string(), cause }
}

/// An archive that is being written: for each file the length of its name (2 bytes, big endian), its name, its length (8), and its bytes.
pub struct Archive {
    out: Sealing,
    path: PathBuf,
}

impl Archive {
    /// An empty archive in the backup `to`.
    pub fn begin(to: &Path, keys: &Keys) -> Result<Archive, BackupError> {
        let path = sealed_path(to, FILES);
        Ok(Archive { out: Sealing::begin(&path, keys, FILES).map_err(io_at(&path))?, path })
    }

    /// Adds a file.
    pub fn append(&mut self, name: &str, content: &[u8]) -> Result<(), BackupError> {
        let length = u16::try_from(name.len()).ok().filter(|length| usize::from(*length) <= NAME_BYTES_MAX);
        let mut write = || {
            let length = length.ok_or_else(|| io::Error::other(format!("the name {name} is too long")))?;
            self.out.write_all(&length.to_be_bytes())?;
            self.out.write_all(name.as_bytes())?;
            self.out.write_all(&(content.len() as u64).to_be_bytes())?;
            self.out.write_all(content)
        };
        write().map_err(io_at(&self.path))
    }

    /// Ends it.
    pub fn finish(self) -> Result<Stored, BackupError> {
        self.out.finish().map_err(io_at(&self.path))
    }
}

/// Checks a backup: every file against the manifest, and that the passphrase opens each file.
///
/// # Errors
/// [`BackupError`] names the file.
pub fn check(from: &Path, passphrase: &Passphrase) -> Result<Manifest, BackupError> {
    let (manifest, keys) = open_manifest(from, passphrase)?;
    for Stored { name, .. } in &manifest.files {
        let mut content = opened(from, &keys, name)?;
        let copied = io::copy(&mut content, &mut io::sink());
        copied.map_err(|cause| damaged(&sealed_path(from, name), cause.to_string()))?;
    }
    read_files(from, &keys, |_, _| Ok(()))?;
    Ok(manifest)
}

/// The manifest, whose files are those that were backed up, and the keys of its files.
pub fn open_manifest(from: &Path, passphrase: &Passphrase) -> Result<(Manifest, Keys), BackupError> {
    let path = from.join(MANIFEST_FILE);
    let text = match fs::read_to_string(&path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            return Err(damaged(&path, "missing, because this is no backup or it was cut short".to_owned()));
        }
        Err(cause) if cause.kind() == io::ErrorKind::InvalidData => {
            return Err(damaged(&path, "damaged".to_owned()));
        }
        read => read.map_err(io_at(&path))?,
    };
    let read = Manifest::read(&text, passphrase).map_err(|cause| match cause {
        ManifestError::Passphrase => BackupError::Passphrase(path.display().to_string()),
        other => damaged(&path, other.to_string()),
    })?;
    for stored in &read.0.files {
        let path = sealed_path(from, &stored.name);
        let (bytes, digest) = sealed::measure(&path).map_err(|cause| match cause.kind() {
            io::ErrorKind::NotFound => damaged(&path, "missing".to_owned()),
            _ => io_at(&path)(cause),
        })?;
        if (bytes, &digest) != (stored.bytes, &stored.sha3_256) {
            return Err(damaged(&path, "not the file that was backed up".to_owned()));
        }
    }
    Ok(read)
}

/// Where an encrypted file is.
pub fn sealed_path(from: &Path, name: &str) -> PathBuf {
    from.join(format!("{name}.sealed"))
}

/// A file of a backup that is not as it was written.
pub fn damaged(path: &Path, how: String) -> BackupError {
    BackupError::Damaged { path: path.display().to_string(), how }
}

/// An encrypted file of a backup, from its beginning.
pub fn opened(from: &Path, keys: &Keys, name: &str) -> Result<Opened, BackupError> {
    let path = sealed_path(from, name);
    Opened::begin(&path, keys, name).map_err(io_at(&path))
}

/// Calls `take` with each file of the archive.
pub fn read_files(
    from: &Path,
    keys: &Keys,
    mut take: impl FnMut(&str, &[u8]) -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    let path = sealed_path(from, FILES);
    let cut = |cause: io::Error| damaged(&path, cause.to_string());
    let mut content = opened(from, keys, FILES)?;
    loop {
        let mut length = [0; 2];
        if content.read(&mut length[..1]).map_err(cut)? == 0 {
            return Ok(());
        }
        content.read_exact(&mut length[1..]).map_err(cut)?;
        let mut name = vec![0; usize::from(u16::from_be_bytes(length))];
        content.read_exact(&mut name).map_err(cut)?;
        let mut length = [0; 8];
        content.read_exact(&mut length).map_err(cut)?;
        let name = String::from_utf8(name).map_err(|_| damaged(&path, "no archive".to_owned()))?;
        let plain = Path::new(&name).components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(damaged(&path, "an archive with a name that leads elsewhere".to_owned()));
        }
        let mut bytes = Zeroizing::new(Vec::new());
        let length = u64::from_be_bytes(length);
        let read = (&mut content).take(length).read_to_end(&mut bytes).map_err(cut)?;
        if read as u64 != length {
            return Err(damaged(&path, "cut short".to_owned()));
        }
        take(&name, &bytes)?;
    }
}

/// Makes a directory, or uses an empty one. An error without a cause means that it is not empty.
pub fn make_empty(path: &Path) -> Result<(), Option<BackupError>> {
    let failed = |cause| Some(io_at(path)(cause));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    match data_dir::occupant(path).map_err(|cause| Some(cause.into()))? {
        Some(_) => Err(None),
        None => fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(failed),
    }
}

/// A whole file, or none.
pub fn put(path: &Path, bytes: &[u8]) -> Result<(), BackupError> {
    let draft = path.with_extension("draft");
    let write = || {
        let mut file = create(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    write().map_err(io_at(path))
}

/// A file of the archive, in its folder.
pub fn put_within(into: &Path, name: &str, bytes: &[u8]) -> Result<(), BackupError> {
    let path = into.join(name);
    let folder = path.parent().unwrap_or(into);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io_at(folder))?;
    let mut file = create(&path).map_err(io_at(&path))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(io_at(&path))?;
    sync_directory(folder)
}

/// Makes the names in a directory survive a power cut.
pub fn sync_directory(path: &Path) -> Result<(), BackupError> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(io_at(path))
}
