//! Another build of this program and this one, in turn, and the ratios of what they print.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::paired::Ratios;
use crate::record::Report;

/// What to run.
#[derive(Clone, Debug)]
pub struct Against {
    /// The other build's program.
    pub other: PathBuf,
    /// What it is, for the record.
    pub other_is: String,
    /// Each runs both programs twice: the other, this, this, the other.
    pub rounds: usize,
    /// The command of both, without `--json`.
    pub arguments: Vec<String>,
}

/// Names of what is compared: medians and rates.
const FIGURES: [&str; 3] = ["p50_us", "stages_us", "batches_per_s"];

/// Runs it.
///
/// # Errors
/// When a program does not run, prints no record, or they have no figure in common.
pub fn against(parameters: &Against) -> Result<Report, Failure> {
    let own = std::env::current_exe().map_err(Failure::in_step("this program's path"))?;
    let mut quadruples: BTreeMap<String, Vec<[f64; 4]>> = BTreeMap::new();
    for _ in 0..parameters.rounds {
        let run = |program: &Path| figures_of(program, &parameters.arguments);
        let runs = [run(&parameters.other)?, run(&own)?, run(&own)?, run(&parameters.other)?];
        for figure in runs[0].keys().filter(|figure| runs.iter().all(|run| run.contains_key(*figure))) {
            let of = runs.each_ref().map(|run| run[figure]);
            quadruples.entry(figure.clone()).or_default().push(of);
        }
    }
    if quadruples.is_empty() {
        return Err(Failure::usage("the two programs print no median and no rate of the same name"));
    }
    Ok(report(parameters, &quadruples))
}

fn report(parameters: &Against, quadruples: &BTreeMap<String, Vec<[f64; 4]>>) -> Report {
    let mut summary = format!("this build over {}: ratio of means (95 % interval)\n", parameters.other_is);
    let mut figures = Map::new();
    for (figure, runs) in quadruples {
        let ratios = Ratios::of_quadruples(runs);
        let interval = ratios.interval();
        let line = format!("{:.3} ({:.3} to {:.3})", interval.mean, interval.low, interval.high);
        summary.push_str(&format!("  {figure:<44} {line}\n"));
        let side = |at: [usize; 2]| runs.iter().flat_map(|run| at.map(|at| run[at])).collect::<Vec<_>>();
        figures.insert(
            figure.clone(),
            json!({ "ratio": interval.json(), "other_runs": side([0, 3]), "own_runs": side([1, 2]) }),
        );
    }
    let result = json!({
        "other": parameters.other_is, "arguments": parameters.arguments.join(" "), "rounds": parameters.rounds,
        "figures": figures,
    });
    Report { summary, result, problem: None }
}

/// The medians and rates in the record that a program prints, by their place in it.
fn figures_of(program: &Path, arguments: &[String]) -> Result<BTreeMap<String, f64>, Failure> {
    let output = Command::new(program).args(arguments).arg("--json").output();
    let output = output.map_err(Failure::in_step("the other program"))?;
    if !output.status.success() {
        let cause = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::fault(format!("{}: {}", program.display(), cause.trim())));
    }
    let record =
        serde_json::from_slice(&output.stdout).map_err(Failure::in_step("the record that it printed"))?;
    let mut figures = BTreeMap::new();
    collect(&record, String::new(), false, &mut figures);
    Ok(figures)
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
            "stages_us": { "match": 1.0, "seal": 3.0 }, "iterations": 400, "mode": "plain",
        });
        let mut figures = BTreeMap::new();
        collect(&record, String::new(), false, &mut figures);
        let found: Vec<_> = figures.iter().map(|(place, value)| (place.as_str(), *value)).collect();
        let expected = [
            ("/process/batches_per_s", 7.0),
            ("/process/decide/p50_us", 2.5),
            ("/stages_us/match", 1.0),
            ("/stages_us/seal", 3.0),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_ratio_is_of_this_build_over_the_other() {
        let parameters =
            Against { other: PathBuf::new(), other_is: "old".into(), rounds: 2, arguments: vec![] };
        let runs =
            BTreeMap::from([("/p50_us".to_owned(), vec![[10.0, 5.0, 5.0, 10.0], [8.0, 4.0, 4.0, 8.0]])]);
        let report = report(&parameters, &runs);
        assert!(report.summary.contains("0.500 (0.500 to 0.500)"), "{}", report.summary);
        assert_eq!(report.result["figures"]["/p50_us"]["other_runs"], json!([10.0, 10.0, 8.0, 8.0]));
    }
}
