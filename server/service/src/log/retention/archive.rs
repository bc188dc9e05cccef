//! Files of old seals, for operators who want the signatures later.
//!
//! A file is a CBOR sequence (RFC 8742) of whole seals in their order, `seals-FIRST-LAST.cborseq`. It gets its name once it is on the
//! disk, and never changes after that. The service reads it only after a restart, to check that it is complete.

use super::RetentionError;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// A directory of such files.
pub(super) struct Archive(PathBuf);

impl Archive {
    pub(super) fn new(directory: PathBuf) -> Archive {
        Archive(directory)
    }

    /// Makes sure that a file has `bytes`, the seals from `first` to `last`, and is on the disk. Returns whether it was made now. A file of
    /// the whole group, which begins at `group`, is from before a restart in the middle of pruning the group.
    pub(super) fn keep(
        &self,
        group: u64,
        first: u64,
        last: u64,
        bytes: &[u8],
    ) -> Result<bool, RetentionError> {
        for first in [group, first] {
            let path = self.path(first, last);
            match std::fs::read(&path) {
                Ok(kept) if kept.ends_with(bytes) => return Ok(false),
                Ok(_) => {
                    let cause = "has other seals than the store under this name; move it away, and find out who wrote it";
                    return Err(failed(&path, cause));
                }
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                Err(cause) => return Err(failed(&path, cause)),
            }
        }
        let path = self.path(first, last);
        self.write(&path, bytes).map_err(|cause| failed(&path, cause))?;
        Ok(true)
    }

    fn path(&self, first: u64, last: u64) -> PathBuf {
        self.0.join(format!("seals-{first:020}-{last:020}.cborseq"))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let draft = path.with_extension("draft");
        match std::fs::remove_file(&draft) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
            _ => {}
        }
        let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&draft)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        if let Err(cause) = written {
            // Do not leave half a file on a full disk.
            let _ = std::fs::remove_file(&draft);
            return Err(cause);
        }
        std::fs::rename(&draft, path)?;
        File::open(&self.0)?.sync_all()
    }
}

fn failed(path: &Path, cause: impl ToString) -> RetentionError {
    RetentionError::Archive { path: path.display().to_string(), cause: cause.to_string() }
}
