//! Numbers that some threads leave for another, without waiting.
//!
//! Numbers are left only in an empty inbox, so without a reader there are no writes either. If two threads leave numbers
//! at once, some may be lost and the rest mixed, which is fine for samples, of which there are plenty. `tests/loom.rs` runs this under a model checker.

use crate::sync::{AtomicU64, Ordering::*};

/// Room for `N` numbers.
pub(crate) struct Inbox<const N: usize> {
    /// How many numbers it holds.
    len: AtomicU64,
    numbers: [AtomicU64; N],
}

impl<const N: usize> Inbox<N> {
    pub(crate) fn empty() -> Self {
        Self { len: AtomicU64::new(0), numbers: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len.load(Relaxed) == 0
    }

    /// Leaves as many of `numbers` as there is room for. To be called where [`Inbox::is_empty`].
    pub(crate) fn leave(&self, numbers: impl Iterator<Item = u64>) {
        let len =
            self.numbers.iter().zip(numbers).map(|(place, number)| place.store(number, Relaxed)).count();
        self.len.store(len as u64, Release);
    }

    /// Takes all numbers. To be called by one thread at a time.
    pub(crate) fn take(&self, each: impl FnMut(u64)) {
        let len = self.len.load(Acquire) as usize;
        if len > 0 {
            self.numbers.iter().take(len).map(|place| place.load(Relaxed)).for_each(each);
            self.len.store(0, Release);
        }
    }
}
