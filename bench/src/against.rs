//! Another build of this program, or another command, alternating with this one: the ratios of their printed figures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::args::count;
use crate::paired::{Rounds, Side};
use crate::{Failure, Report};

/// Both run the command after `--` in turn (other, this, this, other). Every median and rate that both print is compared.
#[derive(Debug, Args)]
pub(crate) struct Against {
    /// Program of the other build [default: this one]
    #[arg(long, value_name = "PROGRAM", required_unless_present = "other_arguments")]
    other: Option<PathBuf>,
    /// Arguments of the other program after the command
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true, default_value = "")]
    other_arguments: String,
    /// Description of the other build, for the record
    #[arg(long, value_name = "TEXT", default_value = "the other build")]
    other_is: String,
    /// Rounds of four runs
    #[arg(long, default_value_t = 6, value_parser = count::<2, 1000>)]
    rounds: usize,
    /// A command of trefoil-bench, with its arguments
    #[arg(last = true, required = true)]
    arguments: Vec<String>,
}

/// Names of the compared figures: medians and rates.
const FIGURES: [&str; 5] = ["p50_us", "stages_us", "batches_per_s", "auth_per_s", "best_per_s"];

/// Runs it.
///
/// # Errors
/// When a program does not run or prints no record, or the records have no figure in common.
pub(crate) fn against(args: &Against) -> Result<Report, Failure> {
    let own = std::env::current_exe().map_err(Failure::in_step("this program's path"))?;
    let words = args.other_arguments.split_whitespace().map(str::to_owned);
    let others: Vec<String> = args.arguments.iter().cloned().chain(words).collect();
    let run = |side| match side {
        Side::A => record_of(args.other.as_deref().unwrap_or(&own), &others),
        Side::B => record_of(&own, &args.arguments),
    };
    let rounds = (0..args.rounds).map(|_| {
        let [a, b, c, d] = Rounds::once(run);
        Ok([a?, b?, c?, d?])
    });
    report(args, &rounds.collect::<Result<Vec<_>, Failure>>()?)
}

fn report(args: &Against, rounds: &[[Value; 4]]) -> Result<Report, Failure> {
    let mut compared: BTreeMap<String, Rounds<f64>> = BTreeMap::new();
    for round in rounds {
        let runs = round.each_ref().map(figures_of);
        for figure in runs[0].keys().filter(|figure| runs.iter().all(|run| run.contains_key(*figure))) {
            compared.entry(figure.clone()).or_default().0.push(runs.each_ref().map(|run| run[figure]));
        }
    }
    if compared.is_empty() {
        return Err(Failure::usage(
            "the two programs print no median or rate with the same name: compare the same command",
        ));
    }
    let mut summary = format!("this build over {}: ratio of means (95 % interval)\n", args.other_is);
    let mut figures = Map::new();
    for (figure, runs) in &compared {
        let interval = runs.ratio(|run| *run);
        let line = format!("{:.3} ({:.3} to {:.3})", interval.mean, interval.low, interval.high);
        summary.push_str(&format!("  {figure:<44} {line}\n"));
        let side = |side| runs.runs(side).copied().collect::<Vec<_>>();
        let fields =
            json!({ "ratio": interval.json(), "other_runs": side(Side::A), "own_runs": side(Side::B) });
        figures.insert(figure.clone(), fields);
    }
    let result = json!({
        "other": args.other_is, "arguments": args.arguments.join(" "), "other_arguments": args.other_arguments,
        "rounds": rounds.len(), "figures": figures,
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
        let args = Against {
            other: None,
            other_is: "old".into(),
            rounds: 2,
            arguments: vec![],
            other_arguments: String::new(),
        };
        let round = |runs: [f64; 4]| runs.map(|us| json!({ "p50_us": us }));
        let rounds = [round([10.0, 5.0, 5.0, 10.0]), round([8.0, 4.0, 4.0, 8.0])];
        let report = report(&args, &rounds).expect("a figure");
        assert!(report.summary.contains("0.500 (0.500 to 0.500)"), "{}", report.summary);
        assert_eq!(report.result["figures"]["/p50_us"]["other_runs"], json!([10.0, 10.0, 8.0, 8.0]));
    }
}
