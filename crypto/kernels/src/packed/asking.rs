//! Whether this process prefetches memory.

use std::sync::OnceLock;

/// The result of this process's measurement.
pub(super) static PAYS: OnceLock<bool> = OnceLock::new();

/// Until it is measured, prefetching is on.
pub(crate) fn asking_pays() -> bool {
    PAYS.get().copied().unwrap_or(true)
}
