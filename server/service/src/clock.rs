//! The wall clock and the monotonic clock of the process.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use trefoil_pipeline::Clock;

/// The machine's clocks.
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock(Instant::now())
    }
}

impl Clock for SystemClock {
    fn unix_s(&self) -> u64 {
        // A clock before 1970 is wrong. Zero makes every request stale, so nothing is accepted.
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }

    fn monotonic_ns(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a worker waits so that its answer takes as long as others do"
    )]
    fn wait_until(&self, monotonic_ns: u64) {
        std::thread::sleep(Duration::from_nanos(monotonic_ns.saturating_sub(self.monotonic_ns())));
    }
}
