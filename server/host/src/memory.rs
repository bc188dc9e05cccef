//! Keeps a process's memory out of files: no core dump, no reading by other processes, no swap.

use rustix::io::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};
use std::io;

/// Forbids core dumps and reading by other processes of the same user, and locks all present and future memory on use.
///
/// # Errors
/// When core dumps cannot be forbidden, which every Linux allows.
pub fn protect() -> io::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    if let Err(cause) = lock() {
        match std::fs::read_to_string("/proc/swaps").is_ok_and(|swaps| swaps.lines().count() > 1) {
            true => {
                tracing::warn!(%cause, "memory is not locked, so keys may reach swap space: set LimitMEMLOCK=infinity")
            }
            false => tracing::info!(%cause, "memory is not locked; this machine has no swap space now"),
        }
    }
    Ok(())
}

/// With a limit, allocations beyond it would fail instead of staying unlocked, so then nothing is locked.
fn lock() -> io::Result<()> {
    if getrlimit(Resource::Memlock).current.is_some() {
        let unlimited = Rlimit { current: None, maximum: None };
        setrlimit(Resource::Memlock, unlimited).map_err(|_| Errno::PERM)?;
    }
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT)?)
}
