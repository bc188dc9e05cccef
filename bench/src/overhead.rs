//! What the engine with everything costs against the raw map, in the whole pipeline.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::Failure;
use crate::Report;
use crate::in_pipeline::{Candidate, Compared, PipelineLoad, compare};
use crate::paired::Interval;
use crate::population::Population;

/// Runs raw, engine, engine, raw, or the engine outside, `repeats` times over.
///
/// # Errors
/// When this build lacks a cache or a pipeline stops. Wrong outputs are in the report, not here.
pub fn overhead(load: PipelineLoad, population: Arc<Population>) -> Result<Report, Failure> {
    let common = load.common(&population)?;
    let raw = Candidate::raw(load, &common)?;
    let engine = [Candidate::engine(load, &common)?];
    let compared = compare(&raw, &engine, load)?;
    let engine = compared.into_iter().next().ok_or_else(|| Failure::fault("nothing was compared"))?;
    Ok(report(&load, &engine))
}

/// Overhead in per cent: how many more raw authentications would have been served.
fn percent(of_raw: Interval) -> Interval {
    let overhead = |ratio: f64| 100.0 * (1.0 / ratio - 1.0);
    Interval { mean: overhead(of_raw.mean), low: overhead(of_raw.high), high: overhead(of_raw.low) }
}

fn report(load: &PipelineLoad, engine: &Compared) -> Report {
    let (wall, workers_only) = (percent(engine.of_raw()), engine.worker_overhead_percent());
    let PipelineLoad { workers, seconds, warmup_s, repeats, users, batches, seed, samples: _, tier } = *load;
    let mut result = json!({
        "overhead_percent": wall.json(), "overhead_percent_workers": workers_only.json(),
        "workers": workers, "seconds": seconds, "warmup_seconds": warmup_s, "repeats": repeats,
        "order": "raw, engine, engine, raw or engine, raw, raw, engine in every round, as a seeded coin falls", "cadence": "group",
        "interval": "95 %, Student's t over the logarithms of the rounds' ratios",
        "users": users, "prepared_batches": batches, "seed": seed, "tier": tier.name(),
    });
    if let (Value::Object(fields), Value::Object(runs)) = (&mut result, engine.json()) {
        fields.extend(runs);
    }
    let shown = |i: Interval| format!("{:+.2} % [{:+.2}, {:+.2}]", i.mean, i.low, i.high);
    let summary = format!(
        "overhead of the engine with everything against the raw map, {workers} workers, {repeats} rounds of four runs\n  by the wall clock     {}\n  processor time without the seals {}\n  {:.0} authentications/s\n",
        shown(wall),
        shown(workers_only),
        engine.auth_per_s()
    );
    Report { summary, result, problem: engine.problem() }
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
