//! The ladder: what each way of observing a cache costs, from three locks to none.
//!
//! (a) with the cheapest pipeline there is, which does nothing but look up: nothing hides the observer;
//! (b) in the whole pipeline, where a look-up is a thousandth of the work.
//!
//! Both compare each rung with the raw map in rounds of raw, rung, rung, raw, keep every run, and give the ratio with
//! its confidence interval.

mod lookups;
mod report;
mod rungs;

use std::time::Duration;

use crate::failure::Failure;
use crate::record::Report;
pub(crate) use lookups::{Lookups, Measured};
pub(crate) use rungs::{LADDER, OverObserver, PARTS, Rung};

/// What to run.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// Threads that look up.
    pub workers: usize,
    /// Length of one run.
    pub duration: Duration,
    /// Rounds of raw, rung, rung, raw.
    pub repeats: usize,
    /// Whether each part is also measured alone.
    pub parts: bool,
    /// Fixes the requests.
    pub seed: u64,
}

/// Climbs the ladder.
///
/// # Errors
/// When this build has no DashMap. Wrong outputs are in the report, not here.
pub fn ladder(parameters: &Ladder) -> Result<Report, Failure> {
    let rungs: Vec<Rung> = LADDER.into_iter().chain(PARTS.into_iter().filter(|_| parameters.parts)).collect();
    let measured = Lookups {
        workers: parameters.workers,
        duration: parameters.duration,
        repeats: parameters.repeats,
        seed: parameters.seed,
    }
    .climb(&rungs)?;
    Ok(report::report(parameters, &measured))
}
