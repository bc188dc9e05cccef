//! A folder of records as a page: the machine, what it did, and caveats about its numbers, with plots.

mod contention;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Failure;
use crate::chart::{self, Bar, Chart, Dated, Trace};
use crate::history::History;
use crate::record;

/// A record and the name of its file, without `.json`.
struct Record {
    name: String,
    value: Value,
}

/// What a page says of each benchmark, where its record has it: a JSON pointer and what the number is.
const HEADLINES: [(&str, &[(&str, &str)]); 12] = [
    ("run", &[("/auth_per_s", "authentications/s"), ("/auth_per_s_long", "in the long window")]),
    (
        "stages",
        &[
            ("/stages_us/total", "us for a batch of 32"),
            ("/share_of_sequential_read", "of a sequential read"),
        ],
    ),
    ("scaling", &[("/check/worst_error", "of the measured rate is the model's worst error")]),
    ("peers", &[("/times_faster", "times as fast as fhe.rs")]),
    ("ladder", &[("/lookups/raw_million_per_s", "million look-ups/s of the raw map")]),
    (
        "registry",
        &[("/registries/arc_swap_cached/of_rwlock/mean", "times the reads of a lock, by a cached ArcSwap")],
    ),
    ("load", &[("/best_per_s", "logins/s over HTTPS")]),
    (
        "fleet",
        &[
            ("/best_logins_per_s/one", "logins/s on one node"),
            ("/best_logins_per_s/three", "on three that share the machine"),
        ],
    ),
    ("overhead", &[("/overhead_percent/mean", "% slower than over the raw map")]),
    ("sign", &[("/bundle/sign_us", "us for three signatures")]),
    ("remote", &[("/process/decide/of_local/mean", "times as long as in process")]),
    ("cache", &[("/zipf/hit_ratio/engine", "of Zipf requests hit")]),
];

/// What of the host a page shows.
const HOST: [(&str, &str); 8] = [
    ("label", "label"),
    ("cpu_model", "processor"),
    ("logical_cpus", "logical processors"),
    ("physical_cores", "physical cores"),
    ("memory_kib", "memory, KiB"),
    ("frequency_governor", "governor"),
    ("kernel", "kernel"),
    ("tier", "instructions"),
];

/// Writes `README.md` and its plots into `folder` and returns how many records they are of.
///
/// # Errors
/// [`Failure::Usage`] when the folder has no record; when it cannot be read or written, or a file in it is no record.
pub fn report(folder: &Path) -> Result<usize, Failure> {
    let records = read(folder)?;
    let Some(first) = records.first() else {
        let folder = folder.display();
        return Err(Failure::usage(format!("{folder} has no record: write some with --record FOLDER/NAME")));
    };
    let runs: Vec<&Record> = records.iter().filter(|record| record.value["benchmark"] == "run").collect();
    let mut page = String::from(
        "# Records of one machine\n\nMade by `trefoil-bench report` from the files beside it. [METHODOLOGY](../../METHODOLOGY.md) says what the numbers \
         mean, [LIMITS](../../LIMITS.md) what they do not.\n\n",
    );
    machine(&mut page, &first.value);
    doubts(&mut page, &records);
    if !runs.is_empty() {
        plots(&mut page, folder, &runs)?;
        over_days(&mut page, folder)?;
        worker_time(&mut page, &runs);
        dearest(&mut page, &runs);
    }
    for record in &records {
        match record.value["benchmark"].as_str() {
            Some("scaling") => contention::scaling(&mut page, folder, record)?,
            Some("load") => saturation(&mut page, folder, record)?,
            Some("ladder") => {
                rungs(&mut page, folder, record)?;
                contention::contenders(&mut page, folder, record)?;
            }
            Some("registry") => contention::registry(&mut page, record),
            _ => {}
        }
    }
    records.iter().for_each(|record| against_the_machine(&mut page, record));
    table(&mut page, &records);
    let path = folder.join("README.md");
    fs::write(&path, page).map_err(Failure::in_step(format_args!("writing {}", path.display())))?;
    Ok(records.len())
}

fn read(folder: &Path) -> Result<Vec<Record>, Failure> {
    let named = |path: PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Record { name, value: record::read(&path)? })
    };
    record::files(folder)?.into_iter().map(named).collect()
}

fn machine(page: &mut String, record: &Value) {
    page.push_str("## Machine\n\n| | |\n|---|---|\n");
    for (key, name) in HOST {
        line(page, &[name.to_owned(), shown(&record["host"][key])]);
    }
    let build = &record["build"];
    let revision = build["revision"].as_str().unwrap_or("unknown");
    line(page, &["revision".to_owned(), format!("`{}`", revision.get(..12).unwrap_or(revision))]);
    line(page, &["compiler".to_owned(), shown(&build["rustc"])]);
    page.push('\n');
}

/// Caveats about the numbers, each once.
fn doubts(page: &mut String, records: &[Record]) {
    let of = |record: &Record| record.value["warnings"].as_array().cloned().unwrap_or_default();
    let mut all: BTreeSet<String> = records.iter().flat_map(of).map(|warning| shown(&warning)).collect();
    let dirty = records.iter().filter(|record| record.value["build"]["dirty"] == true);
    all.extend(dirty.map(|record| format!("{} was built from uncommitted sources", record.name)));
    let wrong = records.iter().filter(|record| !record.value["error"].is_null());
    all.extend(wrong.map(|record| format!("{} FAILED: {}", record.name, shown(&record.value["error"]))));
    if all.is_empty() {
        return;
    }
    page.push_str("## Caveats\n\n");
    all.iter().for_each(|doubt| writeln!(page, "* {doubt}").unwrap_or_default());
    page.push('\n');
}

fn plots(page: &mut String, folder: &Path, runs: &[&Record]) -> Result<(), Failure> {
    let bars: Vec<Bar> = runs
        .iter()
        .map(|record| {
            let windows: Vec<f64> = numbers(&record.value["auth_per_s_runs"]);
            Bar {
                name: record.name.clone(),
                text: grouped(record.value["auth_per_s"].as_f64().unwrap_or(f64::NAN)),
                value: record.value["auth_per_s"].as_f64().unwrap_or(f64::NAN),
                low: windows.iter().copied().fold(f64::NAN, f64::min),
                high: windows.iter().copied().fold(f64::NAN, f64::max),
            }
        })
        .collect();
    let chart = Chart {
        title: "Authentications a second: median and range of the windows".to_owned(),
        x: "authentications/s".to_owned(),
        y: String::new(),
    };
    chart::write(&folder.join("rates.svg"), &chart.bars(&bars, None))?;
    page.push_str("## Rates\n\n![Authentications a second](rates.svg)\n\n| record | workers | cache | cadence | median/s | windows/s | long window/s | explained |\n|---|---|---|---|---|---|---|---|\n");
    for record in runs {
        let of = |key: &str| shown(&record.value[key]);
        let windows: Vec<String> =
            numbers(&record.value["auth_per_s_runs"]).iter().map(|rate| grouped(*rate)).collect();
        let rate = |key: &str| record.value[key].as_f64().map_or_else(|| "-".to_owned(), grouped);
        let explained = record.value["explained"]
            .as_f64()
            .map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0));
        line(
            page,
            &[
                record.name.clone(),
                of("workers"),
                of("cache"),
                of("cadence"),
                rate("auth_per_s"),
                windows.join(", "),
                rate("auth_per_s_long"),
                explained,
            ],
        );
    }
    page.push('\n');
    Ok(())
}

/// What the same kind of machine did before, if it did.
fn over_days(page: &mut String, folder: &Path) -> Result<(), Failure> {
    let Some(history) = History::until(folder, "/auth_per_s")? else { return Ok(()) };
    chart::write(&folder.join("history.svg"), &history.svg())?;
    page.push_str("## Up to that day\n\n![Authentications a second over the days](history.svg)\n\n");
    page.push_str(&history.table());
    page.push_str("\nAuthentications a second: median, lowest and highest window.\n\n");
    Ok(())
}

/// Where the workers' time went, in the longest window of each run.
fn worker_time(page: &mut String, runs: &[&Record]) {
    let of = |record: &Record| {
        let long = &record.value["long_window"]["worker_time"]["us_per_batch"];
        if long.is_null() {
            record.value["windows"][0]["worker_time"]["us_per_batch"].clone()
        } else {
            long.clone()
        }
    };
    let with: Vec<(&str, Value)> = runs
        .iter()
        .map(|record| (record.name.as_str(), of(record)))
        .filter(|(_, us)| us.is_object())
        .collect();
    let Some((_, first)) = with.first() else { return };
    let purposes: Vec<String> =
        first.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    page.push_str("## A worker's time, us for each batch of 32\n\n");
    line(page, &std::iter::once("record".to_owned()).chain(purposes.iter().cloned()).collect::<Vec<_>>());
    line(page, &vec!["---".to_owned(); purposes.len() + 1]);
    for (name, us) in &with {
        let cells =
            purposes.iter().map(|purpose| us[purpose].as_f64().map_or_else(|| "-".to_owned(), grouped));
        line(page, &std::iter::once((*name).to_owned()).chain(cells).collect::<Vec<_>>());
    }
    page.push('\n');
}

/// The functions in which most samples of a profile ended.
fn dearest(page: &mut String, runs: &[&Record]) {
    for record in runs {
        let profile = &record.value["profile"];
        let Some(functions) = profile["dearest"].as_array() else { continue };
        writeln!(page, "## {}: the most expensive functions\n", record.name).unwrap_or_default();
        page.push_str("| function | share of samples |\n|---|--:|\n");
        for of in functions {
            let percent = of["percent"].as_f64().unwrap_or(f64::NAN);
            line(page, &[format!("`{}`", shown(&of["function"])), format!("{percent:.1} %")]);
        }
        let (samples, graph) = (&profile["samples"], shown(&profile["flame_graph"]));
        writeln!(page, "\n{samples} samples; [flame graph]({graph})\n").unwrap_or_default();
        allocated(page, &profile["allocations"]);
    }
}

/// What look-ups keep of the raw map's rate under each observer of a ladder.
fn rungs(page: &mut String, folder: &Path, record: &Record) -> Result<(), Failure> {
    let Some(rungs) = record.value["lookups"]["rungs"].as_object() else { return Ok(()) };
    let of = |share: &Value, key: &str| share[key].as_f64().unwrap_or(f64::NAN);
    let mut bars: Vec<Bar> = rungs
        .iter()
        .map(|(name, rung)| (name, &rung["of_raw"]))
        .filter(|(_, share)| share.is_object())
        .map(|(name, share)| Bar {
            name: name.replace('_', " "),
            text: format!("{:.2}", of(share, "mean")),
            value: of(share, "mean"),
            low: of(share, "low"),
            high: of(share, "high"),
        })
        .collect();
    bars.sort_by(|one, other| one.value.total_cmp(&other.value));
    let chart = Chart {
        title: "Look-ups under each observer, as a share of the raw map's rate".to_owned(),
        x: "share of the raw map's rate, with its 95 % interval".to_owned(),
        y: String::new(),
    };
    let file = format!("{}.svg", record.name);
    chart::write(&folder.join(&file), &chart.bars(&bars, Some(1.0)))?;
    writeln!(page, "## {}: what observing costs\n\n![Share of the raw map's rate]({file})\n", record.name)
        .unwrap_or_default();
    Ok(())
}

/// Each stage beside what the machine could do of it at best, what is far below it in capitals.
fn against_the_machine(page: &mut String, record: &Record) {
    let limits = &record.value["limits"];
    let Some(stages) = limits["stages"].as_object().filter(|stages| !stages.is_empty()) else { return };
    let of = |from: &Value, key: &str| from[key].as_f64().map_or_else(|| "-".to_owned(), grouped);
    writeln!(page, "## {}: the stages against the machine\n", record.name).unwrap_or_default();
    page.push_str("| stage | us | possible, us | bound by | of possible | GB/s | vector operations/ns |\n|---|--:|--:|---|--:|--:|--:|\n");
    for (stage, limit) in stages {
        let share = 100.0 * limit["share_of_possible"].as_f64().unwrap_or(f64::NAN);
        let far = if limit["far_below"] == true { " **FAR BELOW THE MACHINE**" } else { "" };
        let cells = [
            format!("{stage}{far}"),
            of(limit, "achieved_us"),
            of(limit, "possible_us"),
            shown(&limit["bound_by"]),
            format!("{share:.0} %"),
            of(limit, "achieved_gb_per_s"),
            of(limit, "achieved_operations_per_ns"),
        ];
        line(page, &cells);
    }
    let possible = &limits["possible"];
    writeln!(
        page,
        "\nThis machine gives {} GB/s of memory, {} vector multiplications and {} other vector operations a nanosecond on one core.\n",
        of(possible, "gb_per_s"),
        of(possible, "multiplications_per_ns"),
        of(possible, "operations_per_ns")
    )
    .unwrap_or_default();
}

/// Part of the best rate at which a sweep counts as saturated.
const SATURATED: f64 = 0.9;

/// Rate and latency over the connections of a load, and the knee: from there on more connections bring latency and little else.
fn saturation(page: &mut String, folder: &Path, record: &Record) -> Result<(), Failure> {
    let loops: Vec<&Value> = record.value["closed"].as_array().into_iter().flatten().collect();
    let of = |phase: &Value, key: &str| phase[key].as_f64().unwrap_or(f64::NAN);
    let best = loops.iter().map(|phase| of(phase, "logins_per_s")).fold(0.0, f64::max);
    let Some(knee) = loops.iter().find(|phase| of(phase, "logins_per_s") >= SATURATED * best) else {
        return Ok(());
    };
    writeln!(page, "## {}: saturation over HTTPS\n", record.name).unwrap_or_default();
    for (key, axis, range) in
        [("logins_per_s", "logins a second", "logins_per_s_runs"), ("p99_ms", "99th percentile, ms", "")]
    {
        let points = loops.iter().map(|phase| {
            let (value, runs) = (of(phase, key), numbers(&phase[range]));
            let connections = of(phase, "connections");
            Dated {
                label: format!("{connections}"),
                at: connections.log2(),
                value,
                low: runs.iter().copied().fold(value, f64::min),
                high: runs.iter().copied().fold(value, f64::max),
            }
        });
        let traces = [Trace { name: String::new(), points: points.collect() }];
        let chart = Chart {
            title: format!("{}: {axis}, by connections; the knee is at {}", record.name, knee["connections"]),
            x: "connections, each with one request in flight".to_owned(),
            y: axis.to_owned(),
        };
        let file = format!("{}-{}.svg", record.name, key.replace('_', "-"));
        chart::write(&folder.join(&file), &chart.dates(&traces))?;
        writeln!(page, "![{axis} by connections]({file})\n").unwrap_or_default();
    }
    page.push_str(
        "| connections | logins/s | lowest and highest phase | p50, ms | p99, ms |\n|--:|--:|--:|--:|--:|\n",
    );
    for phase in &loops {
        let runs = numbers(&phase["logins_per_s_runs"]);
        let ends =
            [runs.iter().copied().fold(f64::NAN, f64::min), runs.iter().copied().fold(f64::NAN, f64::max)];
        let cells = [of(phase, "logins_per_s"), of(phase, "p50_ms"), of(phase, "p99_ms")].map(grouped);
        let [rate, p50, p99] = cells;
        let range = ends.map(grouped).join("-");
        line(page, &[phase["connections"].to_string(), rate, range, p50, p99]);
    }
    writeln!(
        page,
        "\nThe knee is at {} connections, the fewest with {:.0} % of the best rate: {} of {} logins/s. Past it a request waits for others.\n",
        knee["connections"],
        100.0 * SATURATED,
        grouped(of(knee, "logins_per_s")),
        grouped(best)
    )
    .unwrap_or_default();
    Ok(())
}

/// By whom, for each batch.
fn allocated(page: &mut String, allocations: &Value) {
    let Some(per_batch) = allocations["per_batch"].as_object() else { return };
    let each: Vec<String> = per_batch
        .iter()
        .map(|(by, count)| format!("{by} {}", grouped(count.as_f64().unwrap_or(f64::NAN))))
        .collect();
    let bytes = grouped(allocations["bytes_per_batch"].as_f64().unwrap_or(f64::NAN));
    writeln!(page, "Allocations of a batch: {}; {bytes} bytes in all.\n", each.join(", "))
        .unwrap_or_default();
}

fn table(page: &mut String, records: &[Record]) {
    page.push_str("## Records\n\n| record | says | made by |\n|---|---|---|\n");
    for Record { name, value } in records {
        let known = HEADLINES.iter().find(|(benchmark, _)| value["benchmark"] == **benchmark);
        let says: Vec<String> = known
            .into_iter()
            .flat_map(|(_, headlines)| *headlines)
            .filter_map(|(pointer, what)| {
                let number = value.pointer(pointer)?.as_f64()?;
                Some(format!("{} {what}{}", grouped(number), came(value)))
            })
            .collect();
        line(
            page,
            &[format!("[{name}]({name}.json)"), says.join("; "), format!("`{}`", shown(&value["command"]))],
        );
    }
}

/// How the logins of a load came.
fn came(record: &Value) -> String {
    match (record["benchmark"].as_str(), record["batch"].as_u64()) {
        (Some("load"), Some(1)) => ", one in a request".to_owned(),
        (Some("load"), Some(logins)) => format!(", in requests of {logins}"),
        _ => String::new(),
    }
}

fn line(page: &mut String, cells: &[String]) {
    writeln!(page, "| {} |", cells.join(" | ")).unwrap_or_default();
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.replace('|', "\\|"),
        Value::Null => "not known".to_owned(),
        other => other.to_string(),
    }
}

/// Three digits that matter at least, thousands apart.
pub(crate) fn grouped(number: f64) -> String {
    let decimals = match number.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 3,
    };
    let text = format!("{number:.decimals$}");
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), ""), |(whole, rest)| (whole, rest));
    let digits = whole.trim_start_matches('-').len();
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        let left = whole.len() - at;
        if digit.is_ascii_digit() && left < digits && left % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if rest.is_empty() { out } else { format!("{out}.{rest}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(benchmark: &str, more: Value) -> String {
        let mut value = json!({
            "format": "trefoil-bench/1", "benchmark": benchmark, "command": format!("trefoil-bench {benchmark}"),
            "host": {"cpu_model": "a processor | of note", "physical_cores": 2}, "build": {"revision": "0123456789abcdef"},
        });
        if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
            value.extend(more);
        }
        value.to_string()
    }

    #[test]
    fn a_folder_becomes_a_page_with_every_run_every_doubt_and_a_plot() {
        let folder = tempfile::tempdir().expect("folder");
        let at = |name: &str| folder.path().join(name);
        let run = json!({
            "auth_per_s": 12_345.6, "auth_per_s_runs": [12_000.0, 12_345.6, 13_000.0], "auth_per_s_long": 12_100.0, "workers": 2,
            "cache": "engine", "cadence": "group", "explained": 0.987, "warnings": ["a virtual machine"],
            "profile": {"allocations": {"per_batch": {"pipeline": 3.25, "requests": 64.0}, "bytes_per_batch": 9000.0}, "samples": 70, "flame_graph": "f.svg", "dearest": [{"function": "sha256_chain", "percent": 12.25}]},
            "long_window": {"worker_time": {"us_per_batch": {"match": 75.25, "waiting": 1.5}}},
        });
        fs::write(at("run-a.json"), record("run", run)).expect("written");
        fs::write(at("peers.json"), record("peers", json!({"times_faster": 22.93}))).expect("written");
        let limits = json!({
            "possible": {"gb_per_s": 40.0, "multiplications_per_ns": 7.0, "operations_per_ns": 14.0},
            "stages": {"digest": {"achieved_us": 90.0, "possible_us": 5.0, "bound_by": "operations", "share_of_possible": 0.055, "far_below": true,
                "achieved_gb_per_s": 0.0, "achieved_operations_per_ns": 0.4}},
        });
        fs::write(at("stages.json"), record("stages", json!({"limits": limits}))).expect("written");
        let rungs = json!({"three_locks": {"of_raw": {"mean": 0.17, "low": 0.16, "high": 0.18}}, "raw": {}});
        fs::write(at("ladder.json"), record("ladder", json!({"lookups": {"rungs": rungs}})))
            .expect("written");
        fs::write(at("notes.txt"), "not a record").expect("written");
        assert_eq!(report(folder.path()).expect("a page"), 4);
        let page = fs::read_to_string(at("README.md")).expect("a page");
        for part in [
            "| processor | a processor \\| of note |",
            "`0123456789ab`",
            "* a virtual machine",
            "| run-a | 2 | engine | group | 12,346 | 12,000, 12,346, 13,000 | 12,100 | 98.7 % |",
            "| run-a | 75.2 | 1.500 |",
            "| `sha256_chain` | 12.2 % |",
            "70 samples; [flame graph](f.svg)",
            "Allocations of a batch: pipeline 3.250, requests 64.0; 9,000 bytes in all.",
            "22.9 times as fast as fhe.rs",
            "| digest **FAR BELOW THE MACHINE** | 90.0 | 5.000 | operations | 6 % |",
            "gives 40.0 GB/s of memory, 7.000 vector multiplications",
        ] {
            assert!(page.contains(part), "{part}:\n{page}");
        }
        let rates = fs::read_to_string(at("rates.svg")).expect("a plot");
        assert!(rates.contains("run-a") && rates.contains(">12,346<") && !rates.contains(" %"), "{rates}");
        let ladder = fs::read_to_string(at("ladder.svg")).expect("a plot");
        assert!(
            ladder.contains("three locks") && ladder.contains(">0.17<") && !ladder.contains(">raw<"),
            "{ladder}"
        );
        assert!(!page.contains("history.svg"), "one day is no history");
    }

    #[test]
    fn a_sweep_over_connections_has_its_knee_where_more_bring_no_more() {
        let folder = tempfile::tempdir().expect("folder");
        let phase = |connections: u32, rate: f64, p99: f64| json!({"connections": connections, "logins_per_s": rate, "p50_ms": 1.0, "p99_ms": p99, "logins_per_s_runs": [0.9 * rate, rate]});
        let closed =
            [phase(1, 100.0, 9.0), phase(8, 920.0, 10.0), phase(32, 1000.0, 40.0), phase(64, 990.0, 80.0)];
        fs::write(folder.path().join("load.json"), record("load", json!({"closed": closed})))
            .expect("written");
        report(folder.path()).expect("a page");
        let page = fs::read_to_string(folder.path().join("README.md")).expect("a page");
        assert!(
            page.contains(
                "The knee is at 8 connections, the fewest with 90 % of the best rate: 920 of 1,000"
            ),
            "{page}"
        );
        assert!(page.contains("| 32 | 1,000 | 900-1,000 | 1.000 | 40.0 |"), "{page}");
        for plot in ["load-logins-per-s.svg", "load-p99-ms.svg"] {
            let svg = fs::read_to_string(folder.path().join(plot)).expect("a plot");
            assert!(page.contains(plot) && svg.contains(">64</text>") && !svg.contains("NaN"), "{svg}");
        }
    }

    #[test]
    fn a_page_says_how_many_logins_came_in_a_request() {
        let folder = tempfile::tempdir().expect("folder");
        for (name, batch, rate) in [("load", 1, 15_571.0), ("load-batches", 32, 49_632.0)] {
            let load = record("load", json!({"batch": batch, "best_per_s": rate}));
            fs::write(folder.path().join(format!("{name}.json")), load).expect("written");
        }
        report(folder.path()).expect("a page");
        let page = fs::read_to_string(folder.path().join("README.md")).expect("a page");
        for part in [
            "| 15,571 logins/s over HTTPS, one in a request |",
            "| 49,632 logins/s over HTTPS, in requests of 32 |",
        ] {
            assert!(page.contains(part), "{part}:\n{page}");
        }
    }

    #[test]
    fn a_page_has_no_table_for_a_record_without_its_figures() {
        for (floor, has_table) in [(json!(21), true), (Value::Null, false)] {
            let folder = tempfile::tempdir().expect("folder");
            let registry = json!({"registries": {}, "timed_read_floor_ns": floor});
            fs::write(folder.path().join("registry.json"), record("registry", registry)).expect("written");
            report(folder.path()).expect("a page");
            let page = fs::read_to_string(folder.path().join("README.md")).expect("a page");
            assert_eq!(page.contains("an entry that all threads read"), has_table, "{page}");
        }
    }

    #[test]
    fn a_page_shows_what_the_same_machine_did_on_days_before() {
        let records = tempfile::tempdir().expect("folder");
        let days = ["2026-11-23-box", "2026-12-01-box", "2026-12-02-box"];
        for (day, rate) in days.into_iter().zip([1000.0, 2000.0, 3000.0]) {
            let folder = records.path().join(day);
            fs::create_dir(&folder).expect("folder");
            fs::write(folder.join("run-a.json"), record("run", json!({"auth_per_s": rate})))
                .expect("written");
        }
        let folder = records.path().join(days[1]);
        report(&folder).expect("a page");
        let page = fs::read_to_string(folder.join("README.md")).expect("a page");
        assert!(page.contains("| 2026-11-23 | `0123456789ab` | 1,000 |"), "{page}");
        assert!(page.contains("2,000") && !page.contains("2026-12-02"), "no day after its own: {page}");
        assert!(folder.join("history.svg").exists());
    }

    #[test]
    fn a_folder_without_records_and_a_file_that_is_none_are_refused_by_name() {
        let folder = tempfile::tempdir().expect("folder");
        let why = report(folder.path()).expect_err("empty").to_string();
        assert!(why.contains("has no record"), "{why}");
        fs::write(folder.path().join("x.json"), "{}").expect("written");
        let why = report(folder.path()).expect_err("no record").to_string();
        assert!(why.contains("x.json is not a record"), "{why}");
    }

    #[test]
    fn thousands_are_apart() {
        let shown: Vec<String> = [0.5, 12.34, -1234.5, 999.5, 1_234_567.0].map(grouped).into();
        assert_eq!(shown, ["0.500", "12.3", "-1,234", "1,000", "1,234,567"]);
    }
}
