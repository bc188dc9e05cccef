//! What to measure.

use std::time::Duration;

use trefoil_matching::Tier;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct RemoteRole {
    /// Timed rounds; in each, every candidate decides two batches.
    pub iterations: usize,
    /// Rounds before that.
    pub warmup: usize,
    /// Threads that ask at the same time when throughput is measured.
    pub workers: usize,
    /// Length of one measurement of throughput.
    pub phase: Duration,
    /// Measurements of throughput of each candidate.
    pub repeats: usize,
    /// Highest tier for the matcher. Key-holders compute on the best.
    pub tier: Tier,
}
