//! A model of workers, cores, lines and locks, and what it says of machines that are not here.
//!
//! The model is calibrated by what primitives cost on this machine ([`calibrate`], [`chains`]) and single parts with one
//! worker ([`programs`]), and then has to predict the whole ladder on this machine, with one worker and with as many as there are
//! cores. Where it misses a rung by more than [`ERROR_MAX`], it has not earned a word about other machines, and says none.
//! All that it says is labelled as a model's output.

mod calibrate;
mod chains;
mod events;
mod machine;
mod measurements;
mod model;
mod programs;
mod report;

use std::path::PathBuf;
use std::time::Duration;

use crate::chart;
use crate::failure::Failure;
use crate::ladder::{LADDER, Rung};
use crate::paired::Interval;
use crate::record::Report;
use calibrate::Primitives;
use chains::CHAINS;
use machine::{Core, Machine, Transfer, Waiting};
use measurements::Measurements;
use programs::Alone;

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
    /// Fixes the model's course and the requests.
    pub seed: u64,
    /// Folder in which to draw the curves, if they may be shown.
    pub svg: Option<PathBuf>,
}

/// Largest error of a prediction that passes.
const ERROR_MAX: f64 = 0.15;

/// What was measured on this machine for the model.
struct Calibration {
    primitives: Primitives,
    /// The share of a transfer that a request takes, by the chains, and their times as the model then has them.
    request: f64,
    chains: [f64; CHAINS.len()],
    /// What a look-up whose shard is elsewhere costs besides the transfer, by look-ups in a small map.
    claim_more: f64,
    alone: Alone,
}

/// One prediction beside what was measured and its 95 % interval, nanoseconds per look-up and worker.
struct Checked {
    workers: usize,
    name: &'static str,
    predicted: f64,
    measured: Option<Interval>,
}

impl Checked {
    fn error(&self) -> Option<f64> {
        self.measured.map(|measured| self.predicted / measured.mean - 1.0)
    }

    fn passed(&self) -> bool {
        self.error().is_some_and(|error| error.abs() <= ERROR_MAX)
    }
}

/// Calibrates, checks, and predicts if the check passed.
///
/// # Errors
/// When this build has no DashMap.
pub fn simulate(parameters: &Simulate) -> Result<Report, Failure> {
    let measured = Measurements::take(parameters)?;
    let Some(calibration) = measured.calibration(parameters.seed) else {
        return Ok(report::unavailable(parameters, &measured));
    };
    let host = host(&calibration.primitives, calibration.request, calibration.claim_more);
    let checks = check(parameters, &calibration, &host, &measured);
    let passed = checks.iter().all(Checked::passed);
    let predicted = if passed { curves(parameters, &calibration, &host) } else { Vec::new() };
    if let Some(folder) = &parameters.svg {
        for (name, svg) in report::drawings(&predicted) {
            chart::write(&folder.join(name), &svg)?;
        }
    }
    Ok(report::report(parameters, &calibration, &measured, &checks, &predicted))
}

/// The rungs that are to be predicted, with the raw map before them.
fn predicted_rungs() -> impl Iterator<Item = Option<Rung>> {
    std::iter::once(None).chain(LADDER.map(Some))
}

fn name(rung: Option<Rung>) -> &'static str {
    rung.map_or("raw", Rung::name)
}

/// Increments for which a core keeps a line that it has waited for: the one, and what it takes, at the slow end of the fifth
/// by which work varies, for one that follows at once to find it.
const HOLD: f64 = 1.25;

fn host(primitives: &Primitives, request: f64, claim_more: f64) -> Machine {
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

/// The raw map and every rung on this machine: predicted and measured, with one worker and with all.
fn check(
    parameters: &Simulate,
    calibration: &Calibration,
    host: &Machine,
    measured: &Measurements,
) -> Vec<Checked> {
    let mut checks = Vec::new();
    for (of, workers) in measured.workers.into_iter().enumerate() {
        for (index, rung) in predicted_rungs().enumerate() {
            let program =
                programs::program(rung, &calibration.alone, &calibration.primitives, host.cores(), 0.0);
            let rate = model::rounds_per_s(host, &program, workers, parameters.seed);
            let name = name(rung);
            let predicted = workers as f64 * 1e9 / rate;
            checks.push(Checked { workers, name, predicted, measured: measured.rung(of, index) });
        }
    }
    checks
}

/// One rung on one target machine: throughput for each number of workers.
struct Curve {
    machine: &'static str,
    source: &'static str,
    /// Work between look-ups, nanoseconds.
    think_ns: f64,
    name: &'static str,
    points: Vec<(usize, f64)>,
}

/// Every rung on every target, without other work and in a pipeline, up to the cores that there are.
fn curves(parameters: &Simulate, calibration: &Calibration, host: &Machine) -> Vec<Curve> {
    let Primitives { message, .. } = calibration.primitives;
    let targets = machine::targets(host.transfer.in_cluster / message, host.core, host.waiting);
    let mut curves = Vec::new();
    for machine in &targets {
        for think_ns in [0.0, parameters.think_ns] {
            eprintln!("simulating {} with {think_ns} ns of other work", machine.name);
            for rung in predicted_rungs() {
                let program = programs::program(
                    rung,
                    &calibration.alone,
                    &calibration.primitives,
                    machine.cores(),
                    think_ns,
                );
                let points = parameters.workers.iter().filter(|&&workers| workers <= machine.cores());
                let points = points
                    .map(|&workers| {
                        (workers, model::rounds_per_s(machine, &program, workers, parameters.seed))
                    })
                    .collect();
                let name = name(rung);
                curves.push(Curve { machine: machine.name, source: machine.source, think_ns, name, points });
            }
        }
    }
    curves
}
