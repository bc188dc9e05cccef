//! Backups of a data directory: made while its process runs, encrypted, checked, and restored into an empty directory. The files of a backup are
//! described in [`trefoil_host::backup`]: the archive has keys, certificates, trust roots, the record of the installation and the job log.
//!
//! Two databases in one directory are pinned at one moment ([`Pinned::together`]), so a restored pair is one that a kill could have left.
//! The job log is cut to its length before that moment, so that it never counts more than its vault. Signing keys cannot rotate while they are
//! copied. The marks that reveal an older database are not copied, because a restored database is older and has a count for this.
//!
//! A restored vault counts as an older copy that its operator accepted: `restored` rises, and every later seal shows that. Every process refuses
//! a directory in which a restore did not complete.

use crate::job_log::{self, Entry, HEAD_FILE, JobLog, JobLogError};
use crate::vault::{SqliteVault, VAULT_FILE};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use trefoil_host::backup::{
    Archive, BackupError, FILES, Keys, LogEnd, MANIFEST_FILE, Manifest, Passphrase, Sealing, Stored, create,
    damaged, io_at, make_empty, open_manifest, opened, put, put_within, read_files, sealed_path, store_at,
    sync_directory,
};
use trefoil_matching::{Vault as _, VaultState};
use trefoil_storage::data_dir::{self, DataDir, DataDirError, GITIGNORE, read_private};
use trefoil_storage::database::{Pinned, StoreError};
use trefoil_storage::disk::RESERVE_FILE;
use trefoil_storage::supervisor::Supervisor;
use zeroize::Zeroizing;

/// The file that identifies a data directory.
const RECORD: &str = "installation.toml";
/// Longest file that is read into memory. Files of a data directory have kilobytes, and job logs are read in pieces.
const FILE_BYTES_MAX: u64 = 16 << 20;
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
    let mut archive = Archive::begin(to, &keys)?;
    archive.append(RECORD, &record)?;
    for Listed { name, bytes } in &files {
        let from = data.join(name);
        let content = match job_log::is_file(name) {
            true => whole_lines(&from, *bytes).map_err(io_at(&from))?,
            false => read_private(&from)?,
        };
        archive.append(name, &content)?;
    }
    manifest.files.push(archive.finish()?);
    for (kept, pinned) in there.iter().zip(&pinned) {
        manifest.files.push(seal_database(data, to, &keys, kept, pinned, tell)?);
    }
    drop(pinned);
    let text = manifest.write(&keys);
    put(&to.join(MANIFEST_FILE), text.as_bytes())?;
    sync_directory(to)?;
    Ok(manifest)
}

fn role(cause: JobLogError) -> BackupError {
    BackupError::Role(cause.to_string())
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

/// Every file except databases, locks, drafts, marks, the signed head of a job log and the reserve of the disk. A job log grows; its present length is kept.
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
    let made_again = matches!(name, RECORD | RESERVE_FILE | GITIGNORE | HEAD_FILE | "lock" | "keys.lock");
    !of_a_database && !passing && !made_again
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
    let vault = SqliteVault::open(&Supervisor::default(), file, &secret).map_err(store_at(&path))?;
    let log = match job_log::exists(directory.path()).map_err(role)? {
        true => {
            directory.begin_mark(job_log::MARK_FILE)?;
            Some(JobLog::open(directory).map_err(role)?)
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
