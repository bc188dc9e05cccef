//! The data directory: its permissions, the secrets that are made in it once, and the record of the files that belong together.
//!
//! The directory is `0700` and every secret `0600`, and both belong to the user of the process. Anything else is refused
//! rather than repaired, because a secret that others could read must be considered read. One process holds the
//! directory at a time.
//!
//! A file that is made here is noted in `installation.toml`. A noted file that is missing, empty or replaced is
//! refused: a new store, for example, would restart the seal log at 0 under the same keys.

mod error;
mod high_water;
mod inspect;
mod private_file;
mod record;

pub use error::{DataDirError, failed};
pub use high_water::{HighWater, Reached};
pub use inspect::inspect;
pub use private_file::{lock_holder, no_follow, read_private, refuse_exposed, write as write_private};

use private_file::refuse_foreign;
use record::Record;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// An open data directory; dropping it releases the lock.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    /// `None` if it is only looked at.
    lock: Option<File>,
}

/// Closing the file does not suffice: a child that this process is starting has a copy of it until it runs its program.
impl Drop for DataDir {
    fn drop(&mut self) {
        // If this fails, closing the file releases the lock.
        let _ = self.lock.as_ref().map(File::unlock);
    }
}

impl DataDir {
    /// Marks a directory into which a restore has begun and not completed.
    pub const UNFINISHED: &str = "restore.unfinished";
    /// Marks the directory of a further node of a fleet that is being made.
    pub const UNFINISHED_NODE: &str = "node.unfinished";

    /// Opens or creates the directory and takes its lock, for the one process that serves from it.
    pub fn open(path: &Path) -> Result<DataDir, DataDirError> {
        Self::open_with(path, "lock")
    }

    /// Opens or creates the directory and takes only the lock of signing keys and trust root. A running service
    /// does not hold it, because it reads them at its start.
    pub fn open_for_keys(path: &Path) -> Result<DataDir, DataDirError> {
        Self::open_with(path, "keys.lock")
    }

    /// Looks at a directory without its lock. What would be made there has its bytes in memory alone, and nothing is written or noted.
    pub fn look(path: &Path) -> Result<DataDir, DataDirError> {
        if let Some(unfinished) = unfinished(path) {
            return Err(unfinished);
        }
        refuse_file(path)?;
        let metadata = fs::metadata(path).map_err(|cause| failed(path, "read the permissions", cause))?;
        refuse_foreign(path, &metadata)?;
        Record::look(path)?;
        Ok(DataDir { path: path.to_owned(), lock: None })
    }

    /// Whether the directory is only looked at.
    pub fn is_still(&self) -> bool {
        self.lock.is_none()
    }

    /// Opens the directory into which this process restores.
    pub fn open_unfinished(path: &Path) -> Result<DataDir, DataDirError> {
        Self::open_whole_or_not(path, "lock")
    }

    /// Opens a new or empty directory and marks it as the unfinished one of a further node, or opens one that an earlier try
    /// marked. No process starts from it until the mark is removed.
    pub fn open_unfinished_node(path: &Path) -> Result<DataDir, DataDirError> {
        make(path)?;
        let mark = path.join(Self::UNFINISHED_NODE);
        if mark.symlink_metadata().is_err() {
            if let Some(found) = occupant(path)? {
                return Err(DataDirError::Occupied { path: path.display().to_string(), found });
            }
            // Only its name counts, so it needs no draft: a kill leaves an empty directory, or one that is marked.
            let made = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&mark);
            let synced = made.and_then(|_| File::open(path)?.sync_all());
            synced.map_err(|cause| failed(&mark, "write", cause))?;
        }
        Self::open_whole_or_not(path, "lock")
    }

    fn open_with(path: &Path, lock: &str) -> Result<DataDir, DataDirError> {
        unfinished(path).map_or_else(|| Self::open_whole_or_not(path, lock), Err)
    }

    fn open_whole_or_not(path: &Path, lock: &str) -> Result<DataDir, DataDirError> {
        make(path)?;
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
        lock.try_lock().map_err(|_| {
            let holder = lock_holder(&lock_path).map_or(String::new(), |holder| format!(", number {holder}"));
            DataDirError::Locked { path: path.display().to_string(), holder }
        })?;
        let directory = DataDir { path: path.to_owned(), lock: Some(lock) };
        Record::begin(&directory.path)?;
        Ok(directory)
    }

    /// Whether an installation was made in the directory, or files of one are there.
    pub fn is_made(path: &Path) -> bool {
        path.join(record::FILE).exists() || Record::missing(path).is_some()
    }

    /// The process that serves from the directory, by its number, if the system tells.
    pub fn holder(path: &Path) -> Option<u32> {
        lock_holder(&path.join("lock"))
    }

    /// The path of a file in the directory.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A secret of `N` bytes, drawn from the operating system the first time and the same from then on.
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

    /// The bytes of a secret that never changes, if it was made. A secret that is not the one that was made is an error.
    pub fn kept(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, DataDirError> {
        if !self.has(name)? {
            return Ok(None);
        }
        let bytes = read_private(&self.join(name))?;
        self.claim(name, Some(&bytes))?;
        Ok(Some(bytes))
    }

    /// Writes a secret that never changes, once.
    pub fn keep(&self, name: &str, bytes: &[u8]) -> Result<(), DataDirError> {
        self.write(name, bytes)?;
        self.claim(name, Some(bytes))
    }

    fn claim(&self, name: &str, fixed: Option<&[u8]>) -> Result<(), DataDirError> {
        match Record::claims(&self.path, name, fixed)? || self.is_still() {
            true => Ok(()),
            false => Record::claim(&self.path, name, fixed),
        }
    }

    /// Replaces the bytes of a kept file. A crash leaves the old or the new bytes, and both are accepted.
    pub fn replace_kept(&self, name: &str, bytes: &[u8]) -> Result<(), DataDirError> {
        let before = read_private(&self.join(name))?;
        if self.is_still() {
            return Ok(());
        }
        Record::permit(&self.path, name, &[&before, bytes])?;
        self.write(name, bytes)?;
        Record::permit(&self.path, name, &[bytes])
    }

    /// Whether a file exists. A file that was made in this directory must exist and must not be empty.
    pub fn has(&self, name: &str) -> Result<bool, DataDirError> {
        let path = self.join(name);
        let how = match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.len() > 0 => return Ok(true),
            Ok(_) => "empty",
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => "missing",
            Err(cause) => return Err(failed(&path, "read the permissions", cause)),
        };
        match Record::read(&self.path)?.has(name) {
            true => {
                Err(DataDirError::Lost { path: path.display().to_string(), how, loss: record::loss(name) })
            }
            false => Ok(how == "empty"),
        }
    }

    /// Notes that a file was made in this directory. Its content may change, but the file must stay.
    pub fn note(&self, name: &str) -> Result<(), DataDirError> {
        self.claim(name, None)
    }

    /// A database of this directory, and the directory's record of it. Call [`DataDir::note`] once it is open.
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
        let (exists, is_still) = (Record::read(&self.path)?.has(name), self.is_still());
        let mark = (exists || !is_still).then(|| self.high_water(&format!("{name}.mark"))).transpose()?;
        Ok(DatabaseFile { path: self.join(name), exists, is_still, mark })
    }

    /// The mark of this name, which begins at 0 the first time.
    pub fn high_water(&self, name: &str) -> Result<HighWater, DataDirError> {
        if !self.has(name)? {
            self.begin_mark(name)?;
        }
        self.note(name)?;
        HighWater::open(&self.join(name))
    }

    /// Begins a mark at 0, even if one was noted, because its database was restored.
    pub fn begin_mark(&self, name: &str) -> Result<(), DataDirError> {
        self.write(name, &HighWater::begun(&self.join(name))?)
    }

    /// The bytes of a file that may change or be removed, written from `make` if it is missing.
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
        if self.is_still() { Ok(()) } else { make_plain(&self.join(name)) }
    }

    /// Removes a file, if it exists.
    pub fn remove(&self, name: &str) -> Result<(), DataDirError> {
        let path = self.join(name);
        match fs::remove_file(&path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(failed(&path, "remove", cause)),
            _ => Ok(()),
        }
    }

    /// Writes a `0600` file so that a crash leaves either no file or all of it.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), DataDirError> {
        if self.is_still() { Ok(()) } else { private_file::write(&self.path, name, bytes) }
    }
}

/// Keeps the secrets of a directory out of a repository that it is made in.
pub const GITIGNORE: &str = ".gitignore";

/// Makes a directory for secrets that only its owner may use, if it is missing. Git ignores what will be in it.
pub fn make(path: &Path) -> Result<(), DataDirError> {
    if path.exists() {
        return make_plain(path);
    }
    make_plain(path)?;
    let path = path.join(GITIGNORE);
    let file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&path);
    file.and_then(|mut file| file.write_all(b"*\n")).map_err(|cause| failed(&path, "write", cause))
}

fn refuse_file(path: &Path) -> Result<(), DataDirError> {
    match path.is_file() {
        true => Err(DataDirError::NotADirectory { path: path.display().to_string() }),
        false => Ok(()),
    }
}

fn make_plain(path: &Path) -> Result<(), DataDirError> {
    refuse_file(path)?;
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|cause| failed(path, "create the directory", cause))
}

/// The name of an entry of a directory, but for the one that [`make`] makes.
pub fn occupant(path: &Path) -> Result<Option<String>, DataDirError> {
    let names = fs::read_dir(path).and_then(|entries| {
        entries.map(|entry| Ok(entry?.file_name().display().to_string())).collect::<io::Result<Vec<_>>>()
    });
    let names = names.map_err(|cause| failed(path, "list", cause))?;
    Ok(names.into_iter().find(|name| name != GITIGNORE))
}

/// Why a directory is not whole yet, or `None`.
fn unfinished(path: &Path) -> Option<DataDirError> {
    let has = |mark: &str| path.join(mark).symlink_metadata().is_ok();
    let path = path.display().to_string();
    if has(DataDir::UNFINISHED) {
        return Some(DataDirError::Unfinished { path });
    }
    has(DataDir::UNFINISHED_NODE).then_some(DataDirError::UnfinishedNode { path })
}

/// A database file and its directory's record of it. A path alone has no record.
#[derive(Debug)]
pub struct DatabaseFile {
    /// The file.
    pub path: PathBuf,
    /// Whether it was made before; then a file without tables is not a new one.
    pub exists: bool,
    /// Whether it is only looked at.
    pub is_still: bool,
    /// The mark that also has its count of transactions.
    pub mark: Option<HighWater>,
}

impl<T: AsRef<Path> + ?Sized> From<&T> for DatabaseFile {
    fn from(path: &T) -> DatabaseFile {
        DatabaseFile { path: path.as_ref().to_owned(), exists: false, is_still: false, mark: None }
    }
}

#[cfg(test)]
mod tests;
