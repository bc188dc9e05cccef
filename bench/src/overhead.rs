//! What the engine with everything costs against the raw map, in the whole pipeline.

use std::time::Duration;

use clap::Args;
use serde_json::json;
use trefoil_matching::Tier;

use crate::args::{WorldArgs, cores, count, seconds, workers};
use crate::in_pipeline::Comparison;
use crate::paired::Interval;
use crate::{Failure, Report};

/// The interval is what a single comparison of two runs does not tell: on a machine that others use, differences of several per cent
/// between two runs mean nothing.
#[derive(Debug, Args)]
pub(crate) struct Overhead {
    /// Pinned workers [default: one per core]
    #[arg(long, value_parser = workers)]
    workers: Option<usize>,
    /// Length of one run
    #[arg(long, default_value = "1", value_parser = seconds)]
    seconds: Duration,
    /// Rounds of raw, engine, engine, raw, all of which are kept
    #[arg(long, default_value_t = 10, value_parser = count::<1, 1_000>)]
    repeats: usize,
    #[command(flatten)]
    world: WorldArgs,
}

/// Runs raw, engine, engine, raw, or the engine outside.
///
/// # Errors
/// When this build lacks a cache or a pipeline stops. Wrong outputs are in the report, not here.
pub(crate) fn overhead(args: &Overhead, tier: Tier) -> Result<Report, Failure> {
    let workers = args.workers.unwrap_or_else(cores);
    let comparison = Comparison::new(&args.world, workers, args.seconds.as_secs_f64(), args.repeats, tier)?;
    let compared = comparison.compare(&[comparison.engine()?])?;
    let [engine] = compared.as_slice() else { return Err(Failure::fault("nothing was compared")) };
    let (wall, workers_only) = (percent(engine.of_raw()), engine.worker_overhead_percent());
    let shown = |i: Interval| format!("{:+.2} % [{:+.2}, {:+.2}]", i.mean, i.low, i.high);
    let summary = format!(
        "overhead of the engine with everything against the raw map, {workers} workers, {} rounds of four runs\n  by the wall clock     {}\n  processor time without the seals {}\n  {:.0} authentications/s\n",
        args.repeats,
        shown(wall),
        shown(workers_only),
        engine.auth_per_s()
    );
    let result = json!({ "overhead_percent": wall.json(), "overhead_percent_workers": workers_only.json() });
    let mut report = Report { summary, result, problem: engine.problem() };
    report.put(engine.json());
    report.put(comparison.json());
    Ok(report)
}

/// Overhead in per cent: how many more raw authentications would have been served.
fn percent(of_raw: Interval) -> Interval {
    let overhead = |ratio: f64| 100.0 * (1.0 / ratio - 1.0);
    Interval { mean: overhead(of_raw.mean), low: overhead(of_raw.high), high: overhead(of_raw.low) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overhead_turns_the_interval_round() {
        let overhead = percent(Interval { mean: 0.98, low: 0.96, high: 1.0 });
        assert!((overhead.mean - 2.040_8).abs() < 1e-3);
        assert!((overhead.low - 0.0).abs() < 1e-12);
        assert!((overhead.high - 4.166_7).abs() < 1e-3);
    }
}
