//! What this process knows of asking for memory ahead of use.

use std::sync::OnceLock;

/// What was measured in this process.
pub(super) static PAYS: OnceLock<bool> = OnceLock::new();

/// As long as nothing was measured, it pays.
pub(crate) fn asking_pays() -> bool {
    PAYS.get().copied().unwrap_or(true)
}
