//! A figure over the dates of the records, for each kind of machine.
//!
//! Records of one day and machine lie in a folder `DATE-MACHINE`. Figures of two kinds of machine are not comparable, so each kind has
//! a table and a plot of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::Failure;
use crate::chart::{Chart, Dated, Trace};
use crate::record;
use crate::report::grouped;

/// A day, as folders name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Day(String);

impl Day {
    /// The day and the kind of machine in a folder's name.
    fn of_folder(name: &str) -> Option<(Day, &str)> {
        let (day, rest) = name.split_at_checked(10)?;
        let machine = rest.strip_prefix('-').filter(|machine| !machine.is_empty())?;
        let has_form = day.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
        has_form.then(|| (Day(day.to_owned()), machine))
    }

    /// Days since some day long ago, by months from March on, so that a leap day is the last of its year.
    fn number(&self) -> i64 {
        let part = |from: usize, to: usize| self.0[from..to].parse::<i64>().unwrap_or(0);
        let (year, month, day) = (part(0, 4), part(5, 7), part(8, 10));
        let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
        365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day
    }
}

/// A figure of one record.
struct Point {
    value: f64,
    /// The lowest and the highest run, where the record has them.
    range: Option<(f64, f64)>,
}

/// One folder's records.
struct Visit {
    day: Day,
    revision: String,
    figures: BTreeMap<String, Point>,
}

/// A figure of the records of one kind of machine.
pub(crate) struct History {
    pub(crate) machine: String,
    /// JSON pointer.
    figure: String,
    /// By day.
    visits: Vec<Visit>,
}

impl History {
    /// For every kind of machine below `records` with a record that has the number at `figure`. With `names`, only for records
    /// with these names.
    ///
    /// # Errors
    /// When a folder cannot be read or a file is not a record.
    pub(crate) fn all(records: &Path, figure: &str, names: &[String]) -> Result<Vec<History>, Failure> {
        let mut machines: BTreeMap<String, Vec<Visit>> = BTreeMap::new();
        let at = || format!("reading {}", records.display());
        for entry in fs::read_dir(records).map_err(Failure::in_step(at()))? {
            let folder = entry.map_err(Failure::in_step(at()))?.path();
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Some((day, machine)) = Day::of_folder(&name).filter(|_| folder.is_dir()) else { continue };
            let visit = Visit::read(&folder, day, figure, names)?;
            if !visit.figures.is_empty() {
                machines.entry(machine.to_owned()).or_default().push(visit);
            }
        }
        let history = |(machine, mut visits): (String, Vec<Visit>)| {
            visits.sort_by(|a, b| a.day.cmp(&b.day));
            History { machine, figure: figure.to_owned(), visits }
        };
        Ok(machines.into_iter().map(history).collect())
    }

    /// For the machine of `folder` up to its day, if there are at least two days, so that its page does not change later.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub(crate) fn until(folder: &Path, figure: &str) -> Result<Option<History>, Failure> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (Some((day, machine)), Some(records)) = (Day::of_folder(&name), folder.parent()) else {
            return Ok(None);
        };
        let mut all = History::all(records, figure, &[])?.into_iter();
        let history = all.find(|history| history.machine == machine).map(|mut history| {
            history.visits.retain(|visit| visit.day <= day);
            history
        });
        Ok(history.filter(|history| history.visits.len() >= 2))
    }

    /// Days down, records across; in parentheses the lowest and the highest run.
    pub(crate) fn table(&self) -> String {
        let names: BTreeSet<&String> = self.visits.iter().flat_map(|visit| visit.figures.keys()).collect();
        let mut table = String::from("| day | revision |");
        names.iter().for_each(|name| write!(table, " {name} |").unwrap_or_default());
        table += &format!("\n|---|---|{}\n", "---|".repeat(names.len()));
        for Visit { day: Day(day), revision, figures } in &self.visits {
            write!(table, "| {day} | `{revision}` |").unwrap_or_default();
            for name in &names {
                let cell = figures.get(*name).map_or_else(|| "-".to_owned(), Point::cell);
                write!(table, " {cell} |").unwrap_or_default();
            }
            table.push('\n');
        }
        table
    }

    /// The same as a plot.
    pub(crate) fn svg(&self) -> String {
        let mut traces: BTreeMap<&str, Vec<Dated>> = BTreeMap::new();
        for visit in &self.visits {
            for (name, Point { value, range }) in &visit.figures {
                let (low, high) = range.unwrap_or((*value, *value));
                let dated = Dated {
                    label: visit.day.0.clone(),
                    at: visit.day.number() as f64,
                    value: *value,
                    low,
                    high,
                };
                traces.entry(name).or_default().push(dated);
            }
        }
        let traces = traces.into_iter().map(|(name, points)| Trace { name: name.to_owned(), points });
        let figure = self.figure.trim_start_matches('/');
        let chart = Chart {
            title: format!("{figure} on {}", self.machine),
            x: "lines: the lowest and the highest run of a record".to_owned(),
            y: figure.to_owned(),
        };
        chart.dates(&traces.collect::<Vec<_>>())
    }
}

impl Visit {
    fn read(folder: &Path, day: Day, figure: &str, names: &[String]) -> Result<Visit, Failure> {
        let mut visit = Visit { day, revision: "unknown".to_owned(), figures: BTreeMap::new() };
        for file in record::files(folder)? {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if !names.is_empty() && !names.contains(&name) {
                continue;
            }
            let record = record::read(&file)?;
            let value = record.pointer(figure).and_then(Value::as_f64);
            if let Some(value) = value.filter(|_| record["error"].is_null()) {
                let revision = record["build"]["revision"].as_str().unwrap_or("unknown");
                visit.revision = revision.get(..12).unwrap_or(revision).to_owned();
                visit.figures.insert(name, Point { value, range: range(&record, figure) });
            }
        }
        Ok(visit)
    }
}

/// The range of the figure's runs, which a record has beside it.
fn range(record: &Value, figure: &str) -> Option<(f64, f64)> {
    let runs = record.pointer(&format!("{figure}_runs"))?.as_array()?.iter().filter_map(Value::as_f64);
    let (low, high) = (runs.clone().reduce(f64::min)?, runs.reduce(f64::max)?);
    Some((low, high))
}

impl Point {
    fn cell(&self) -> String {
        let value = grouped(self.value);
        match self.range {
            Some((low, high)) => format!("{value} ({}-{})", grouped(low), grouped(high)),
            None => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(folder: &Path, name: &str, more: Value) {
        let mut value = json!({
            "format": "trefoil-bench/1", "benchmark": "run", "build": {"revision": "0123456789abcdef"}, "host": {}, "command": "",
        });
        if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
            value.extend(more);
        }
        fs::create_dir_all(folder).expect("folder");
        fs::write(folder.join(format!("{name}.json")), value.to_string()).expect("written");
    }

    fn records() -> tempfile::TempDir {
        let records = tempfile::tempdir().expect("folder");
        let at = |folder: &str, name: &str, more| record(&records.path().join(folder), name, more);
        let rate = |rate: f64| json!({"auth_per_s": rate, "auth_per_s_runs": [rate - 10.0, rate + 20.0]});
        at("2026-03-01-big", "run-engine", rate(2000.0));
        at("2026-02-28-big", "run-engine", rate(1000.0));
        at("2026-02-28-big", "run-dashmap", json!({"auth_per_s": 900.0, "error": "wrong"}));
        at("2026-02-28-big", "peers", json!({"times_faster": 20}));
        at("2026-02-27-small", "run-engine", rate(10.0));
        at("notes", "run-engine", rate(1.0));
        records
    }

    #[test]
    fn a_figure_is_shown_by_day_for_each_kind_of_machine_and_failed_runs_are_not() {
        let records = records();
        let all = History::all(records.path(), "/auth_per_s", &[]).expect("read");
        assert_eq!(all.iter().map(|of| of.machine.as_str()).collect::<Vec<_>>(), ["big", "small"]);
        let expected = "| day | revision | run-engine |\n|---|---|---|\n\
             | 2026-02-28 | `0123456789ab` | 1,000 (990-1,020) |\n| 2026-03-01 | `0123456789ab` | 2,000 (1,990-2,020) |\n";
        assert_eq!(all[0].table(), expected);
        let svg = all[0].svg();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("2026-02-28") && svg.contains("run-engine") && !svg.contains("NaN"), "{svg}");
        let other = History::all(records.path(), "/times_faster", &["peers".to_owned()]).expect("read");
        assert_eq!((other.len(), other[0].visits.len()), (1, 1));
    }

    #[test]
    fn a_folders_history_ends_with_its_day_and_one_day_is_none() {
        let records = records();
        let until = |folder: &str| History::until(&records.path().join(folder), "/auth_per_s").expect("read");
        assert_eq!(until("2026-03-01-big").expect("two days").visits.len(), 2);
        assert!(until("2026-02-28-big").is_none() && until("2026-02-27-small").is_none());
        assert!(until("notes").is_none());
    }

    #[test]
    fn days_are_counted_over_leap_years() {
        let number = |day: &str| Day(day.to_owned()).number();
        assert_eq!(number("2026-03-01") - number("2026-02-28"), 1);
        assert_eq!(number("2028-03-01") - number("2028-02-28"), 2);
        assert_eq!(number("2027-01-01") - number("2026-01-01"), 365);
        assert_eq!(Day::of_folder("2026-11-23-epyc-2vcpu").expect("a day").1, "epyc-2vcpu");
        for name in ["2026-11-23", "2026-11-23-", "26-11-23-epyc", "records", "2026/11/23-epyc"] {
            assert!(Day::of_folder(name).is_none(), "{name}");
        }
    }
}
