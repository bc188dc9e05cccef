//! The locks of the exhibits. The published account uses parking_lot's.

use std::sync::PoisonError;
#[expect(clippy::disallowed_types, reason = "the lock is the exhibit: its cost is the result")]
use std::sync::RwLock;

use clap::ValueEnum;

#[cfg(test)]
use super::census;

/// Which library's locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LockFamily {
    /// The standard library's: a hundred polls, then sleep until woken.
    Std,
    /// parking_lot's, which the published account uses: some tens of polls with growing pauses, then sleep in a queue. The
    /// first thread that comes may take a lock that was released.
    #[default]
    ParkingLot,
}

impl LockFamily {
    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            LockFamily::Std => "std",
            LockFamily::ParkingLot => "parking_lot",
        }
    }
}

/// A family of reader-writer locks.
pub trait Locks: Send + Sync + 'static {
    /// Its lock around a `T`.
    type Of<T: Default + Send + Sync + 'static>: Lock<T>;
}

/// A reader-writer lock.
pub trait Lock<T>: Default + Send + Sync + 'static {
    /// Does `work` with the lock taken for writing.
    fn write<R>(&self, work: impl FnOnce(&mut T) -> R) -> R;

    /// Does `work` with the lock taken for writing if it is free, and nothing otherwise.
    fn try_write(&self, work: impl FnOnce(&mut T));

    /// Does `work` with the lock taken for reading.
    fn read<R>(&self, work: impl FnOnce(&T) -> R) -> R;
}

/// `std::sync::RwLock`.
pub struct Std;

impl Locks for Std {
    #[expect(clippy::disallowed_types, reason = "the lock is the exhibit")]
    type Of<T: Default + Send + Sync + 'static> = RwLock<T>;
}

#[expect(clippy::disallowed_types, reason = "the lock is the exhibit")]
impl<T: Default + Send + Sync + 'static> Lock<T> for RwLock<T> {
    #[inline(always)]
    fn write<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        #[cfg(test)]
        census::locked();
        work(&mut RwLock::write(self).unwrap_or_else(PoisonError::into_inner))
    }

    #[inline(always)]
    fn try_write(&self, work: impl FnOnce(&mut T)) {
        #[cfg(test)]
        census::tried();
        if let Ok(mut held) = RwLock::try_write(self) {
            work(&mut held);
        }
    }

    #[inline(always)]
    fn read<R>(&self, work: impl FnOnce(&T) -> R) -> R {
        work(&RwLock::read(self).unwrap_or_else(PoisonError::into_inner))
    }
}

/// `parking_lot::RwLock`.
pub struct ParkingLot;

impl Locks for ParkingLot {
    #[expect(clippy::disallowed_types, reason = "the lock is the exhibit")]
    type Of<T: Default + Send + Sync + 'static> = parking_lot::RwLock<T>;
}

#[expect(clippy::disallowed_types, reason = "the lock is the exhibit")]
impl<T: Default + Send + Sync + 'static> Lock<T> for parking_lot::RwLock<T> {
    #[inline(always)]
    fn write<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        #[cfg(test)]
        census::locked();
        work(&mut parking_lot::RwLock::write(self))
    }

    #[inline(always)]
    fn try_write(&self, work: impl FnOnce(&mut T)) {
        #[cfg(test)]
        census::tried();
        if let Some(mut held) = parking_lot::RwLock::try_write(self) {
            work(&mut held);
        }
    }

    #[inline(always)]
    fn read<R>(&self, work: impl FnOnce(&T) -> R) -> R {
        work(&parking_lot::RwLock::read(self))
    }
}
