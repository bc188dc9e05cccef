//! The machine's clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Unix seconds. A clock before 1970 is wrong and gives zero, at which no budget is renewed.
pub fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
