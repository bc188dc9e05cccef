//! Counters that one thread writes and others read.

use crate::sync::{AtomicU64, Ordering::Relaxed};

/// Adds to a counter whose only writer is the caller. A plain load and store: exact because nobody else writes, and
/// readers see the count rise and never fall. `tests/loom.rs` runs this under a model checker.
#[inline(always)]
pub(crate) fn bump(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}
