//! The model's request, inputs and output.

use super::calibrate::Primitives;
use super::chains::CHAINS;
use super::machine::{Core, Machine, Transfer, Waiting};
use super::programs::Alone;
use crate::ladder::{LADDER, Rung};
use crate::paired::Interval;
use std::path::PathBuf;
use std::time::Duration;

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Simulate {
    /// Numbers of workers to predict for the target machines.
    pub workers: Vec<usize>,
    /// Work between two look-ups in the pipeline's curves, nanoseconds.
    pub think_ns: f64,
    /// Places in memory at which everything is measured.
    pub instances: usize,
    /// Runs tried for each measured value at each place.
    pub tries: usize,
    /// Length of one run.
    pub duration: Duration,
    /// Seed of the model and the requests.
    pub seed: u64,
    /// Folder in which to draw the curves, if the model passed its check.
    pub svg: Option<PathBuf>,
}

/// Largest error of a prediction that passes.
pub(super) const ERROR_MAX: f64 = 0.15;

/// The measurements on this machine for the model.
pub(super) struct Calibration {
    pub primitives: Primitives,
    /// The share of a transfer that a request takes, by the chains, and their times as the model then has them.
    pub request: f64,
    pub chains: [f64; CHAINS.len()],
    /// What a look-up whose shard is elsewhere costs besides the transfer, by look-ups in a small map.
    pub claim_more: f64,
    pub alone: Alone,
}

/// One prediction beside what was measured and its 95 % interval, nanoseconds per look-up and worker.
pub(super) struct Checked {
    pub workers: usize,
    pub name: &'static str,
    pub predicted: f64,
    pub measured: Option<Interval>,
}

impl Checked {
    pub(super) fn error(&self) -> Option<f64> {
        self.measured.map(|measured| self.predicted / measured.mean - 1.0)
    }

    pub(super) fn passed(&self) -> bool {
        self.error().is_some_and(|error| error.abs() <= ERROR_MAX)
    }
}

/// One rung on one target machine: throughput for each number of workers.
pub(super) struct Curve {
    pub machine: &'static str,
    pub source: &'static str,
    /// Work between look-ups, nanoseconds.
    pub think_ns: f64,
    pub name: &'static str,
    pub points: Vec<(usize, f64)>,
}

/// The rungs that are to be predicted, with the raw map before them.
pub(super) fn predicted_rungs() -> impl Iterator<Item = Option<Rung>> {
    std::iter::once(None).chain(LADDER.map(Some))
}

/// A rung's name.
pub(super) fn name(rung: Option<Rung>) -> &'static str {
    rung.map_or("raw", Rung::name)
}

/// Increments for which a core keeps a line that it has waited for: the one, and what it takes, at the slow end of the fifth
/// by which work varies, for one that follows at once to find it.
const HOLD: f64 = 1.25;

pub(super) fn host(primitives: &Primitives, request: f64, claim_more: f64) -> Machine {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let transfer = primitives.transfer();
    let Primitives { poll, call, wake, .. } = *primitives;
    Machine {
        name: "host",
        source: "measured",
        sockets: 1,
        cores_per_socket: cores,
        cores_per_cluster: cores,
        transfer: Transfer { in_cluster: transfer, in_socket: transfer, across_sockets: transfer },
        core: Core { request, hold: HOLD * primitives.increment, claim_more },
        waiting: Waiting { poll, call, wake },
    }
}
