//! The cost of an operation: locks waited for, locks tried, additions to shared counters. Tests read it to check the shape of a
//! rung; other builds contain nothing of it.

use std::cell::Cell;

/// Locks and additions of this thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    /// Locks taken for writing, waiting for them if need be.
    pub locks: u32,
    /// Locks that are taken only if they are free.
    pub tries: u32,
    /// Additions to shared atomic counters.
    pub adds: u32,
}

thread_local! {
    static TAKEN: Cell<Census> = const { Cell::new(Census { locks: 0, tries: 0, adds: 0 }) };
}

pub(crate) fn locked() {
    let taken = TAKEN.get();
    TAKEN.set(Census { locks: taken.locks + 1, ..taken });
}

pub(crate) fn tried() {
    let taken = TAKEN.get();
    TAKEN.set(Census { tries: taken.tries + 1, ..taken });
}

pub(crate) fn added() {
    let taken = TAKEN.get();
    TAKEN.set(Census { adds: taken.adds + 1, ..taken });
}

/// The census of `work` on this thread.
pub(crate) fn of(work: impl FnOnce()) -> Census {
    TAKEN.set(Census::default());
    work();
    TAKEN.get()
}
