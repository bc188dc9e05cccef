//! State of each deciding thread: scratch memory, a generator, and totals that only this thread writes.

use crate::LaneSet;
use rand::CryptoRng;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
#[expect(clippy::disallowed_types, reason = "once for each thread, and at enrolment")]
use std::sync::{Mutex, MutexGuard};
use thread_local::ThreadLocal;
use trefoil_bfv::{Decryptor, Drbg, Scheme};

/// All per-thread state.
pub(crate) struct Threads {
    scratch: ThreadLocal<RefCell<Scratch>>,
    counts: ThreadLocal<Counts>,
    /// Seeds the generators of the threads, and draws what is drawn at enrolment.
    #[expect(clippy::disallowed_types, reason = "once for each thread, and at enrolment")]
    rng: Mutex<Drbg>,
}

/// Scratch memory of one thread. Wiped after each batch.
pub(crate) struct Scratch {
    pub(crate) decryptor: Decryptor,
    pub(crate) rng: Drbg,
}

/// Totals of one thread since the process began. Only this thread writes them, so adding is a load and a store.
#[derive(Default)]
pub(crate) struct Counts {
    attempts: AtomicU64,
    failures: AtomicU64,
    enrolments: AtomicU64,
}

impl Threads {
    pub(crate) fn new(rng: &mut impl CryptoRng) -> Threads {
        Threads { scratch: ThreadLocal::new(), counts: ThreadLocal::new(), rng: Drbg::from_rng(rng).into() }
    }

    /// Works with this thread's scratch memory.
    pub(crate) fn scratch<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        let own = self.scratch.get_or(|| {
            let rng = Drbg::from_rng(&mut *self.rng());
            Scratch { decryptor: Decryptor::new(Scheme::shared()), rng }.into()
        });
        work(&mut own.borrow_mut())
    }

    /// Whether this thread has worked with scratch memory.
    #[cfg(test)]
    pub(crate) fn has_scratch(&self) -> bool {
        self.scratch.get().is_some()
    }

    /// Adds to this thread's totals.
    pub(crate) fn count(&self, add: impl FnOnce(&Counts)) {
        add(self.counts.get_or_default());
    }

    /// The generator behind all others.
    pub(crate) fn rng(&self) -> MutexGuard<'_, Drbg> {
        self.rng.lock().expect("no thread panicked while it drew")
    }

    /// Attempts, failures and enrolments of all threads.
    pub(crate) fn totals(&self) -> [u64; 3] {
        self.counts.iter().fold([0; 3], |[attempts, failures, enrolments], counts| {
            [
                attempts + counts.attempts.load(Relaxed),
                failures + counts.failures.load(Relaxed),
                enrolments + counts.enrolments.load(Relaxed),
            ]
        })
    }
}

impl Counts {
    /// A batch of these lanes was admitted.
    pub(crate) fn attempted(&self, occupied: LaneSet) {
        add(&self.attempts, occupied.len());
    }

    /// This many lanes of a batch failed.
    pub(crate) fn failed(&self, lanes: usize) {
        add(&self.failures, lanes);
    }

    pub(crate) fn enrolled(&self) {
        add(&self.enrolments, 1);
    }
}

fn add(total: &AtomicU64, more: usize) {
    total.store(total.load(Relaxed) + more as u64, Relaxed);
}
