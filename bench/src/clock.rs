//! The time of the benchmark's world.

use std::time::Instant;

use trefoil_pipeline::Clock;

/// Unix second at which the world of every benchmark begins. Fixed, so that proofs, which name their hour, can be
/// kept on disk and used again; a multiple of the epoch, so that a run of less than an hour stays within it.
pub(crate) const WORLD_START_S: u64 = 498_612 * trefoil_zkp::EPOCH_SECONDS;

/// A clock that starts at [`WORLD_START_S`] and runs as fast as the machine's monotonic clock.
pub(crate) struct WorldClock {
    started: Instant,
}

impl WorldClock {
    /// A clock that starts now.
    pub(crate) fn start() -> Self {
        WorldClock { started: Instant::now() }
    }
}

impl Clock for WorldClock {
    fn unix_s(&self) -> u64 {
        WORLD_START_S + self.started.elapsed().as_secs()
    }

    fn monotonic_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
