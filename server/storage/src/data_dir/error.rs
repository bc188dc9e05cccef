//! Why a directory, or a file in it, cannot be used.

use std::io;
use std::path::Path;
use thiserror::Error;

/// Why the directory or a file in it cannot be used.
#[derive(Debug, Error)]
pub enum DataDirError {
    /// An operation of the file system failed.
    #[error("{path}: cannot {operation}: {cause}; check the path, the disk, and that this user may do it")]
    Io {
        /// File or directory.
        path: String,
        /// The operation.
        operation: &'static str,
        /// The operating system's reason.
        cause: io::Error,
    },
    /// A file in place of the directory.
    #[error("{path} is a file, not a directory; name the directory")]
    NotADirectory {
        /// The file.
        path: String,
    },
    /// Another process has it open.
    #[error("{path} is used by another trefoil process{holder}; stop that one or give another --data-dir")]
    Locked {
        /// The directory.
        path: String,
        /// Its number, if the system tells.
        holder: String,
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
    /// A file that was made in this directory is missing or empty.
    #[error(
        "{path} is {how}, and it was made in this directory. Without it {loss}. Restore the whole directory from one backup"
    )]
    Lost {
        /// The file.
        path: String,
        /// `missing` or `empty`.
        how: &'static str,
        /// What would happen if it were made again.
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
    /// The record of the directory is missing.
    #[error(
        "{path} is missing beside {beside}. Without it nobody knows which files belong together. Restore the whole directory from one backup"
    )]
    Incomplete {
        /// The record.
        path: String,
        /// A file that is made after it.
        beside: String,
    },
    /// The record of the directory cannot be read.
    #[error("{path}: {cause}; restore the whole directory from one backup")]
    Record {
        /// The record.
        path: String,
        /// Reason.
        cause: String,
    },
    /// A restore into the directory did not complete.
    #[error(
        "{path}: a restore into this directory did not end, so it is not whole; remove the directory, and restore again into a new one"
    )]
    Unfinished {
        /// The directory.
        path: String,
    },
    /// The directory of a further node is not whole.
    #[error(
        "{path}: `trefoil keys add-node` into this directory did not end, so it is not whole; repeat the command with the same two directories"
    )]
    UnfinishedNode {
        /// The directory.
        path: String,
    },
    /// A directory that must be new or empty has files.
    #[error("{path} is not empty: it has {found}; name a directory that is new or empty")]
    Occupied {
        /// The directory.
        path: String,
        /// One of its entries.
        found: String,
    },
    /// A secret has a length that no version writes.
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

/// The error of an operation on a file.
pub fn failed(path: &Path, operation: &'static str, cause: io::Error) -> DataDirError {
    DataDirError::Io { path: path.display().to_string(), operation, cause }
}
