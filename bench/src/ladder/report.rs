//! What the ladder says.

use serde_json::{Map, Value, json};

use super::lookups::Subject;
use super::{Ladder, Measured, Rung};
use crate::cache::timing::Tally;
use crate::distribution::{Distribution, rounded};
use crate::paired::Interval;
use crate::record::Report;

/// The bar: observation per worker may cost a twentieth of the raw map's rate where nothing hides it.
const PER_WORKER_OF_RAW_MIN: f64 = 0.95;

pub(super) fn report(parameters: &Ladder, lookups: &[Measured]) -> Report {
    let Ladder { workers, duration, repeats, parts: _, seed } = *parameters;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let result = json!({
        "workers": workers, "logical_cpus": cores, "more_workers_than_cpus": workers > cores,
        "seconds": duration.as_secs_f64(), "repeats": repeats, "seed": seed,
        "order": "raw, rung, rung, raw in every round; rungs forwards and backwards in turn",
        "interval": "95 %, Student's t over the logarithms of the rounds' ratios",
        "lookups": lookups_json(lookups),
    });
    let problem = lookups.iter().find_map(Measured::problem);
    Report { summary: lookups_text(workers, cores, lookups), result, problem }
}

fn find(lookups: &[Measured], rung: Rung) -> Option<&Measured> {
    lookups.iter().find(|measured| measured.subject == Subject::Map(rung))
}

/// Whether the interval of `measured` lies wholly below that of per-worker observation.
fn is_below_per_worker(measured: &Measured, lookups: &[Measured]) -> Option<bool> {
    let per_worker = find(lookups, Rung::PerWorker)?.of_raw().interval();
    Some(measured.of_raw().interval().high < per_worker.low)
}

fn lookups_json(lookups: &[Measured]) -> Value {
    let raw: Vec<f64> = lookups.iter().flat_map(|m| m.raw_runs().map(Tally::million_per_s)).collect();
    let subjects: Map<_, _> =
        lookups.iter().map(|m| (m.subject.name().to_owned(), subject_json(m, lookups))).collect();
    let historical =
        || lookups.iter().filter(|m| matches!(m.subject, Subject::Map(rung) if rung.is_historical()));
    let per_worker = find(lookups, Rung::PerWorker).map(|m| m.of_raw().interval());
    json!({
        "keys_held": true,
        "raw_million_per_s": rounded(Distribution::new(raw).median()),
        "rungs": subjects,
        "bars": {
            "per_worker_of_raw_min": PER_WORKER_OF_RAW_MIN,
            "per_worker_of_raw_holds": per_worker.map(|interval| interval.mean >= PER_WORKER_OF_RAW_MIN),
            "historical_below_per_worker": historical().all(|m| is_below_per_worker(m, lookups) == Some(true)),
        },
    })
}

fn subject_json(measured: &Measured, lookups: &[Measured]) -> Value {
    let rates = Distribution::new(measured.runs().map(Tally::million_per_s).collect());
    let raw = Distribution::new(measured.raw_runs().map(Tally::million_per_s).collect());
    let cpu = Distribution::new(measured.runs().map(Tally::ns_per_request).collect());
    let mut fields = Map::new();
    if let Subject::Map(rung) = measured.subject {
        fields.insert("change".into(), json!(rung.change()));
        fields.insert("why".into(), json!(rung.why()));
        if rung.is_historical() {
            fields.insert("below_per_worker".into(), json!(is_below_per_worker(measured, lookups)));
        }
    }
    fields.insert("million_per_s".into(), json!(rounded(rates.median())));
    fields.insert("cpu_ns_per_get".into(), json!(rounded(cpu.median())));
    fields.insert("of_raw".into(), measured.of_raw().interval().json());
    fields.insert("of_raw_cpu".into(), measured.of_raw_cpu().interval().json());
    fields.insert("million_per_s_runs".into(), rates.runs_json());
    fields.insert("raw_million_per_s_runs".into(), raw.runs_json());
    fields.insert("cpu_ns_per_get_runs".into(), cpu.runs_json());
    fields.insert("counted".into(), json!(measured.counted.map(|stats| stats.hits)));
    fields.into()
}

fn lookups_text(workers: usize, cores: usize, lookups: &[Measured]) -> String {
    let mut text = format!(
        "Look-ups and nothing else, {workers} workers on {cores} processors; share of the raw map's rate with its 95 % interval\n"
    );
    for measured in lookups {
        let Interval { mean, low, high } = measured.of_raw().interval();
        let rates = Distribution::new(measured.runs().map(Tally::million_per_s).collect());
        let shown = |x: f64| if x.is_finite() { format!("{:.1}", 100.0 * x) } else { "-".to_owned() };
        text.push_str(&format!(
            "  {:<22} {:>8.2} M/s  {:>6} %  [{}, {}]\n",
            measured.subject.name(),
            rates.median(),
            shown(mean),
            shown(low),
            shown(high)
        ));
        if let Subject::Map(rung) = measured.subject {
            text.push_str(&format!("      {}\n      why: {}\n", rung.change(), rung.why()));
        }
    }
    text
}
