//! The ladder's report.

use serde_json::{Map, Value, json};

use trefoil_lab::ladder::{
    Asked, Contention, KeyHolderLoad, Measured, Rung, Subject, contenders, key_holder,
};
use trefoil_lab::timing::Tally;

use super::Ladder;
use crate::Report;
use crate::distribution::{Distribution, rounded};
use crate::in_pipeline::Compared;
use crate::paired::Interval;

/// The bar: observation per worker may cost a twentieth of the raw map's rate where nothing hides it.
const PER_WORKER_OF_RAW_MIN: f64 = 0.95;

pub(super) fn report(
    parameters: &Ladder,
    lookups: &[Measured],
    others: &[Vec<Measured>; 2],
    pipeline: Option<&[Compared]>,
) -> Report {
    let Ladder { workers, duration, repeats, seed, .. } = *parameters;
    let cores = cores();
    let result = json!({
        "workers": workers, "logical_cpus": cores, "more_workers_than_cpus": workers > cores,
        "seconds": duration.as_secs_f64(), "repeats": repeats, "seed": seed,
        "order": "raw, rung, rung, raw in every round; rungs forwards and backwards in turn",
        "interval": "95 %, Student's t over the logarithms of the rounds' ratios",
        "lookups": lookups_json(lookups),
        "misses": lookups_json(&others[0]),
        "puts": lookups_json(&others[1]),
        "pipeline": pipeline.map(|compared| pipeline_json(parameters, lookups, compared)),
    });
    let problem = lookups.iter().chain(others.iter().flatten()).find_map(Measured::problem);
    let problem = problem.or_else(|| pipeline.unwrap_or_default().iter().find_map(Compared::problem));
    let mut summary = lookups_text(workers, cores, lookups);
    others.iter().for_each(|measured| summary.push_str(&lookups_text(workers, cores, measured)));
    summary.extend(pipeline.map(|compared| pipeline_text(lookups, compared)));
    Report { summary, result, problem }
}

/// The report with the key-holder's rung.
pub(super) fn with_key_holder(
    mut report: Report,
    load: &KeyHolderLoad,
    measured: &[key_holder::Measured],
) -> Report {
    report.result["keyholder"] = key_holder::json(load, measured);
    report.summary.push_str(&key_holder::text(measured));
    let problem = measured.iter().find_map(key_holder::Measured::problem);
    report.problem = report.problem.or(problem);
    report
}

/// The report with the locks and counters alone.
pub(super) fn with_contenders(
    mut report: Report,
    contention: &Contention,
    contended: &[contenders::Contended],
) -> Report {
    report.result["contenders"] = contenders::json(contention, contended);
    report.summary.push_str(&contenders::text(contention, contended));
    let problem = contended.iter().find_map(contenders::Contended::problem);
    report.problem = report.problem.or(problem);
    report
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Nanoseconds that the observer of `name` adds to a look-up here, by processor time.
fn added_ns(lookups: &[Measured], name: &str) -> Option<f64> {
    let measured = lookups.iter().find(|measured| measured.subject.name() == name)?;
    let cpu = |runs: Vec<f64>| Distribution::new(runs).median();
    let own = cpu(measured.runs().map(Tally::ns_per_request).collect());
    Some(own - cpu(measured.raw_runs().map(Tally::ns_per_request).collect()))
}

/// [`added_ns`] as a share of an authentication's processor time, per cent.
fn expected_percent(lookups: &[Measured], compared: &Compared) -> Option<f64> {
    Some(100.0 * added_ns(lookups, compared.name)? / (1e3 * compared.raw_cpu_us_per_auth()))
}

fn differs(interval: Interval) -> bool {
    interval.low > 1.0 || interval.high < 1.0
}

fn pipeline_json(parameters: &Ladder, lookups: &[Measured], compared: &[Compared]) -> Value {
    let load = parameters.pipeline.as_ref().map(|(load, _)| load);
    let one = |entry: &Compared| {
        let mut value = entry.json();
        if let Value::Object(fields) = &mut value {
            fields.insert("differs_from_raw".into(), json!(differs(entry.of_raw())));
            fields.insert("differs_from_raw_cpu".into(), json!(differs(entry.of_raw_cpu())));
            let expected = expected_percent(lookups, entry).map(rounded);
            fields.insert("expected_percent_from_lookups".into(), json!(expected));
        }
        (entry.name.to_owned(), value)
    };
    json!({
        "workers": load.map(|load| load.workers), "seconds": load.map(|load| load.seconds),
        "repeats": load.map(|load| load.repeats), "users": load.map(|load| load.users),
        "cadence": "group",
        "rungs": compared.iter().map(one).collect::<Map<_, _>>(),
    })
}

fn pipeline_text(lookups: &[Measured], compared: &[Compared]) -> String {
    let mut text = "The whole pipeline, proofs cached, group commit; authentications/s, share of raw by the wall clock and by processor time, and what the look-ups above let expect\n".to_owned();
    let shown =
        |i: Interval| format!("{:>6.2} % [{:.2}, {:.2}]", 100.0 * i.mean, 100.0 * i.low, 100.0 * i.high);
    for entry in compared {
        let expected = expected_percent(lookups, entry).map_or("-".into(), |p| format!("{:+.2} %", -p));
        text.push_str(&format!(
            "  {:<22} {:>9.0} /s  wall {}  processor {}  expected {expected}\n",
            entry.name,
            entry.auth_per_s(),
            shown(entry.of_raw()),
            shown(entry.of_raw_cpu())
        ));
    }
    text
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
        if rung.is_historical() {
            fields.insert("below_per_worker".into(), json!(is_below_per_worker(measured, lookups)));
        }
    }
    fields.insert("million_per_s".into(), json!(rounded(rates.median())));
    let per_request = format!("cpu_ns_per_{}", measured.asked.name());
    fields.insert(per_request.clone(), json!(rounded(cpu.median())));
    fields.insert("of_raw".into(), measured.of_raw().interval().json());
    fields.insert("of_raw_cpu".into(), measured.of_raw_cpu().interval().json());
    fields.insert("million_per_s_runs".into(), rates.runs_json());
    fields.insert("raw_million_per_s_runs".into(), raw.runs_json());
    fields.insert(format!("{per_request}_runs"), cpu.runs_json());
    fields.insert("counted".into(), json!(measured.counted));
    fields.into()
}

fn lookups_text(workers: usize, cores: usize, lookups: &[Measured]) -> String {
    let asked = lookups.first().map_or("", |measured| measured.asked.name());
    let mut text = format!(
        "{asked} and nothing else, {workers} workers on {cores} processors; share of the raw map's rate with its 95 % interval\n"
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
        if let (Subject::Map(rung), Asked::Get) = (measured.subject, measured.asked) {
            text.push_str(&format!("      {}\n", rung.change()));
        }
    }
    text
}
