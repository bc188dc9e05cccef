//! Time of signing, alone, together and under load.

mod bundle;
mod open_loop;
mod salts;
mod slh_dsa;
mod timing;

use std::time::Duration;

use serde_json::{Map, Value, json};
use trefoil_matching::Tier;
use trefoil_sign::{Extent, SigningKeys};

use crate::Failure;
use crate::Report;
use crate::distribution::{Distribution, rounded};
use crate::processor::thread_cpu_ns;

/// What to time.
#[derive(Clone, Copy, Debug)]
pub struct Sign {
    /// Whether signatures and seals are timed, or only the requested checks below are run.
    pub times: bool,
    /// Signatures of each kind.
    pub rounds: usize,
    /// Time of the load at each rate.
    pub load: Duration,
    /// Falcon signatures of one message whose salts are compared; 0 for none.
    pub falcon_salts: usize,
    /// Signatures of each family whose times are compared between keys; 0 for none.
    pub timing: usize,
    /// How far SLH-DSA alone is precomputed at most. Seals use no more than a service's default.
    pub extent: Extent,
    /// Highest tier to compute on.
    pub tier: Tier,
}

/// Times signing and sealing.
///
/// # Errors
/// When keys cannot be made or threads cannot be started. A wrong signature is in the report, not here.
pub fn sign(parameters: Sign) -> Result<Report, Failure> {
    let Sign { times, rounds, load, falcon_salts, timing, extent, tier } = parameters;
    let mut sections = Vec::new();
    if times {
        sections.push(slh_dsa::measure(rounds, extent, tier)?);
        let usual = extent.min(Extent::default());
        sections.push(bundle::measure(rounds, usual)?);
        sections.push(open_loop::measure(load, usual)?);
    }
    if falcon_salts > 0 {
        sections.push(salts::measure(falcon_salts)?);
    }
    if timing > 0 {
        sections.push(timing::measure(timing, extent)?);
    }
    let mut result = Map::new();
    if times {
        result.insert("rounds".into(), json!(rounds));
    }
    result.insert("tier".into(), json!(tier.name()));
    let (mut summary, mut problems) = (String::new(), Vec::new());
    for Section { fields, text, problem } in sections {
        result.extend(fields);
        summary.push_str(&text);
        problems.extend(problem);
    }
    let problem = (!problems.is_empty()).then(|| problems.join("; "));
    Ok(Report { summary, result: Value::Object(result), problem })
}

/// A part of the report.
#[derive(Default)]
struct Section {
    fields: Map<String, Value>,
    text: String,
    problem: Option<String>,
}

/// Does the keys' precomputation.
fn precompute(keys: &mut SigningKeys, extent: Extent) -> Result<(), Failure> {
    keys.precompute_to(extent);
    keys.precomputation().run().map_err(Failure::in_step("precomputation"))
}

/// Processor time of `operation` in microseconds, and what it returned.
fn cpu_us<T>(operation: impl FnOnce() -> T) -> (f64, T) {
    let began = thread_cpu_ns();
    let returned = operation();
    ((thread_cpu_ns() - began) as f64 / 1e3, returned)
}

/// Median, least and all runs of a time, under `name`, `name_min` and `name_runs`.
fn insert_times(fields: &mut Map<String, Value>, name: &str, runs: &Distribution) {
    fields.insert(name.into(), json!(rounded(runs.median())));
    fields.insert(format!("{name}_min"), json!(rounded(runs.min())));
    fields.insert(format!("{name}_runs"), runs.runs_json());
}
