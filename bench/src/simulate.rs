//! A model of workers, cores, lines and locks, and what it says of machines that are not here.
//!
//! The model is calibrated by what primitives and single parts cost on this machine with one worker ([`calibrate`],
//! [`programs`]), and then has to predict the whole ladder on this machine, with one worker and with as many as there are
//! cores. Where it misses a rung by more than [`ERROR_MAX`], it has not earned a word about other machines, and says none.
//! All that it says is labelled as a model's output.

mod calibrate;
mod events;
mod machine;
mod model;
mod programs;
mod report;

use std::path::PathBuf;
use std::time::Duration;

use crate::chart;
use crate::failure::Failure;
use crate::ladder::{LADDER, LockFamily, Lookups, PARTS, Rung};
use crate::record::Report;
use calibrate::Primitives;
use machine::{Machine, Transfer, Waiting};
use programs::Alone;

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Simulate {
    /// Numbers of workers to predict for the target machines.
    pub workers: Vec<usize>,
    /// Work between two look-ups in the pipeline's curves, nanoseconds.
    pub think_ns: f64,
    /// Runs tried for each measured value.
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

/// Maps and observers are made so many times anew, and their times averaged: how long a line takes depends on
/// where its memory happens to lie, which no model knows.
const INSTANCES: usize = 5;

/// What was measured on this machine for the model.
struct Calibration {
    primitives: Primitives,
    alone: Alone,
}

/// One prediction beside what was measured, nanoseconds per look-up and worker.
struct Checked {
    workers: usize,
    name: &'static str,
    predicted: f64,
    measured: Option<f64>,
}

impl Checked {
    fn error(&self) -> Option<f64> {
        self.measured.map(|measured| self.predicted / measured - 1.0)
    }
}

/// Calibrates, checks, and predicts if the check passed.
///
/// # Errors
/// When this build has no DashMap.
pub fn simulate(parameters: &Simulate) -> Result<Report, Failure> {
    eprintln!("calibrating");
    let Some(calibration) = calibrate(parameters)? else {
        return Ok(report::unavailable(parameters));
    };
    let host = host(&calibration.primitives);
    let mut checks = Vec::new();
    for workers in [1, host.cores()] {
        eprintln!("checking against the ladder with {workers} workers");
        checks.extend(check(parameters, &calibration, &host, workers)?);
    }
    let passed = checks.iter().all(|check| check.error().is_some_and(|error| error.abs() <= ERROR_MAX));
    let predicted = if passed { curves(parameters, &calibration) } else { Vec::new() };
    if let Some(folder) = &parameters.svg {
        for (name, svg) in report::drawings(&predicted) {
            chart::write(&folder.join(name), &svg)?;
        }
    }
    Ok(report::report(parameters, &calibration, &checks, passed, &predicted))
}

/// Single parts with one worker, and primitives; none if the machine was too busy.
fn calibrate(parameters: &Simulate) -> Result<Option<Calibration>, Failure> {
    let Some(primitives) = calibrate::primitives() else { return Ok(None) };
    let rungs: Vec<Rung> = PARTS.into_iter().chain([Rung::PerWorker, Rung::Off]).collect();
    let mut measured = averaged(parameters, 1, &rungs)?.into_iter();
    let Some(raw) = measured.next().flatten() else { return Ok(None) };
    let mut added = measured.map(|part| part.map(|ns| ns - raw));
    let mut next = || added.next().flatten();
    let alone = (|| {
        Some(Alone {
            raw,
            locked_counters: next()?,
            locked_histogram: next()?,
            locked_log: next()?,
            shared_counters: next()?,
            shared_histogram: next()?,
            gated_log: next()?,
            per_worker: next()?,
            off: next()?,
        })
    })();
    Ok(alone.map(|alone| Calibration { primitives, alone }))
}

/// Nanoseconds of the raw map and of every rung, averaged over instances.
fn averaged(parameters: &Simulate, workers: usize, rungs: &[Rung]) -> Result<Vec<Option<f64>>, Failure> {
    let mut instances = vec![Vec::new(); rungs.len() + 1];
    for _ in 0..INSTANCES {
        let (raw, others) = lookups(parameters, workers).undisturbed(rungs)?;
        for (known, measured) in instances.iter_mut().zip(std::iter::once(raw).chain(others)) {
            known.extend(measured);
        }
    }
    let mean = |known: Vec<f64>| (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
    Ok(instances.into_iter().map(mean).collect())
}

fn lookups(parameters: &Simulate, workers: usize) -> Lookups {
    let Simulate { tries, duration, seed, .. } = *parameters;
    // The model knows the standard library's lock.
    Lookups { workers, duration, repeats: tries, locks: LockFamily::Std, seed }
}

fn host(primitives: &Primitives) -> Machine {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let Primitives { transfer, .. } = *primitives;
    Machine {
        name: "host",
        source: "measured",
        sockets: 1,
        cores_per_socket: cores,
        cores_per_cluster: cores,
        transfer: Transfer { in_cluster: transfer, in_socket: transfer, across_sockets: transfer },
        claim_transfers: claim_transfers(primitives),
        second: second(primitives),
        waiting: waiting(primitives),
    }
}

fn claim_transfers(primitives: &Primitives) -> f64 {
    (primitives.claim / primitives.transfer).max(1.0)
}

fn second(primitives: &Primitives) -> f64 {
    if primitives.transfer > 0.0 { primitives.second / primitives.transfer } else { 1.0 }
}

fn waiting(primitives: &Primitives) -> Waiting {
    Waiting { poll: primitives.poll, call: primitives.call, wake: primitives.wake }
}

/// The raw map and every rung on this machine: predicted and measured.
fn check(
    parameters: &Simulate,
    calibration: &Calibration,
    host: &Machine,
    workers: usize,
) -> Result<Vec<Checked>, Failure> {
    let measured = averaged(parameters, workers, &LADDER)?;
    let subjects = std::iter::once(None).chain(LADDER.map(Some)).zip(measured);
    let checked = subjects.map(|(rung, measured)| {
        let program = programs::program(rung, &calibration.alone, &calibration.primitives, host.cores(), 0.0);
        let rate = model::rounds_per_s(host, &program, workers, parameters.seed);
        let name = rung.map_or("raw", Rung::name);
        Checked { workers, name, predicted: workers as f64 * 1e9 / rate, measured }
    });
    Ok(checked.collect())
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
fn curves(parameters: &Simulate, calibration: &Calibration) -> Vec<Curve> {
    let Primitives { message, transfer, .. } = calibration.primitives;
    let targets = machine::targets(
        transfer / message,
        claim_transfers(&calibration.primitives),
        second(&calibration.primitives),
        waiting(&calibration.primitives),
    );
    let mut curves = Vec::new();
    for machine in &targets {
        for think_ns in [0.0, parameters.think_ns] {
            eprintln!("simulating {} with {think_ns} ns of other work", machine.name);
            for rung in std::iter::once(None).chain(LADDER.map(Some)) {
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
                let name = rung.map_or("raw", Rung::name);
                curves.push(Curve { machine: machine.name, source: machine.source, think_ns, name, points });
            }
        }
    }
    curves
}
