//! Attempt budgets.

/// Failures of one template so far. Kept by the vault across restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptRecord {
    /// Failures in a row.
    pub consecutive: u32,
    /// Unix second before which every attempt is refused.
    pub retry_at: u64,
    /// The day (unix seconds / 86,400) that `day_failures` counts.
    pub day: u64,
    /// Failures on `day`.
    pub day_failures: u32,
    /// Failures in the life of this template generation.
    pub generation_failures: u32,
}
