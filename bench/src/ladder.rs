//! The ladder: what each way of observing a cache costs, from three locks to none.
//!
//! (a) with the cheapest pipeline there is, which only gets, misses or puts, so that nothing hides the observer;
//! (b) in the whole pipeline, where a look-up is a thousandth of the work;
//!
//! (c) each lock and each shared counter alone, with ever more threads that want it.
//!
//! (a) and (b) compare each rung with the raw map in rounds of raw, rung, rung, raw, keep every run, and give the ratio with
//! its confidence interval.

use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};
use trefoil_lab::ladder::{Asked, Contention, LADDER, Lookups, Measured, Rung, contenders};
use trefoil_lab::timing::Tally;
use trefoil_matching::Tier;

use crate::args::{WorldArgs, cores, count, seconds, workers};
use crate::distribution::{Distribution, rounded};
use crate::in_pipeline::{Compared, Comparison};
use crate::paired::{Interval, Side};
use crate::{Failure, Report, wiring};

/// The observers with locks and shared counters are exhibits: they exist in this program alone.
#[derive(Debug, Args)]
pub(crate) struct Ladder {
    /// Workers; more workers than processors also measures time slicing [default: one per core]
    #[arg(long, value_parser = workers)]
    workers: Option<usize>,
    /// Length of one run
    #[arg(long, default_value = "0.25", value_parser = seconds)]
    seconds: Duration,
    /// Rounds of raw, rung, rung, raw, all of which are kept
    #[arg(long, default_value_t = 10, value_parser = count::<1, 1_000>)]
    repeats: usize,
    /// Rounds in the whole pipeline; 0 leaves it out
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = count::<0, 1_000>)]
    pipeline_repeats: usize,
    /// Length of one run of the pipeline
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pipeline_seconds: Duration,
    /// Threads that want each lock and each shared counter, one number after another
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,2,4,8,16,32,64,96", value_parser = workers)]
    contenders: Vec<usize>,
    /// Rounds of the contenders; 0 leaves them out
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count::<0, 1_000>)]
    contender_repeats: usize,
    #[command(flatten)]
    world: WorldArgs,
}

/// The bar: observation per worker may cost a twentieth of the raw map's rate where nothing hides it.
const PER_WORKER_OF_RAW_MIN: f64 = 0.95;

/// Climbs the ladder.
///
/// # Errors
/// When this build has no DashMap or a pipeline stops. Wrong outputs are in the report, not here.
pub(crate) fn ladder(args: &Ladder, tier: Tier) -> Result<Report, Failure> {
    let Ladder { seconds: duration, repeats, .. } = *args;
    let workers = args.workers.unwrap_or_else(cores);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let climb = |asked| Lookups { asked, workers, duration, repeats, seed: args.world.seed }.climb();
    let lookups = climb(Asked::Get)?;
    let result = json!({
        "workers": workers, "logical_cpus": cpus, "more_workers_than_cpus": workers > cpus,
        "seconds": duration.as_secs_f64(), "repeats": repeats, "seed": args.world.seed,
        "order": "raw, rung, rung, raw in every round; rungs forwards and backwards in turn",
        "interval": "95 %, Student's t over the logarithms of the rounds' ratios",
    });
    let summary = format!(
        "{workers} workers on {cpus} processors; share of the raw map's rate with its 95 % interval\n"
    );
    let mut report = Report { summary, result, problem: None }.and("lookups", requests(&lookups));
    for (name, asked) in [("misses", Asked::Miss), ("puts", Asked::Put)] {
        report = report.and(name, requests(&climb(asked)?));
    }
    if args.pipeline_repeats > 0 {
        let seconds = args.pipeline_seconds.as_secs_f64();
        let comparison = Comparison::new(&args.world, workers, seconds, args.pipeline_repeats, tier)?;
        report = report.and("pipeline", climb_in_pipeline(&comparison, &lookups)?);
    }
    if args.contender_repeats > 0 {
        let (contenders, repeats) = (args.contenders.clone(), args.contender_repeats);
        let contention = Contention { contenders, duration, repeats };
        report = report.and("contenders", contenders::report(&contention, &contenders::contend(&contention)));
    }
    Ok(report)
}

/// Every rung on the map, and the engine where this build has it, each in a pipeline of its own.
fn climb_in_pipeline(comparison: &Comparison, lookups: &[Measured]) -> Result<Report, Failure> {
    let mut others = LADDER.into_iter().map(|rung| comparison.on_map(rung)).collect::<Result<Vec<_>, _>>()?;
    if wiring::HAS_ENGINE {
        others.push(comparison.engine()?);
    }
    let compared = comparison.compare(&others)?;
    let mut summary = "The whole pipeline, proofs cached, group commit; authentications/s, share of raw by the wall clock and by processor time, and what the look-ups above let expect\n".to_owned();
    let mut rungs = Map::new();
    for entry in &compared {
        let expected = expected_percent(lookups, entry);
        let mut fields = entry.json();
        fields["differs_from_raw"] = json!(differs(entry.of_raw()));
        fields["differs_from_raw_cpu"] = json!(differs(entry.of_raw_cpu()));
        fields["expected_percent_from_lookups"] = json!(expected.map(rounded));
        rungs.insert(entry.name.to_owned(), fields);
        summary += &format!(
            "  {:<22} {:>9.0} /s  wall {}  processor {}  expected {}\n",
            entry.name,
            entry.auth_per_s(),
            shown(entry.of_raw()),
            shown(entry.of_raw_cpu()),
            expected.map_or("-".into(), |percent| format!("{:+.2} %", -percent))
        );
    }
    let mut result = comparison.json();
    result["rungs"] = rungs.into();
    Ok(Report { summary, result, problem: compared.iter().find_map(Compared::problem) })
}

fn shown(Interval { mean, low, high }: Interval) -> String {
    let percent = |x: f64| if x.is_finite() { format!("{:.1}", 100.0 * x) } else { "-".to_owned() };
    format!("{:>6} %  [{}, {}]", percent(mean), percent(low), percent(high))
}

fn differs(interval: Interval) -> bool {
    interval.low > 1.0 || interval.high < 1.0
}

/// The processor time that an observer adds to a look-up alone, as a share of an authentication's, per cent.
fn expected_percent(lookups: &[Measured], compared: &Compared) -> Option<f64> {
    let measured = lookups.iter().find(|measured| measured.name == compared.name)?;
    let ns = |side| measured.rounds.figures(side, Tally::ns_per_request).median();
    Some(100.0 * (ns(Side::B) - ns(Side::A)) / (1e3 * compared.raw_cpu_us()))
}

/// Share of the raw map's rate, by the wall clock.
fn of_raw(measured: &Measured) -> Interval {
    measured.rounds.ratio(Tally::million_per_s)
}

/// All subjects with one kind of request.
fn requests(measured: &[Measured]) -> Report {
    let per_worker = measured.iter().find(|of| of.rung == Some(Rung::PerWorker)).map(of_raw);
    // Whether the interval lies wholly below that of per-worker observation.
    let below = |of: &Measured| per_worker.map(|per_worker| of_raw(of).high < per_worker.low);
    let historical = |of: &&Measured| of.rung.is_some_and(Rung::is_historical);
    let asked = measured.first().map_or("", |of| of.asked.name());
    let (mut summary, mut rungs) = (format!("{asked} and nothing else\n"), Map::new());
    for of in measured {
        let rates = of.rounds.figures(Side::B, Tally::million_per_s);
        let cpu = of.rounds.figures(Side::B, Tally::ns_per_request);
        let mut fields = json!({
            "million_per_s": rounded(rates.median()), "of_raw": of_raw(of).json(),
            "of_raw_cpu": of.rounds.ratio(|run| 1.0 / run.ns_per_request()).json(), "million_per_s_runs": rates.runs_json(),
            "raw_million_per_s_runs": of.rounds.figures(Side::A, Tally::million_per_s).runs_json(), "counted": of.counted,
        });
        fields[format!("cpu_ns_per_{asked}")] = json!(rounded(cpu.median()));
        fields[format!("cpu_ns_per_{asked}_runs")] = cpu.runs_json();
        if let Some(rung) = of.rung {
            fields["change"] = json!(rung.change());
        }
        if historical(&of) {
            fields["below_per_worker"] = json!(below(of));
        }
        summary += &format!("  {:<22} {:>8.2} M/s  {}\n", of.name, rates.median(), shown(of_raw(of)));
        rungs.insert(of.name.to_owned(), fields);
    }
    let raw = measured.iter().flat_map(|of| of.rounds.runs(Side::A)).map(Tally::million_per_s).collect();
    let result = json!({
        "raw_million_per_s": rounded(Distribution::new(raw).median()), "rungs": Value::from(rungs),
        "bars": {
            "per_worker_of_raw_min": PER_WORKER_OF_RAW_MIN,
            "per_worker_of_raw_holds": per_worker.map(|interval| interval.mean >= PER_WORKER_OF_RAW_MIN),
            "historical_below_per_worker": measured.iter().filter(historical).all(|of| below(of) == Some(true)),
        },
    });
    Report { summary, result, problem: measured.iter().find_map(Measured::problem) }
}
