//! The data directory: who may read it, the secrets that are made in it once, and the record of what belongs together.
//!
//! The directory is `0700` and every secret `0600`, and both belong to the user of the process; anything else is refused
//! rather than repaired, because a secret that others could read has to be considered read. One process holds the
//! directory at a time.
//!
//! A file that is made here is noted in `installation.toml`. A file that is noted and missing, empty or another one is
//! refused: made anew, a store would begin the seal log again at 0 under the same keys.

mod high_water;
mod inspect;
mod record;

pub use high_water::{HighWater, Reached};
pub use inspect::inspect;

use record::Record;
use rustix::fs::OFlags;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt as _, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;
use zeroize::Zeroizing;

/// An open data directory; dropping it releases the lock.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    lock: File,
}

/// Closing the file would not do: a child that this process is starting has a copy of it until it runs its program.
impl Drop for DataDir {
    fn drop(&mut self) {
        // Should it fail, closing the file releases the lock.
        let _ = self.lock.unlock();
    }
}

/// Why the directory or a file in it cannot be used.
#[derive(Debug, Error)]
pub enum DataDirError {
    /// An operation of the file system failed.
    #[error("{path}: cannot {operation}: {cause}; check the path, the disk, and that this user may do it")]
    Io {
        /// File or directory.
        path: String,
        /// What was tried.
        operation: &'static str,
        /// The operating system's reason.
        cause: io::Error,
    },
    /// Another process has it open.
    #[error("{path} is used by another trefoil process; stop that one or give another --data-dir")]
    Locked {
        /// The directory.
        path: String,
    },
    /// Others may read a secret.
    #[error("{path} is readable by others (mode {mode:o}); check who read it, then `chmod go= {path}`")]
    Exposed {
        /// The file.
        path: String,
        /// Its permission bits.
        mode: u32,
    },
    /// A file or directory that another user could replace.
    #[error(
        "{path} belongs to user {owner} and this process runs as user {user}; run it as user {owner}, or check who wrote the file and \
         `chown {user} {path}`"
    )]
    Owner {
        /// The file.
        path: String,
        /// User id of its owner.
        owner: u32,
        /// User id of this process.
        user: u32,
    },
    /// A link, a directory or a device in place of a file.
    #[error("{path} is not a regular file; put the file itself there, not a link to it")]
    NotAFile {
        /// The file.
        path: String,
    },
    /// A file that was made in this directory is not there, or nothing is in it.
    #[error(
        "{path} is {how}, and it was made in this directory. Without it {loss}. Restore the whole directory from one backup"
    )]
    Lost {
        /// The file.
        path: String,
        /// `missing` or `empty`.
        how: &'static str,
        /// What would happen if it were made anew.
        loss: &'static str,
    },
    /// A secret is not the one that was made in this directory.
    #[error(
        "{path} is not the file that was made in this directory: it was edited, damaged, or comes from another installation. \
         Restore the whole directory from one backup"
    )]
    Other {
        /// The file.
        path: String,
    },
    /// A directory of before the record, in which something is missing.
    #[error(
        "{path} is missing beside {beside}. Without it {loss}. Restore the whole directory from one backup; if nothing was ever served \
         from it, remove the directory"
    )]
    Incomplete {
        /// The missing file.
        path: String,
        /// A file that is there and needs it.
        beside: &'static str,
        /// What would happen if it were made anew.
        loss: &'static str,
    },
    /// The record of the directory cannot be read.
    #[error("{path}: {cause}; restore the whole directory from one backup")]
    Record {
        /// The record.
        path: String,
        /// Reason.
        cause: String,
    },
    /// A restore began in the directory and did not end.
    #[error(
        "{path}: a restore into this directory did not end, so it is not whole; remove the directory, and restore again into a new one"
    )]
    Unfinished {
        /// The directory.
        path: String,
    },
    /// A secret has a length that no version of ours writes.
    #[error("{path} has {found} bytes, expected {expected}; restore it from a backup")]
    Length {
        /// The file.
        path: String,
        /// Its length.
        found: usize,
        /// The right length.
        expected: usize,
    },
}

impl DataDir {
    /// In a directory into which a restore has begun and not ended.
    pub const UNFINISHED: &str = "restore.unfinished";

    /// Opens or creates the directory and takes its lock: for the one process that serves from it.
    pub fn open(path: &Path) -> Result<DataDir, DataDirError> {
        Self::open_with(path, "lock")
    }

    /// Opens or creates the directory and takes the lock of signing keys and trust root only, which a running service
    /// does not hold: it reads them when it starts.
    pub fn open_for_keys(path: &Path) -> Result<DataDir, DataDirError> {
        Self::open_with(path, "keys.lock")
    }

    /// Opens the directory of the restore that this process does.
    pub fn open_unfinished(path: &Path) -> Result<DataDir, DataDirError> {
        Self::open_whole_or_not(path, "lock")
    }

    fn open_with(path: &Path, lock: &str) -> Result<DataDir, DataDirError> {
        match path.join(Self::UNFINISHED).symlink_metadata() {
            Ok(_) => Err(DataDirError::Unfinished { path: path.display().to_string() }),
            Err(_) => Self::open_whole_or_not(path, lock),
        }
    }

    fn open_whole_or_not(path: &Path, lock: &str) -> Result<DataDir, DataDirError> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|cause| failed(path, "create the directory", cause))?;
        let metadata = fs::metadata(path).map_err(|cause| failed(path, "read the permissions", cause))?;
        refuse_foreign(path, &metadata)?;
        let lock_path = path.join(lock);
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .custom_flags(no_follow())
            .open(&lock_path)
            .map_err(|cause| failed(&lock_path, "open", cause))?;
        lock.try_lock().map_err(|_| DataDirError::Locked { path: path.display().to_string() })?;
        let directory = DataDir { path: path.to_owned(), lock };
        Record::begin(&directory)?;
        Ok(directory)
    }

    /// The path of a file in the directory.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A secret of `N` bytes, drawn from the operating system the first time and the same ever after.
    ///
    /// # Panics
    /// When the operating system has no random bytes.
    pub fn secret<const N: usize>(&self, name: &str) -> Result<Zeroizing<[u8; N]>, DataDirError> {
        let bytes = match self.kept(name)? {
            Some(bytes) => bytes,
            None => {
                let mut bytes = Zeroizing::new(vec![0; N]);
                aws_lc_rs::rand::fill(&mut bytes).expect("the operating system's random source answers");
                self.keep(name, &bytes)?;
                bytes
            }
        };
        let array = bytes.as_slice().try_into().map_err(|_| DataDirError::Length {
            path: self.join(name).display().to_string(),
            found: bytes.len(),
            expected: N,
        })?;
        Ok(Zeroizing::new(array))
    }

    /// The bytes of a secret that never changes, if one was made; the one that was made, or an error.
    pub fn kept(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, DataDirError> {
        if !self.has(name)? {
            return Ok(None);
        }
        let bytes = read_private(&self.join(name))?;
        Record::claim(self, name, Some(&bytes))?;
        Ok(Some(bytes))
    }

    /// Writes a secret that never changes, once.
    pub fn keep(&self, name: &str, bytes: &[u8]) -> Result<(), DataDirError> {
        self.write(name, bytes)?;
        Record::claim(self, name, Some(bytes))
    }

    /// Whether a file is there. One that was made in this directory must be, and must not be empty.
    pub fn has(&self, name: &str) -> Result<bool, DataDirError> {
        let path = self.join(name);
        let how = match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.len() > 0 => return Ok(true),
            Ok(_) => "empty",
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => "missing",
            Err(cause) => return Err(failed(&path, "read the permissions", cause)),
        };
        match Record::read(self)?.has(name) {
            true => {
                Err(DataDirError::Lost { path: path.display().to_string(), how, loss: record::loss(name) })
            }
            false => Ok(how == "empty"),
        }
    }

    /// Notes that a file was made in this directory. Its content may change; it may not go.
    pub fn note(&self, name: &str) -> Result<(), DataDirError> {
        Record::claim(self, name, None)
    }

    /// A database of this directory, and what is known of it. [`DataDir::note`] it once it is open.
    pub fn database(&self, name: &str) -> Result<DatabaseFile, DataDirError> {
        self.has(name)?;
        for suffix in ["", "-wal", "-shm"] {
            let path = self.join(&format!("{name}{suffix}"));
            match fs::symlink_metadata(&path) {
                Ok(metadata) if !metadata.is_file() => {
                    return Err(DataDirError::NotAFile { path: path.display().to_string() });
                }
                Ok(metadata) => refuse_foreign(&path, &metadata)?,
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                Err(cause) => return Err(failed(&path, "read the permissions", cause)),
            }
        }
        let exists = Record::read(self)?.has(name);
        Ok(DatabaseFile {
            path: self.join(name),
            exists,
            mark: Some(self.high_water(&format!("{name}.mark"))?),
            migrate: false,
        })
    }

    /// The mark of this name, made at 0 the first time.
    pub fn high_water(&self, name: &str) -> Result<HighWater, DataDirError> {
        if !self.has(name)? {
            self.write(name, &Reached::default().to_bytes())?;
        }
        self.note(name)?;
        HighWater::open(&self.join(name))
    }

    /// Begins a mark at 0, also where one was noted: for what was restored.
    pub fn begin_mark(&self, name: &str) -> Result<(), DataDirError> {
        self.write(name, &Reached::default().to_bytes())
    }

    /// The bytes of a file that may change or go, written from `make` if it is missing.
    pub fn file(
        &self,
        name: &str,
        make: impl FnOnce() -> Zeroizing<Vec<u8>>,
    ) -> Result<Zeroizing<Vec<u8>>, DataDirError> {
        match self.has(name)? || self.join(name).exists() {
            true => read_private(&self.join(name)),
            false => {
                let bytes = make();
                self.write(name, &bytes)?;
                Ok(bytes)
            }
        }
    }

    /// Makes a directory inside, readable by the owner only.
    pub fn make_directory(&self, name: &str) -> Result<(), DataDirError> {
        let path = self.join(name);
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|cause| failed(&path, "create the directory", cause))
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, name: &str) -> Result<(), DataDirError> {
        let path = self.join(name);
        match fs::remove_file(&path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(failed(&path, "remove", cause)),
            _ => Ok(()),
        }
    }

    /// Writes a `0600` file so that a crash leaves either no file or all of it.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), DataDirError> {
        let (path, draft) = (self.join(name), self.join(&format!("{name}.draft")));
        let write = || -> io::Result<()> {
            match fs::remove_file(&draft) {
                Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
                _ => {}
            }
            // Never what somebody else put there meanwhile, nor where a link of theirs leads to.
            let mut file = OpenOptions::new()
                .create_new(true)
                .write(true)
                .mode(0o600)
                .custom_flags(no_follow())
                .open(&draft)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&draft, &path)?;
            File::open(path.parent().unwrap_or(&self.path))?.sync_all()
        };
        write().map_err(|cause| failed(&path, "write", cause))
    }
}

/// A database file and what its directory knows of it. A path alone is one of which nothing is known.
#[derive(Debug)]
pub struct DatabaseFile {
    /// The file.
    pub path: PathBuf,
    /// It was made before, so a file without tables is no new one.
    pub exists: bool,
    /// Where its count of transactions is kept besides.
    pub mark: Option<HighWater>,
    /// A file of an earlier version becomes one of this.
    pub migrate: bool,
}

impl DatabaseFile {
    /// Lets a file of an earlier version become one of this, or not.
    #[must_use]
    pub fn migrating(self, migrate: bool) -> DatabaseFile {
        DatabaseFile { migrate, ..self }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl<T: AsRef<Path> + ?Sized> From<&T> for DatabaseFile {
    fn from(path: &T) -> DatabaseFile {
        DatabaseFile { path: path.as_ref().to_owned(), exists: false, mark: None, migrate: true }
    }
}

/// The bytes of a regular file that only this process's user may read or replace.
///
/// # Errors
/// [`DataDirError`] names the file and the remedy.
pub fn read_private(path: &Path) -> Result<Zeroizing<Vec<u8>>, DataDirError> {
    let not_a_file = || DataDirError::NotAFile { path: path.display().to_string() };
    let mut file = match OpenOptions::new().read(true).custom_flags(no_follow()).open(path) {
        Err(cause) if cause.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(not_a_file());
        }
        opened => opened.map_err(|cause| failed(path, "read", cause))?,
    };
    let metadata = file.metadata().map_err(|cause| failed(path, "read the permissions", cause))?;
    if !metadata.is_file() {
        return Err(not_a_file());
    }
    refuse_foreign(path, &metadata)?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1));
    file.read_to_end(&mut bytes).map_err(|cause| failed(path, "read", cause))?;
    Ok(bytes)
}

/// Opens no link.
pub fn no_follow() -> i32 {
    // A pipe in place of a file is opened without waiting for its writer.
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()
}

/// The error of an operation on a file.
pub fn failed(path: &Path, operation: &'static str, cause: io::Error) -> DataDirError {
    DataDirError::Io { path: path.display().to_string(), operation, cause }
}

/// Refuses a file or directory that others than the owner may read.
pub fn refuse_exposed(path: &Path) -> Result<(), DataDirError> {
    let metadata = fs::metadata(path).map_err(|cause| failed(path, "read the permissions", cause))?;
    refuse_readable(path, &metadata)
}

fn refuse_readable(path: &Path, metadata: &Metadata) -> Result<(), DataDirError> {
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(DataDirError::Exposed { path: path.display().to_string(), mode });
    }
    Ok(())
}

/// Refuses a file or directory of another user, or one that others may read.
fn refuse_foreign(path: &Path, metadata: &Metadata) -> Result<(), DataDirError> {
    let user = rustix::process::geteuid().as_raw();
    refuse_owner(path, metadata.uid(), user)?;
    refuse_readable(path, metadata)
}

fn refuse_owner(path: &Path, owner: u32, user: u32) -> Result<(), DataDirError> {
    match owner == user {
        true => Ok(()),
        false => Err(DataDirError::Owner { path: path.display().to_string(), owner, user }),
    }
}

#[cfg(test)]
mod tests;
