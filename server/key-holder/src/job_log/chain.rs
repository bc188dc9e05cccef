//! The files of the log: lines, each with the digest of the one before.

use super::entry::Entry;
use super::error::{JobLogError, failed};
use sha3::{Digest as _, Sha3_256};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use trefoil_contents::parse_error;
use trefoil_storage::data_dir::{Reached, no_follow};

/// The end of the chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Lines so far.
    pub next: u64,
    /// Digest of the last.
    pub digest: [u8; 32],
    /// Transactions of the vault on the disk, by the last line.
    pub vault: u64,
}

impl Head {
    pub(super) fn reached(&self) -> Reached {
        Reached { count: self.next, digest: self.digest }
    }
}

/// The end of the chain after a file, or `None` for an empty one. Without `before` its first line is trusted. `each` gets every line.
pub(super) fn check_file(
    path: &Path,
    mut before: Option<Head>,
    each: &mut dyn FnMut(&Entry, Head),
) -> Result<Option<Head>, JobLogError> {
    let text = std::fs::read(path).map_err(|cause| failed(path, cause))?;
    let mut after = None;
    for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let broken =
            |cause: String| JobLogError::Broken { path: path.display().to_string(), line: index + 1, cause };
        let line = line.strip_suffix(b"\n").ok_or_else(|| broken("it has no end".to_owned()))?;
        let entry: Entry = serde_json::from_slice(line).map_err(|cause| broken(parse_error(cause)))?;
        let follows = |head: Head| entry.n == head.next && entry.prev == hex::encode(head.digest);
        if !before.is_none_or(follows) {
            return Err(broken("it does not follow from the line before".to_owned()));
        }
        let head = Head { next: entry.n + 1, digest: Sha3_256::digest(line).into(), vault: entry.vault };
        each(&entry, head);
        (before, after) = (Some(head), Some(head));
    }
    Ok(after)
}

/// Whether the newest file has the last written line, or begins with the one after it.
pub(super) fn continues(path: &Path, reached: Reached) -> Result<bool, JobLogError> {
    let Some(last) = reached.count.checked_sub(1) else { return Ok(true) };
    let text = match std::fs::read(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(false),
        read => read.map_err(|cause| failed(path, cause))?,
    };
    let entries = text.split(|byte| *byte == b'\n').filter_map(|line| {
        let entry: Entry = serde_json::from_slice(line).ok()?;
        Some((entry, line))
    });
    let found = entries.take_while(|(entry, _)| entry.n <= reached.count).any(|(entry, line)| {
        (entry.n == last && Sha3_256::digest(line)[..] == reached.digest)
            || (entry.n == reached.count && entry.prev == hex::encode(reached.digest))
    });
    Ok(found)
}

/// Removes the bytes after the last newline and returns their number.
pub(super) fn cut_torn_line(path: &Path) -> io::Result<usize> {
    let text = std::fs::read(path)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if whole < text.len() {
        OpenOptions::new().write(true).open(path)?.set_len(whole as u64)?;
    }
    Ok(text.len() - whole)
}

/// The file whose first line is number `next`.
pub(super) fn file_path(directory: &Path, next: u64) -> PathBuf {
    directory.join(format!("jobs-{next:016}.log"))
}

pub(super) fn files(directory: &Path) -> Result<Vec<PathBuf>, JobLogError> {
    let entries = std::fs::read_dir(directory).map_err(|cause| failed(directory, cause))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_file))
        .collect();
    files.sort();
    Ok(files)
}

/// Whether a file of a data directory is one of the log's.
pub(crate) fn is_file(name: &str) -> bool {
    name.starts_with("jobs-") && name.ends_with(".log")
}

/// Whether a directory has a log.
pub(crate) fn exists(directory: &Path) -> Result<bool, JobLogError> {
    Ok(!files(directory)?.is_empty())
}

pub(super) fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(no_follow()).open(path)
}
