//! Another build of this program, or another command, alternating with this one: the ratios of their printed figures, and which step made the
//! difference.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use crate::Failure;
use crate::Report;
use crate::attribution::{Attributable, Attribution, Bar};
use crate::paired::Ratios;

/// What to run.
#[derive(Clone, Debug)]
pub struct Against {
    /// The other program, or this one again.
    pub other: Option<PathBuf>,
    /// Its description, for the record.
    pub other_is: String,
    /// Each runs both programs twice: the other, this, this, the other.
    pub rounds: usize,
    /// The command of both, without `--json`.
    pub arguments: Vec<String>,
    /// Arguments of the other program after these.
    pub other_arguments: Vec<String>,
    /// Thresholds for a difference between the steps.
    pub bar: Bar,
}

/// Names of the compared figures: medians and rates.
const FIGURES: [&str; 4] = ["p50_us", "stages_us", "batches_per_s", "auth_per_s"];

/// The records of one round: the other, this, this, the other.
type Round = [Value; 4];

/// Runs it.
///
/// # Errors
/// When a program does not run or prints no record, or the records have no figure in common.
pub fn against(parameters: &Against) -> Result<Report, Failure> {
    let Against { other, rounds, arguments, other_arguments, .. } = parameters;
    let own = std::env::current_exe().map_err(Failure::in_step("this program's path"))?;
    let run_own = || record_of(&own, arguments);
    let others = [arguments.as_slice(), other_arguments].concat();
    let run_other = || record_of(other.as_deref().unwrap_or(&own), &others);
    let rounds = (0..*rounds).map(|_| Ok([run_other()?, run_own()?, run_own()?, run_other()?]));
    report(parameters, &rounds.collect::<Result<Vec<Round>, Failure>>()?)
}

fn report(parameters: &Against, rounds: &[Round]) -> Result<Report, Failure> {
    let mut quadruples: BTreeMap<String, Vec<[f64; 4]>> = BTreeMap::new();
    for round in rounds {
        let runs = round.each_ref().map(figures_of);
        for figure in runs[0].keys().filter(|figure| runs.iter().all(|run| run.contains_key(*figure))) {
            quadruples.entry(figure.clone()).or_default().push(runs.each_ref().map(|run| run[figure]));
        }
    }
    if quadruples.is_empty() {
        return Err(Failure::usage(
            "the two programs print no median or rate with the same name: compare the same command",
        ));
    }
    let mut summary = format!("this build over {}: ratio of means (95 % interval)\n", parameters.other_is);
    let mut figures = Map::new();
    for (figure, runs) in &quadruples {
        let interval = Ratios::of_quadruples(runs).interval();
        let line = format!("{:.3} ({:.3} to {:.3})", interval.mean, interval.low, interval.high);
        summary.push_str(&format!("  {figure:<44} {line}\n"));
        let side = |at: [usize; 2]| runs.iter().flat_map(|run| at.map(|at| run[at])).collect::<Vec<_>>();
        figures.insert(
            figure.clone(),
            json!({ "ratio": interval.json(), "other_runs": side([0, 3]), "own_runs": side([1, 2]) }),
        );
    }
    let attribution = attribution(rounds, parameters.bar);
    if let Some(attribution) = &attribution {
        summary.push_str(&format!("A is {}, B this build\n{}", parameters.other_is, attribution.table()));
    }
    let result = json!({
        "other": parameters.other_is, "arguments": parameters.arguments.join(" "),
        "other_arguments": parameters.other_arguments.join(" "), "rounds": rounds.len(),
        "figures": figures, "steps": attribution.map(|steps| steps.json()),
    });
    Ok(Report { summary, result, problem: None })
}

/// Which step made the difference, if records of this command have steps.
fn attribution(rounds: &[Round], bar: Bar) -> Option<Attribution> {
    let of = |round: &Round| {
        let runs = round.iter().map(|record| Attributable::of(record).ok());
        runs.collect::<Option<Vec<_>>>()?.try_into().ok()
    };
    let rounds = rounds.iter().map(of).collect::<Option<Vec<[Attributable; 4]>>>()?;
    Attribution::of_rounds(&rounds, bar).ok()
}

fn record_of(program: &Path, arguments: &[String]) -> Result<Value, Failure> {
    let output = Command::new(program).args(arguments).arg("--json").output();
    let output = output.map_err(Failure::in_step(program.display()))?;
    if !output.status.success() {
        let cause = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::fault(format!("{}: {}", program.display(), cause.trim())));
    }
    serde_json::from_slice(&output.stdout).map_err(Failure::in_step("the record that it printed"))
}

/// The medians and rates in a record, by their place in it.
fn figures_of(record: &Value) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    collect(record, String::new(), false, &mut figures);
    figures
}

fn collect(value: &Value, place: String, named: bool, figures: &mut BTreeMap<String, f64>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let named = named || FIGURES.contains(&name.as_str());
                collect(value, format!("{place}/{name}"), named, figures);
            }
        }
        Value::Number(number) if named => figures.extend(number.as_f64().map(|number| (place, number))),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use trefoil_kernels::Tier;
    use trefoil_pipeline::Cadence;

    use super::*;
    use crate::attribution::Finding;
    use crate::faces::FaceSource;
    use crate::population::Population;
    use crate::run::{More, Run, run};
    use crate::wiring::CacheChoice;
    use crate::workload::Popularity;

    #[test]
    fn medians_and_rates_are_found_wherever_they_are() {
        let record = json!({
            "process": { "decide": { "p50_us": 2.5, "p99_us": 9.0 }, "batches_per_s": 7, "batches_per_s_runs": [7] },
            "stages_us": { "match": 1.0, "seal": 3.0 }, "iterations": 400, "mode": "plain", "auth_per_s": 5.0,
        });
        let figures = figures_of(&record);
        let found: Vec<_> = figures.iter().map(|(place, value)| (place.as_str(), *value)).collect();
        let expected = [
            ("/auth_per_s", 5.0),
            ("/process/batches_per_s", 7.0),
            ("/process/decide/p50_us", 2.5),
            ("/stages_us/match", 1.0),
            ("/stages_us/seal", 3.0),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_ratio_is_of_this_build_over_the_other() {
        let parameters = Against {
            other: None,
            other_is: "old".into(),
            rounds: 2,
            arguments: vec![],
            other_arguments: vec![],
            bar: Bar::default(),
        };
        let round = |runs: [f64; 4]| runs.map(|us| json!({ "p50_us": us }));
        let rounds = [round([10.0, 5.0, 5.0, 10.0]), round([8.0, 4.0, 4.0, 8.0])];
        let report = report(&parameters, &rounds).expect("a figure");
        assert!(report.summary.contains("0.500 (0.500 to 0.500)"), "{}", report.summary);
        assert_eq!(report.result["figures"]["/p50_us"]["other_runs"], json!([10.0, 10.0, 8.0, 8.0]));
        assert!(report.result["steps"].is_null());
    }

    /// One worker on the real pipeline, for a moment, with seals slowed down by this much.
    fn moment(population: &Arc<Population>, cadence: Cadence, slow_seals: Duration) -> Value {
        let parameters = Run {
            workers: 1,
            seconds: 0.15,
            warmup_s: 0.05,
            repeats: 1,
            cadence,
            cache: CacheChoice::DEFAULT,
            users: 64,
            faces: FaceSource::Synthetic,
            popularity: Popularity::Uniform,
            batches: 8,
            seed: 5,
            samples: 1,
            slow_seals,
            tier: Tier::detected(),
        };
        let report = run(parameters, Arc::clone(population), More::default()).expect("runs");
        assert_eq!(report.problem, None);
        report.result
    }

    /// Five rounds of the unchanged pipeline, and with slower seals. The error probability is one in a thousand, because the test is run often.
    fn rounds_of(cadence: Cadence, slow_seals: Duration) -> Attribution {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench-world");
        let population = Arc::new(Population::new(32, &folder, 2).expect("proofs"));
        let order = [Duration::ZERO, slow_seals, slow_seals, Duration::ZERO];
        let round = |_| order.map(|slow| moment(&population, cadence, slow));
        let rounds: Vec<Round> = (0..5).map(round).collect();
        attribution(&rounds, Bar { level: 0.999, ..Bar::default() }).expect("parts")
    }

    /// Other tests run at the same time, so that a comparison may drown in their noise. It then says that it shows nothing, and is made again.
    #[test]
    fn a_slowed_signer_is_found_and_named() {
        let mut of = rounds_of(Cadence::PerBatch, Duration::from_millis(40));
        for _ in 0..3 {
            if of.total.finding != Finding::InsideVariance {
                break;
            }
            of = rounds_of(Cadence::PerBatch, Duration::from_millis(40));
        }
        assert_eq!(of.total.finding, Finding::Slower, "{}", of.table());
        let slower = of.parts.iter().filter(|row| row.finding == Finding::Slower);
        assert_eq!(slower.map(|row| row.name.as_str()).collect::<Vec<_>>(), ["sealing"], "{}", of.table());
    }

    #[test]
    fn one_build_in_turn_with_itself_shows_no_difference() {
        let of = rounds_of(Cadence::Group, Duration::ZERO);
        let found = of.parts.iter().chain([&of.total]).find(|row| row.finding != Finding::InsideVariance);
        assert!(found.is_none(), "{}", of.table());
    }
}
