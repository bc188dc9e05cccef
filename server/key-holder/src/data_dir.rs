//! The data directory: who may read it, and the secrets that are made in it once.
//!
//! The directory is `0700` and every secret `0600`; wider permissions are refused rather than repaired, because a
//! secret that others could read has to be considered read. One process holds the directory at a time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;
use zeroize::Zeroizing;

/// An open data directory; dropping it releases the lock.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    _lock: File,
}

/// Why the directory or a file in it cannot be used.
#[derive(Debug, Error)]
pub enum DataDirError {
    /// An operation of the file system failed.
    #[error("{path}: cannot {operation}: {cause}")]
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
    /// Opens or creates the directory and takes its lock: for the one process that serves from it.
    pub fn open(path: &Path) -> Result<DataDir, DataDirError> {
        Self::open_with(path, "lock")
    }

    /// Opens or creates the directory and takes the lock of signing keys and trust root only, which a running service
    /// does not hold: it reads them when it starts.
    pub fn open_for_keys(path: &Path) -> Result<DataDir, DataDirError> {
        Self::open_with(path, "keys.lock")
    }

    fn open_with(path: &Path, lock: &str) -> Result<DataDir, DataDirError> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|cause| failed(path, "create the directory", cause))?;
        refuse_exposed(path)?;
        let lock_path = path.join(lock);
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&lock_path)
            .map_err(|cause| failed(&lock_path, "open", cause))?;
        lock.try_lock().map_err(|_| DataDirError::Locked { path: path.display().to_string() })?;
        Ok(DataDir { path: path.to_owned(), _lock: lock })
    }

    /// The path of a file in the directory.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A secret of `N` bytes, drawn from the operating system the first time.
    pub fn secret<const N: usize>(&self, name: &str) -> Result<Zeroizing<[u8; N]>, DataDirError> {
        let bytes = self.file(name, || {
            let mut bytes = Zeroizing::new(vec![0; N]);
            aws_lc_rs::rand::fill(&mut bytes).expect("the operating system's random source answers");
            bytes
        })?;
        let array = bytes.as_slice().try_into().map_err(|_| DataDirError::Length {
            path: self.join(name).display().to_string(),
            found: bytes.len(),
            expected: N,
        })?;
        Ok(Zeroizing::new(array))
    }

    /// The bytes of a secret file, written from `make` the first time.
    pub fn file(
        &self,
        name: &str,
        make: impl FnOnce() -> Zeroizing<Vec<u8>>,
    ) -> Result<Zeroizing<Vec<u8>>, DataDirError> {
        let path = self.join(name);
        match fs::read(&path) {
            Ok(bytes) => {
                refuse_exposed(&path)?;
                Ok(Zeroizing::new(bytes))
            }
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                let bytes = make();
                self.write(name, &bytes)?;
                Ok(bytes)
            }
            Err(cause) => Err(failed(&path, "read", cause)),
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
            let mut file =
                OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&draft, &path)?;
            File::open(path.parent().unwrap_or(&self.path))?.sync_all()
        };
        write().map_err(|cause| failed(&path, "write", cause))
    }
}

fn failed(path: &Path, operation: &'static str, cause: io::Error) -> DataDirError {
    DataDirError::Io { path: path.display().to_string(), operation, cause }
}

/// Refuses a file or directory that others than the owner may read.
pub fn refuse_exposed(path: &Path) -> Result<(), DataDirError> {
    let metadata = fs::metadata(path).map_err(|cause| failed(path, "read the permissions", cause))?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(DataDirError::Exposed { path: path.display().to_string(), mode });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_made_once_and_private() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        let first = DataDir::open(&path).unwrap().secret::<32>("a.key").unwrap();
        let directory = DataDir::open(&path).unwrap();
        assert_eq!(*first, *directory.secret::<32>("a.key").unwrap());
        assert_ne!(*first, *directory.secret::<32>("b.key").unwrap());
        let mode = fs::metadata(path.join("a.key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(matches!(directory.secret::<16>("a.key"), Err(DataDirError::Length { found: 32, .. })));
    }

    #[test]
    fn an_exposed_secret_and_a_second_process_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        let directory = DataDir::open(&path).unwrap();
        directory.secret::<32>("a.key").unwrap();
        fs::set_permissions(path.join("a.key"), fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(directory.secret::<32>("a.key"), Err(DataDirError::Exposed { mode: 0o640, .. })));
        assert!(matches!(DataDir::open(&path), Err(DataDirError::Locked { .. })));
    }
}
