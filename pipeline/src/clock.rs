//! Time, as the caller supplies it. The crate reads no clock of its own, so a test or a simulation controls time.

/// Source of time.
pub trait Clock: Send + Sync {
    /// Unix time, seconds.
    fn unix_s(&self) -> u64;

    /// No seal is dated before this, Unix seconds.
    fn sealed_from(&self) -> u64 {
        0
    }

    /// Nanoseconds since an arbitrary origin, never decreasing.
    fn monotonic_ns(&self) -> u64;

    /// Returns once [`Clock::monotonic_ns`] has reached this. A clock that a test sets by hand does not wait.
    fn wait_until(&self, _monotonic_ns: u64) {}
}
