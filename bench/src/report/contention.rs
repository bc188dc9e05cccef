//! Of a page: how the rate grows with the workers, what locks cost with the contenders, what a shared registry costs its readers.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use trefoil_lab::ladder::contenders;

use super::{Record, grouped, line, shown};
use crate::Failure;
use crate::chart;
use crate::scaling;

/// Measured and predicted rates by workers, and the model's other machines.
pub(super) fn scaling(page: &mut String, folder: &Path, record: &Record) -> Result<(), Failure> {
    let Record { name, value } = record;
    let file = format!("{name}.svg");
    chart::write(&folder.join(&file), &scaling::drawing(value))?;
    let cores = &value["physical_cores"];
    let _ =
        writeln!(page, "## {name}: the rate by workers, on {cores} cores\n\n![Rates by workers]({file})\n");
    let check = &value["check"];
    let missed: Vec<String> = list(&check["missed"]).iter().map(shown).collect();
    let verdict = match missed.len() {
        0 => "None was missed.".to_owned(),
        count => format!("**{count} were missed: {}.**", missed.join(", ")),
    };
    let _ = writeln!(
        page,
        "The model knows what each step costs alone and has to predict {} rates, each within {:.0} %. {verdict} The worst error is {:+.1} % ({}). \
         Dashed curves are a model's output: machines with a core for each worker, {} GB/s of memory and a dispatcher.\n",
        check["points"],
        100.0 * number(check, "error_max"),
        100.0 * number(check, "worst_error"),
        shown(&check["worst"]),
        value["model"]["memory_gb_per_s"],
    );
    page.push_str("| cadence | cache | workers | measured/s | all rounds | model/s | error | a million cost |\n|---|---|--:|--:|---|--:|--:|--:|\n");
    for point in list(&value["points"]) {
        let runs: Vec<String> =
            list(&point["auth_per_s_runs"]).iter().filter_map(Value::as_f64).map(grouped).collect();
        let shared = if point["oversubscribed"] == true { ", sharing cores" } else { "" };
        let price =
            point["price_per_million"].as_f64().map_or_else(|| "-".to_owned(), |price| format!("{price:.5}"));
        let cells = [
            shown(&point["cadence"]),
            shown(&point["cache"]),
            format!("{}{shared}", point["workers"]),
            grouped(number(&point, "auth_per_s")),
            runs.join(", "),
            grouped(number(&point, "model_auth_per_s")),
            format!(
                "{:+.1} %{}",
                100.0 * number(&point, "error"),
                if point["missed"] == true { " **missed**" } else { "" }
            ),
            price,
        ];
        line(page, &cells);
    }
    if let Some(price) = value["price_per_hour"].as_f64() {
        let _ = writeln!(page, "\nA million authentications cost that at {price} an hour, as stated.");
    }
    page.push('\n');
    Ok(())
}

/// What each lock and each shared counter costs by the number of threads that want it.
pub(super) fn contenders(page: &mut String, folder: &Path, record: &Record) -> Result<(), Failure> {
    let contention = &record.value["contenders"];
    let Some(instruments) = contention["instruments"].as_object() else { return Ok(()) };
    let file = format!("{}-contenders.svg", record.name);
    chart::write(&folder.join(&file), &contenders::drawing(contention))?;
    let _ = writeln!(
        page,
        "## {}: one lock or counter, by contenders on {} processors\n\n![Cost by contenders]({file})\n\nNanoseconds of a core for each operation, \
         waiting included.\n",
        record.name, contention["logical_cpus"]
    );
    let numbers: Vec<String> = list(&contention["contenders"]).iter().map(shown).collect();
    line(
        page,
        &["instrument", "operation"]
            .map(str::to_owned)
            .into_iter()
            .chain(numbers.iter().cloned())
            .collect::<Vec<_>>(),
    );
    let rules = ["---", "---"].into_iter().chain(numbers.iter().map(|_| "--:"));
    line(page, &rules.map(str::to_owned).collect::<Vec<_>>());
    for (name, instrument) in instruments {
        let ns =
            numbers.iter().map(|contenders| grouped(number(&instrument[format!("c{contenders}")], "ns")));
        let cells = [name.replace('_', " "), format!("`{}`", shown(&instrument["what"]))];
        line(page, &cells.into_iter().chain(ns).collect::<Vec<_>>());
    }
    page.push('\n');
    Ok(())
}

/// Single reads of a registry that all threads read.
pub(super) fn registry(page: &mut String, record: &Record) {
    let Some(registries) = record.value["registries"].as_object() else { return };
    // A record of an earlier form has no such figures.
    if record.value["timed_read_floor_ns"].is_null() {
        return;
    }
    let threads: Vec<String> = list(&record.value["threads"]).iter().map(shown).collect();
    let _ = writeln!(
        page,
        "## {}: an entry that all threads read\n\nEach cell: with a writer, without. A timed read that does nothing takes {} ns; that is in each percentile.\n",
        record.name, record.value["timed_read_floor_ns"]
    );
    page.push_str("| registry | threads | p50, ns | p99, ns | processor time, ns | waits/s | preemptions/s |\n|---|--:|--:|--:|--:|--:|--:|\n");
    for (name, registry) in registries {
        for threads in &threads {
            let cell = &registry[format!("t{threads}")];
            if cell["with_writer"].is_null() {
                continue;
            }
            let both = |figure: &str| {
                ["with_writer", "without_writer"]
                    .map(|writer| grouped(number(&cell[writer], figure)))
                    .join(", ")
            };
            let figures = [
                "p50_ns",
                "p99_ns",
                "cpu_ns_per_read",
                "voluntary_switches_per_s",
                "involuntary_switches_per_s",
            ];
            let cells = [name.replace('_', " "), threads.clone()];
            line(page, &cells.into_iter().chain(figures.map(both)).collect::<Vec<_>>());
        }
    }
    page.push('\n');
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn record(name: &str, value: Value) -> Record {
        Record { name: name.to_owned(), value }
    }

    #[test]
    fn a_page_says_which_points_a_model_missed_and_that_it_is_a_model() {
        let folder = tempfile::tempdir().expect("folder");
        let value = json!({
            "physical_cores": 2, "price_per_hour": 0.1,
            "check": {"error_max": 0.15, "missed": ["group engine 96"], "points": 2, "worst": "group engine 96", "worst_error": 0.19},
            "points": [{"cadence": "group", "cache": "engine", "workers": 96, "oversubscribed": true, "auth_per_s": 330_000.0,
                        "auth_per_s_runs": [330_000.0, 331_000.0], "model_auth_per_s": 392_700.0, "error": 0.19, "missed": true,
                        "price_per_million": 0.000_084}],
            "model": {"memory_gb_per_s": 400.0, "curves": []},
        });
        let mut page = String::new();
        scaling(&mut page, folder.path(), &record("scaling", value)).expect("written");
        for part in [
            "**1 were missed: group engine 96.** The worst error is +19.0 %",
            "| group | engine | 96, sharing cores | 330,000 | 330,000, 331,000 | 392,700 | +19.0 % **missed** | 0.00008 |",
            "a model's output",
            "at 0.1 an hour",
        ] {
            assert!(page.contains(part), "{part}:\n{page}");
        }
        assert!(fs::read_to_string(folder.path().join("scaling.svg")).expect("a plot").contains("<svg"));
    }

    #[test]
    fn a_page_has_what_locks_cost_and_what_readers_wait() {
        let folder = tempfile::tempdir().expect("folder");
        let value = json!({"contenders": {
            "contenders": [1, 96], "logical_cpus": 2,
            "instruments": {"locked_log": {"what": "write()", "c1": {"ns": 9.5}, "c96": {"ns": 250.0}}},
        }});
        let mut page = String::new();
        contenders(&mut page, folder.path(), &record("ladder", value)).expect("written");
        assert!(page.contains("| locked log | `write()` | 9.500 | 250 |"), "{page}");
        assert!(folder.path().join("ladder-contenders.svg").exists());
        let one = |p50: f64| json!({"p50_ns": p50, "p99_ns": 90.0, "cpu_ns_per_read": 20.0, "voluntary_switches_per_s": 0.0, "involuntary_switches_per_s": 7.0});
        let value = json!({"threads": [2], "timed_read_floor_ns": 21.0,
            "registries": {"dashmap": {"t2": {"with_writer": one(40.0), "without_writer": one(30.0)}}}});
        registry(&mut page, &record("registry", value));
        assert!(
            page.contains(
                "| dashmap | 2 | 40.0, 30.0 | 90.0, 90.0 | 20.0, 20.0 | 0.000, 0.000 | 7.000, 7.000 |"
            ),
            "{page}"
        );
        registry(&mut page, &record("old", json!({"registries": {"dashmap": {"t2": {}}}, "threads": [2]})));
    }
}
