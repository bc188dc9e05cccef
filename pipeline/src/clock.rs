//! Time, as the caller supplies it. The crate reads no clock of its own, so a test or a simulation controls time.

/// Source of time.
pub trait Clock: Send + Sync {
    /// Unix time, seconds.
    fn unix_s(&self) -> u64;

    /// Nanoseconds since an arbitrary origin, never decreasing.
    fn monotonic_ns(&self) -> u64;
}
