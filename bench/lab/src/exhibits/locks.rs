//! The lock of the exhibits: parking_lot's, as in the published account. It polls some tens of times with growing pauses, and then sleeps
//! in a queue. The first thread that comes may take a lock that was released.

#[cfg(test)]
use super::census;

/// `parking_lot::RwLock`.
#[expect(clippy::disallowed_types, reason = "the lock is the exhibit: its cost is the result")]
#[derive(Default)]
pub(super) struct Locked<T>(parking_lot::RwLock<T>);

impl<T> Locked<T> {
    /// Does `work` with the lock taken for writing.
    #[inline(always)]
    pub(super) fn write<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        #[cfg(test)]
        census::locked();
        work(&mut self.0.write())
    }

    /// Does `work` with the lock taken for writing if it is free, and nothing otherwise.
    #[inline(always)]
    pub(super) fn try_write(&self, work: impl FnOnce(&mut T)) {
        #[cfg(test)]
        census::tried();
        if let Some(mut held) = self.0.try_write() {
            work(&mut held);
        }
    }

    /// Does `work` with the lock taken for reading.
    #[inline(always)]
    pub(super) fn read<R>(&self, work: impl FnOnce(&T) -> R) -> R {
        work(&self.0.read())
    }
}
