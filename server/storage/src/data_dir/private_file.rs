//! Files that only this process's user may read or replace.

use super::error::{DataDirError, failed};
use rustix::fs::OFlags;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use zeroize::Zeroizing;

/// Writes a `0600` file so that a crash leaves either no file or all of it.
///
/// # Errors
/// [`DataDirError`] names the file and the remedy.
pub fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), DataDirError> {
    let (path, draft) = (folder.join(name), folder.join(format!("{name}.draft")));
    let write = || -> io::Result<()> {
        match fs::remove_file(&draft) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
            _ => {}
        }
        // Never a file that another user put there meanwhile, nor the target of a link.
        let mut file = OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .custom_flags(no_follow())
            .open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, &path)?;
        File::open(path.parent().unwrap_or(folder))?.sync_all()
    };
    write().map_err(|cause| failed(&path, "write", cause))
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

/// The process that has an exclusive lock on a file or a part of it, by its number, if the system tells.
pub fn lock_holder(path: &Path) -> Option<u32> {
    let of = format!(":{}", fs::metadata(path).ok()?.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_of_file = words.get(3) == Some(&"WRITE") && words.get(5)?.ends_with(&of);
        words.get(4).filter(|_| is_of_file)?.parse().ok()
    })
}

/// Opens a file, but no link.
pub fn no_follow() -> i32 {
    // A pipe in place of a file is opened without waiting for its writer.
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()
}

/// Refuses a file or directory that users other than the owner may read.
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
pub(super) fn refuse_foreign(path: &Path, metadata: &Metadata) -> Result<(), DataDirError> {
    let user = rustix::process::geteuid().as_raw();
    refuse_owner(path, metadata.uid(), user)?;
    refuse_readable(path, metadata)
}

pub(super) fn refuse_owner(path: &Path, owner: u32, user: u32) -> Result<(), DataDirError> {
    match owner == user {
        true => Ok(()),
        false => Err(DataDirError::Owner { path: path.display().to_string(), owner, user }),
    }
}
