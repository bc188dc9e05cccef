//! Numbers on the command line, within their bounds.

use trefoil_matching::LANES;

pub(super) fn workers(text: &str) -> Result<usize, String> {
    let workers = text.parse().map_err(|_| "not a number".to_owned())?;
    if (1..=WORKERS_MAX).contains(&workers) { Ok(workers) } else { Err(format!("give 1 to {WORKERS_MAX}")) }
}

pub(super) fn multiple_of_32(text: &str) -> Result<usize, String> {
    let count: usize = text.parse().map_err(|_| "not a number".to_owned())?;
    if count.is_multiple_of(LANES) && (LANES..=USERS_MAX).contains(&count) {
        Ok(count)
    } else {
        Err(format!("give a multiple of {LANES} from {LANES} to {USERS_MAX}, so that every batch is full"))
    }
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.01..=600.0).contains(&seconds) { Ok(seconds) } else { Err("give 0.01 to 600 seconds".to_owned()) }
}

/// Most threads: well above any machine, well below what a typo can request.
const WORKERS_MAX: usize = 1_024;
/// Most templates: 48 GiB of them.
const USERS_MAX: usize = 1 << 20;
