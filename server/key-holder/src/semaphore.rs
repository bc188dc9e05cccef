//! A counting semaphore: places for which threads wait.

#![expect(clippy::disallowed_types, reason = "threads wait here for a place")]

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// See the module.
pub(crate) struct Semaphore {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Semaphore {
    pub(crate) fn new(free: usize) -> Semaphore {
        Semaphore { free: Mutex::new(free), freed: Condvar::new() }
    }

    pub(crate) fn take(&self) {
        let free = self.freed.wait_while(self.free(), |free| *free == 0);
        *free.unwrap_or_else(PoisonError::into_inner) -= 1;
    }

    /// Whether there was a place before `deadline`.
    pub(crate) fn take_until(&self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let waited = self.freed.wait_timeout_while(self.free(), left, |free| *free == 0);
        let (mut free, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let there = *free > 0;
        *free -= usize::from(there);
        there
    }

    pub(crate) fn give_back(&self) {
        *self.free() += 1;
        self.freed.notify_one();
    }

    fn free(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_are_in_than_there_are_places() {
        let places = Semaphore::new(2);
        places.take();
        assert!(places.take_until(Instant::now()));
        assert!(!places.take_until(Instant::now()), "both are taken");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| places.take());
            places.give_back();
            waiting.join().unwrap();
        });
        assert!(!places.take_until(Instant::now()));
    }
}
