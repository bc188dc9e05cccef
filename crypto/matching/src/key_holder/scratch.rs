//! State of each deciding thread: scratch memory and a generator.

use rand::CryptoRng;
use std::cell::RefCell;
#[expect(clippy::disallowed_types, reason = "once for each thread, and at enrolment")]
use std::sync::{Mutex, MutexGuard};
use thread_local::ThreadLocal;
use trefoil_bfv::{Decryptor, Drbg, Scheme};

/// All per-thread state.
pub(crate) struct Threads {
    scratch: ThreadLocal<RefCell<Scratch>>,
    /// Seeds the generators of the threads, and draws what is drawn at enrolment.
    #[expect(clippy::disallowed_types, reason = "once for each thread, and at enrolment")]
    rng: Mutex<Drbg>,
}

/// Scratch memory of one thread. Wiped after each batch.
pub(crate) struct Scratch {
    pub(crate) decryptor: Decryptor,
    pub(crate) rng: Drbg,
}

impl Threads {
    pub(crate) fn new(rng: &mut impl CryptoRng) -> Threads {
        Threads { scratch: ThreadLocal::new(), rng: Drbg::from_rng(rng).into() }
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

    /// The generator behind all others.
    pub(crate) fn rng(&self) -> MutexGuard<'_, Drbg> {
        self.rng.lock().expect("no thread panicked while it drew")
    }
}
