//! Another build of this program, or another command, alternating with this one: the ratios of their printed figures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use crate::Failure;
use crate::Report;
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
}

/// Names of the compared figures: medians and rates.
const FIGURES: [&str; 5] = ["p50_us", "stages_us", "batches_per_s", "auth_per_s", "best_per_s"];

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
    let result = json!({
        "other": parameters.other_is, "arguments": parameters.arguments.join(" "),
        "other_arguments": parameters.other_arguments.join(" "), "rounds": rounds.len(),
        "figures": figures,
    });
    Ok(Report { summary, result, problem: None })
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
    use super::*;

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
        };
        let round = |runs: [f64; 4]| runs.map(|us| json!({ "p50_us": us }));
        let rounds = [round([10.0, 5.0, 5.0, 10.0]), round([8.0, 4.0, 4.0, 8.0])];
        let report = report(&parameters, &rounds).expect("a figure");
        assert!(report.summary.contains("0.500 (0.500 to 0.500)"), "{}", report.summary);
        assert_eq!(report.result["figures"]["/p50_us"]["other_runs"], json!([10.0, 10.0, 8.0, 8.0]));
    }
}
