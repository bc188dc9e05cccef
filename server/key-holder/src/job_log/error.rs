//! Why a log is not usable.

use std::io;
use std::path::Path;
use thiserror::Error;
use trefoil_storage::data_dir::DataDirError;

/// Why a log is not usable.
#[derive(Debug, Error)]
pub enum JobLogError {
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The file system failed.
    #[error("{path}: {cause}")]
    Io {
        /// The file.
        path: String,
        /// Reason.
        cause: io::Error,
    },
    /// The chain is broken.
    #[error(
        "{path}, line {line}: {cause}; someone altered the log, or it is damaged: keep a copy, find out who, then restore the whole directory from one backup"
    )]
    Broken {
        /// The file.
        path: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        cause: String,
    },
    /// The signed head is not of these lines.
    #[error(
        "{path} has {found} lines of the job log, and its jobs.head signs {lines} lines that are not among them: the log was cut or replaced, or copied \
         before its jobs.head: copy that first"
    )]
    OtherHead {
        /// The directory.
        path: String,
        /// Lines found.
        found: u64,
        /// Lines signed.
        lines: u64,
    },
    /// Lines that were written are missing.
    #[error(
        "{path} has {found} lines of the job log and {reached} were written, as {by} says, or its last lines are of another log: restore the whole \
         directory from one backup, or, if there is none, make one of it and restore that, which every seal will show"
    )]
    Older {
        /// The directory.
        path: String,
        /// Lines found.
        found: u64,
        /// Lines written.
        reached: u64,
        /// The file that counts them.
        by: &'static str,
    },
}

pub(super) fn failed(path: &Path, cause: io::Error) -> JobLogError {
    JobLogError::Io { path: path.display().to_string(), cause }
}
