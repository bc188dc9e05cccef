//! A sequence lock: readers that never write, beside at most one writer.
//!
//! The version is even while the data is at rest and odd while a writer is active. A reader copies
//! the data and checks the version again: unchanged and even means that no writer was there,
//! and the copy is from one writer. So a reader never writes in order to read and never sees
//! half of one value and half of another.
//!
//! Ordering (after Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?", 2012):
//! the writer's release fence after taking the version makes a reader that sees any of its stores
//! also see the odd version at the second look; the reader's acquire load and acquire fence keep
//! its copies between its two looks. The data are atomics read and written relaxed. `tests/loom.rs`
//! runs this file under a model checker.

use crate::sync::{AtomicU64, Ordering::*, fence};

/// The version of some data that one writer at a time may change.
#[derive(Default)]
pub(crate) struct Version(AtomicU64);

impl Version {
    /// The first look: the version to compare with, unless a writer is there.
    #[inline(always)]
    pub(crate) fn at_rest(&self) -> Option<u64> {
        let version = self.0.load(Acquire);
        version.is_multiple_of(2).then_some(version)
    }

    /// The second look: whether everything read since `version` was seen comes from one writer.
    #[inline(always)]
    pub(crate) fn is_still(&self, version: u64) -> bool {
        fence(Acquire);
        self.0.load(Relaxed) == version
    }

    /// Makes the caller the writer, unless there is one; the version to give to [`Version::leave`].
    #[inline(always)]
    // Not `expect`: the model checker compiles this file with atomics of its own.
    #[allow(
        clippy::disallowed_methods,
        reason = "a writer's own claim of a place that it is about to write; readers write nothing"
    )]
    pub(crate) fn try_enter(&self) -> Option<u64> {
        let version = self.0.load(Relaxed);
        let free = version.is_multiple_of(2);
        if free && self.0.compare_exchange_weak(version, version + 1, Acquire, Relaxed).is_ok() {
            fence(Release);
            return Some(version);
        }
        None
    }

    /// Publishes the stores of the writer that entered at `version`.
    #[inline(always)]
    pub(crate) fn leave(&self, version: u64) {
        self.0.store(version + 2, Release);
    }
}
