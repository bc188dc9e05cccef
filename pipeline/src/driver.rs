//! The pipeline's use of the system: worker placement ([`affinity`]), the worker threads ([`Pool`]), and the few threads that are
//! started by name. Nothing else in this crate starts a thread, reads a file or makes a system call; `clippy.toml` refuses it.
#![expect(clippy::disallowed_methods, reason = "the driver is the part that may")]

pub mod affinity;
mod pool;

use std::io;
use std::thread::{Builder, JoinHandle};

use rustix::process::setpriority_process;

pub use pool::{Pool, PoolError};

/// Starts a thread of this name.
///
/// # Errors
/// When the system refuses it.
pub(crate) fn thread<T: Send + 'static>(
    name: impl Into<String>,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name.into()).spawn(work)
}

/// Gives the calling thread the lowest priority. On Linux this applies to this thread only. If the system refuses, it competes with the others.
pub(crate) fn give_way() {
    setpriority_process(None, LEAST_URGENT).unwrap_or_default();
}

const LEAST_URGENT: i32 = 19;
