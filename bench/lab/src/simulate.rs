//! A model of workers, cores, lines and locks, and its predictions for other machines.
//!
//! The model is calibrated by the cost of primitives on this machine (`calibrate`, `chains`) and of single parts with one
//! worker (`programs`), and then has to predict the whole ladder on this machine, with one worker and with as many as there are
//! cores. If it misses a rung by more than `prediction::ERROR_MAX`, it shows nothing about other machines.
//! All its output is labelled as a model's output.

mod calibrate;
mod chains;
mod events;
mod machine;
mod measurements;
mod model;
mod prediction;
mod programs;
mod report;

use crate::Failure;
use crate::Report;
use crate::chart;
use calibrate::Primitives;
use machine::Machine;
use measurements::Measurements;
pub use prediction::Simulate;
use prediction::{Calibration, Checked, Curve, host, name, predicted_rungs};

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
