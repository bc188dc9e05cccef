//! What a tenant's batches came to since the process began. Each thread counts for itself, so adding is a load and a store.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use thread_local::ThreadLocal;

/// What is counted.
#[derive(Clone, Copy)]
pub(crate) enum Count {
    /// Lanes of batches that were admitted.
    Attempts,
    /// Those that failed.
    Failures,
    Enrolments,
    /// Lanes that a spent budget refused an attempt.
    Trips,
    /// Those of them whose templates are of the policy's `previous` model.
    TripsOfPrevious,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Counts(ThreadLocal<[AtomicU64; 5]>);

impl Counts {
    /// Adds to this thread's count.
    pub(crate) fn add(&self, to: Count, more: usize) {
        let own = &self.0.get_or_default()[to as usize];
        own.store(own.load(Relaxed) + more as u64, Relaxed);
    }

    /// The count of all threads.
    pub(crate) fn total(&self, of: Count) -> u64 {
        self.0.iter().map(|own| own[of as usize].load(Relaxed)).sum()
    }
}
