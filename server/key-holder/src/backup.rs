//! Backups of a data directory: made while its process runs, encrypted, checked, and restored into an empty directory.
//!
//! | file of a backup | what |
//! |---|---|
//! | `manifest.toml` | sizes, digests, the log's end, the vault's state. Written last: without it the backup is invalid |
//! | `files.sealed` | keys, certificates, trust roots, the record of the installation, the job log |
//! | `store.sqlite.sealed`, `vault.sqlite.sealed` | the databases, as they were at one moment |
//!
//! Everything except the manifest is encrypted under a passphrase (see [`sealed`]), and the manifest is authenticated under it. So a thief of a
//! backup learns sizes, the time, and facts that seals make public.
//!
//! Two databases in one directory are pinned at one moment ([`Pinned::together`]), so a restored pair is one that a kill could have left.
//! The job log is cut to its length before that moment, so that it never counts more than its vault. Signing keys cannot rotate while they are
//! copied. The marks that reveal an older database are not copied, because a restored database is older and has a count for this.
//!
//! A restored vault counts as an older copy that its operator accepted: `restored` rises, and every later seal shows that. Every process refuses
//! a directory in which a restore did not complete.

mod manifest;
mod passphrase;
mod sealed;

pub use manifest::{LogEnd, MANIFEST_FILE, Manifest};
pub use passphrase::{Passphrase, PassphraseArgs};
pub use sealed::Stored;

use crate::job_log::{self, Entry, JobLog, JobLogError};
use crate::vault::{SqliteVault, VAULT_FILE};
use manifest::ManifestError;
use sealed::{Keys, Opened, Sealing, create};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};
use thiserror::Error;
use trefoil_matching::{Vault as _, VaultState};
use trefoil_storage::data_dir::{self, DataDir, DataDirError, GITIGNORE, read_private};
use trefoil_storage::database::{Pinned, StoreError};
use trefoil_storage::disk::RESERVE_FILE;
use trefoil_storage::supervisor::Supervisor;
use zeroize::Zeroizing;

/// The file that identifies a data directory.
const RECORD: &str = "installation.toml";
const FILES: &str = "files";
/// Longest file that is read into memory. Files of a data directory have kilobytes, and job logs are read in pieces.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Longest name in an archive.
const NAME_BYTES_MAX: usize = 255;

/// A database of a role, and the check of a copy.
#[derive(Clone, Copy)]
pub struct Kept {
    /// Its name in the data directory.
    pub name: &'static str,
    /// The secret that authenticates its rows.
    pub secret: &'static str,
    /// Checks a copy with that secret.
    pub check: fn(&Path, &[u8; 32]) -> Result<VaultState, StoreError>,
}

/// The vault of the role that holds the keys.
pub const VAULT: Kept = Kept { name: VAULT_FILE, secret: "vault.key", check: SqliteVault::check_copy };

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

impl From<JobLogError> for BackupError {
    fn from(cause: JobLogError) -> BackupError {
        BackupError::Role(cause.to_string())
    }
}

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> BackupError + '_ {
    move |cause| BackupError::Io { path: path.display().to_string(), cause }
}

fn store_at(path: &Path) -> impl FnOnce(StoreError) -> BackupError + '_ {
    move |cause| BackupError::Store { path: path.display().to_string(), cause }
}

/// Makes a backup of `data` in the new directory `to`, with those of `databases` that exist. `end_of_log` reads the end of the log of seals
/// from the databases that are backed up. `tell` gets the progress.
///
/// # Errors
/// [`BackupError`]. `to` is then no valid backup: remove it.
pub fn make(
    data: &Path,
    to: &Path,
    passphrase: &Passphrase,
    databases: &[Kept],
    end_of_log: impl FnOnce(&[Pinned]) -> Result<Option<LogEnd>, String>,
    now: u64,
    tell: &mut dyn FnMut(&str),
) -> Result<Manifest, BackupError> {
    if !data.join(RECORD).is_file() {
        return Err(BackupError::NoData(data.display().to_string()));
    }
    make_empty(to)
        .map_err(|refused| refused.unwrap_or_else(|| BackupError::NotEmpty(to.display().to_string())))?;
    let inside = || Some(fs::canonicalize(to).ok()?.starts_with(fs::canonicalize(data).ok()?));
    if inside() == Some(true) {
        return Err(BackupError::Inside(to.display().to_string()));
    }
    // Signing keys and trust roots cannot change while this lock is held.
    let _no_rotation = DataDir::open_for_keys(data)?;
    // The record comes first, since a process may note a new file while the others are read.
    let record = read_private(&data.join(RECORD))?;
    let files = listed(data, databases)?;
    let there: Vec<Kept> = databases.iter().filter(|kept| data.join(kept.name).is_file()).copied().collect();
    let pinned = pin(data, &there)?;
    let log = end_of_log(&pinned).map_err(BackupError::Role)?;
    let vault = there.iter().zip(&pinned).find(|(kept, _)| kept.name == VAULT_FILE);
    let mut manifest = Manifest::new(&record, now, log, vault.map(|(_, pinned)| pinned.state()))
        .map_err(|cause| BackupError::Role(cause.to_string()))?;
    let keys = manifest.keys(passphrase);
    tell(&format!("{} files", files.len()));
    manifest.files.push(seal_files(data, to, &keys, &record, &files)?);
    for (kept, pinned) in there.iter().zip(&pinned) {
        manifest.files.push(seal_database(data, to, &keys, kept, pinned, tell)?);
    }
    drop(pinned);
    let text = manifest.write(&keys);
    put(&to.join(MANIFEST_FILE), text.as_bytes())?;
    sync_directory(to)?;
    Ok(manifest)
}

/// Pins both databases at one moment. The first of a pair must not commit while the second is pinned: it is the vault, which commits less often.
fn pin(data: &Path, there: &[Kept]) -> Result<Vec<Pinned>, BackupError> {
    let at = |kept: &Kept| data.join(kept.name);
    match there {
        [one, other] => {
            let (first, second) = if one.name == VAULT_FILE { (one, other) } else { (other, one) };
            let (first, second) = (at(first), at(second));
            let [first_pinned, second_pinned] =
                Pinned::together(&first, &second).map_err(store_at(&first))?;
            Ok(if one.name == VAULT_FILE {
                vec![first_pinned, second_pinned]
            } else {
                vec![second_pinned, first_pinned]
            })
        }
        few => few.iter().map(|kept| Pinned::at(&at(kept)).map_err(store_at(&at(kept)))).collect(),
    }
}

/// A file of a data directory, relative to it, and the length that is kept.
struct Listed {
    name: String,
    bytes: u64,
}

/// Every file except databases, locks, drafts, marks and the reserve of the disk. A job log grows; its present length is kept.
fn listed(data: &Path, databases: &[Kept]) -> Result<Vec<Listed>, BackupError> {
    let (mut found, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        let path = data.join(&folder);
        for entry in fs::read_dir(&path).map_err(io_at(&path))? {
            let entry = entry.map_err(io_at(&path))?;
            let kind = entry.file_type().map_err(io_at(&path))?;
            let relative = folder.join(entry.file_name());
            let foreign = |how| BackupError::Foreign { path: entry.path().display().to_string(), how };
            let name = relative.to_str().ok_or_else(|| foreign("has a name that is not UTF-8"))?.to_owned();
            if kind.is_dir() {
                folders.push(relative);
            } else if !kind.is_file() {
                return Err(foreign("is neither a file nor a directory"));
            } else if name.ends_with(".sqlite") && !databases.iter().any(|kept| kept.name == name) {
                return Err(foreign("is a database that this command does not back up"));
            } else if is_kept(&name, databases) {
                let bytes = entry.metadata().map_err(io_at(&path))?.len();
                if !job_log::is_file(&name) && bytes > FILE_BYTES_MAX {
                    return Err(foreign("is larger than any file that belongs there"));
                }
                found.push(Listed { name, bytes });
            }
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

fn is_kept(name: &str, databases: &[Kept]) -> bool {
    let of_a_database = databases.iter().any(|kept| name.starts_with(kept.name));
    let passing = [".draft", ".mark", ".sqlite", "-wal", "-shm"].iter().any(|end| name.ends_with(end));
    !of_a_database && !passing && !matches!(name, RECORD | RESERVE_FILE | GITIGNORE | "lock" | "keys.lock")
}

/// The archive: for each file the length of its name (2 bytes, big endian), its name, its length (8), and its bytes.
fn seal_files(
    data: &Path,
    to: &Path,
    keys: &Keys,
    record: &[u8],
    files: &[Listed],
) -> Result<Stored, BackupError> {
    let path = to.join(format!("{FILES}.sealed"));
    let mut out = Sealing::begin(&path, keys, FILES).map_err(io_at(&path))?;
    let header = |out: &mut Sealing, name: &str, bytes: u64| {
        let length = u16::try_from(name.len()).ok().filter(|length| usize::from(*length) <= NAME_BYTES_MAX);
        let length = length.ok_or_else(|| io::Error::other(format!("the name {name} is too long")))?;
        out.write_all(&length.to_be_bytes())?;
        out.write_all(name.as_bytes())?;
        out.write_all(&bytes.to_be_bytes())
    };
    header(&mut out, RECORD, record.len() as u64)
        .and_then(|()| out.write_all(record))
        .map_err(io_at(&path))?;
    for Listed { name, bytes } in files {
        let from = data.join(name);
        let content = match job_log::is_file(name) {
            true => whole_lines(&from, *bytes).map_err(io_at(&from))?,
            false => read_private(&from)?,
        };
        header(&mut out, name, content.len() as u64)
            .and_then(|()| out.write_all(&content))
            .map_err(io_at(&path))?;
    }
    out.finish().map_err(io_at(&path))
}

/// The first `bytes` bytes of a growing file, to the end of a line.
fn whole_lines(path: &Path, bytes: u64) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut text = Vec::new();
    File::open(path)?.take(bytes).read_to_end(&mut text)?;
    text.truncate(text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
    Ok(Zeroizing::new(text))
}

fn seal_database(
    data: &Path,
    to: &Path,
    keys: &Keys,
    kept: &Kept,
    pinned: &Pinned,
    tell: &mut dyn FnMut(&str),
) -> Result<Stored, BackupError> {
    let mut told = 0;
    let (draft, path) = (to.join(format!("{}.draft", kept.name)), to.join(format!("{}.sealed", kept.name)));
    pinned
        .copy_to(&draft, |done, all| {
            let tenth = done * 10 / all.max(1);
            if tenth > told {
                told = tenth;
                tell(&format!("{}: {done} of {all} pages", kept.name));
            }
        })
        .map_err(store_at(pinned.path()))?;
    check_database(&draft, data, kept).map_err(|cause| match cause {
        BackupError::Store { cause, .. } => store_at(pinned.path())(cause),
        other => other,
    })?;
    let mut out = Sealing::begin(&path, keys, kept.name).map_err(io_at(&path))?;
    let mut copied = File::open(&draft).map_err(io_at(&draft))?;
    io::copy(&mut copied, &mut out).map_err(io_at(&path))?;
    let stored = out.finish().map_err(io_at(&path))?;
    fs::remove_file(&draft).map_err(io_at(&draft))?;
    tell(&format!("{}: {} bytes sealed", kept.name, stored.bytes));
    Ok(stored)
}

fn check_database(path: &Path, data: &Path, kept: &Kept) -> Result<VaultState, BackupError> {
    let secret = read_private(&data.join(kept.secret))?;
    let secret: &[u8; 32] = secret.as_slice().try_into().map_err(|_| DataDirError::Length {
        path: data.join(kept.secret).display().to_string(),
        found: secret.len(),
        expected: 32,
    })?;
    (kept.check)(path, secret).map_err(store_at(path))
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

fn open_manifest(from: &Path, passphrase: &Passphrase) -> Result<(Manifest, Keys), BackupError> {
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

fn sealed_path(from: &Path, name: &str) -> PathBuf {
    from.join(format!("{name}.sealed"))
}

fn damaged(path: &Path, how: String) -> BackupError {
    BackupError::Damaged { path: path.display().to_string(), how }
}

fn opened(from: &Path, keys: &Keys, name: &str) -> Result<Opened, BackupError> {
    let path = sealed_path(from, name);
    Opened::begin(&path, keys, name).map_err(io_at(&path))
}

/// Calls `take` with each file of the archive.
fn read_files(
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

/// Restores a backup into the new or empty directory `into`. `finish` is the role's part, with the directory open. The vault, if there is
/// one, has been accepted as an older copy by then.
///
/// # Errors
/// [`BackupError`]. No process starts from `into` then: remove it.
pub fn restore(
    from: &Path,
    into: &Path,
    passphrase: &Passphrase,
    databases: &[Kept],
    now: u64,
    tell: &mut dyn FnMut(&str),
    finish: impl FnOnce(&DataDir, &Manifest) -> Result<(), String>,
) -> Result<Manifest, BackupError> {
    let (manifest, keys) = open_manifest(from, passphrase)?;
    let known =
        |stored: &&Stored| stored.name == FILES || databases.iter().any(|kept| kept.name == stored.name);
    if let Some(other) = manifest.files.iter().find(|stored| !known(stored)) {
        let text = format!(
            "the backup has {}, which this command does not restore: `trefoil restore` is for services and `trefoil key-holder restore` for \
             key-holders",
            other.name
        );
        return Err(BackupError::Role(text));
    }
    data_dir::make(into)?;
    make_empty(into)
        .map_err(|refused| refused.unwrap_or_else(|| BackupError::Over(into.display().to_string())))?;
    // Only its name counts, so it needs no draft: a kill leaves an empty directory, or one from which no process starts.
    put_within(
        into,
        DataDir::UNFINISHED,
        b"a restore began here and did not end: remove this directory and repeat it\n",
    )?;
    sync_directory(into)?;
    let mut restored = 0;
    read_files(from, &keys, |name, bytes| {
        restored += 1;
        put_within(into, name, bytes)
    })?;
    tell(&format!("{restored} files"));
    for stored in manifest.files.iter().filter(|stored| stored.name != FILES) {
        let path = into.join(&stored.name);
        let mut file = create(&path).map_err(io_at(&path))?;
        let copied = io::copy(&mut opened(from, &keys, &stored.name)?, &mut file);
        copied.map_err(|cause| damaged(&sealed_path(from, &stored.name), cause.to_string()))?;
        file.sync_all().map_err(io_at(&path))?;
        tell(&format!("{}: restored", stored.name));
    }
    let directory = DataDir::open_unfinished(into)?;
    for kept in databases.iter().filter(|kept| into.join(kept.name).exists()) {
        check_database(&into.join(kept.name), into, kept)?;
        directory.begin_mark(&format!("{}.mark", kept.name))?;
    }
    if into.join(VAULT_FILE).exists() {
        let state = take_vault(&directory, now)?;
        tell(&format!(
            "the vault counts as an older copy that was taken, {} times in all; every later seal shows that",
            state.restored
        ));
    }
    finish(&directory, &manifest).map_err(BackupError::Role)?;
    drop(directory);
    sync_directory(into)?;
    let unfinished = into.join(DataDir::UNFINISHED);
    fs::remove_file(&unfinished).map_err(io_at(&unfinished))?;
    sync_directory(into)?;
    Ok(manifest)
}

/// Accepts the restored vault as an older copy, and notes it in the job log.
fn take_vault(directory: &DataDir, now: u64) -> Result<VaultState, BackupError> {
    let path = directory.join(VAULT_FILE);
    let secret = directory.secret::<32>(VAULT.secret)?;
    let file = directory.database(VAULT_FILE)?;
    let vault = SqliteVault::open_under(&Supervisor::default(), file, &secret).map_err(store_at(&path))?;
    let log = match job_log::exists(directory.path())? {
        true => {
            directory.begin_mark(job_log::MARK_FILE)?;
            Some(JobLog::open(directory)?)
        }
        false => None,
    };
    if let Some(log) = &log {
        vault.follow(log.count());
    }
    let counted = log.as_ref().map_or(0, |log| log.head().vault);
    let remembered = VaultState { generation: vault.state().generation.max(counted), restored: 0 };
    vault.accept_older(remembered).map_err(store_at(&path))?;
    let state = vault.state();
    if let Some(log) = log {
        let mut entry = Entry::begun(now, "the one who restored it");
        (entry.op, entry.outcome) = ("restore".to_owned(), "done".to_owned());
        entry.vault = state.generation;
        log.append(entry).map_err(io_at(directory.path()))?;
    }
    vault.checkpoint().map_err(store_at(&path))?;
    Ok(state)
}

/// Makes a directory, or uses an empty one. An error without a cause means that it is not empty.
fn make_empty(path: &Path) -> Result<(), Option<BackupError>> {
    let failed = |cause| Some(io_at(path)(cause));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    match data_dir::occupant(path).map_err(|cause| Some(cause.into()))? {
        Some(_) => Err(None),
        None => fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(failed),
    }
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), BackupError> {
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
fn put_within(into: &Path, name: &str, bytes: &[u8]) -> Result<(), BackupError> {
    let path = into.join(name);
    let folder = path.parent().unwrap_or(into);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io_at(folder))?;
    let mut file = create(&path).map_err(io_at(&path))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(io_at(&path))?;
    sync_directory(folder)
}

fn sync_directory(path: &Path) -> Result<(), BackupError> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(io_at(path))
}
