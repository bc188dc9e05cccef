//! The times of the parts of an answer, for traces.

use trefoil_pipeline::StageTimes;

/// The times of a login's batch and of its seal, nanoseconds, on the service's clock. They are the same for all lanes of the batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Of the batch.
    pub batch: StageTimes,
    /// How many of its lanes were decided.
    pub lanes: u32,
    /// When its seal was begun.
    pub seal_begun_ns: u64,
    /// How long it took: tree, header, three signatures, their check.
    pub seal_ns: u64,
}
