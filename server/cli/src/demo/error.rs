//! Why the demonstration failed.

use std::path::PathBuf;
use thiserror::Error;
use trefoil_client::ClientError;

/// Why the demonstration did not complete.
#[derive(Debug, Error)]
pub enum DemoError {
    /// The data set cannot be used.
    #[error("data set in {}: {cause}; --data takes a directory with x.npy and y.npy, such as bench/data/lfw_arcface512 of the source tree or the one in the archive trefoil-faces of a release", path.display())]
    Data {
        /// The directory.
        path: PathBuf,
        /// The fault.
        cause: String,
    },
    /// Too few or too many people.
    #[error("--people {wanted}: give 2 to {available}, the number of people in the data set")]
    People {
        /// The requested number.
        wanted: usize,
        /// The available number.
        available: usize,
    },
    /// A call to the service failed.
    #[error("{step}: {cause}")]
    Call {
        /// The step.
        step: &'static str,
        /// Why it failed.
        cause: ClientError,
    },
    /// Another step failed.
    #[error("{step}: {cause}")]
    Step {
        /// The step.
        step: &'static str,
        /// Why it failed.
        cause: String,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {cause}; choose another directory with --out", path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// Reason.
        cause: String,
    },
    /// The operator stopped it.
    #[error("interrupted; the temporary data directory was removed")]
    Interrupted,
}

impl DemoError {
    pub(super) fn call(step: &'static str) -> impl FnOnce(ClientError) -> DemoError {
        move |cause| DemoError::Call { step, cause }
    }

    pub(super) fn step(step: &'static str, cause: &dyn std::fmt::Display) -> DemoError {
        DemoError::Step { step, cause: cause.to_string() }
    }
}
