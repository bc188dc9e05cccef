//! Whose an entry is, and why one went.

/// A tenant by number. Tenants that have a quota of their own are counted from zero; all others share that of tenant 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tenant(pub u16);

/// Permission to store what was computed after a miss: void once the tenant's entries have been invalidated, so that a
/// value that was obtained under withdrawn conditions is not stored after the withdrawal.
#[cfg(feature = "engine")]
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Ticket {
    pub(crate) tenant: Tenant,
    pub(crate) generation: u64,
}

/// Why an entry left the cache.
#[cfg(feature = "engine")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It made room for another while it was still usable.
    Evicted,
    /// Its time was over.
    Expired,
    /// Its tenant's entries had been invalidated.
    Invalidated,
}
