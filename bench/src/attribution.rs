//! Attributes a difference between two builds to steps.
//!
//! A record of `run` says for each window how its workers spent their time. Divided by the logins of the window, the parts
//! add up to a worker's time for one authentication, and their differences to the difference of the whole. Each gets an
//! interval, so wide that all of them hold together at the level asked for (Bonferroni): with ten intervals of 95 % each, two
//! runs of one build would show a difference four times in ten.
//!
//! The intervals are Student's (Welch's for two records): a window's figure is a mean over thousands of batches, hence close to
//! normal, and there are five of them. A bootstrap of five values draws from five values, and its 95 % cover some 85.

#[cfg(test)]
pub(crate) mod tests;

use serde_json::{Map, Value, json};

use crate::Failure;
use crate::distribution::rounded;
use crate::paired::{Interval, mean};

/// One part of the time, and its value in each window or group of iterations, microseconds for one authentication.
type Part = (String, Vec<f64>);

/// The time for one authentication in a record.
pub(crate) struct Attributable {
    total: Vec<f64>,
    /// Add up to the total.
    parts: Vec<Part>,
    /// Other known times: those of other threads, and shares of several parts.
    beside: Vec<Part>,
}

impl Attributable {
    /// From a record of `run` or `stages`.
    ///
    /// # Errors
    /// When it is a record of another command, its run failed, or it is older than the workers' time accounts.
    pub(crate) fn of(record: &Value) -> Result<Attributable, Failure> {
        if !record["error"].is_null() {
            return Err(Failure::usage(format!("its run failed: {}", record["error"])));
        }
        let has = |name: &str| !record[name].is_null();
        let found = match (has("windows"), has("runs_us")) {
            (true, _) => of_windows(record),
            (false, true) => of_iterations(record),
            (false, false) => None,
        };
        found.ok_or_else(|| {
            Failure::usage(
                "it does not divide the time of each window into parts: give a record of run or stages",
            )
        })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().chain(&self.beside).map(|(name, _)| name.as_str())
    }
}

fn numbers(list: &Value) -> Option<Vec<f64>> {
    list.as_array()?.iter().map(Value::as_f64).collect()
}

/// The worker's time for one authentication is its wall time per authentication; `rest` is the part that its accounts leave unexplained.
fn of_windows(record: &Value) -> Option<Attributable> {
    let workers = record["workers"].as_f64()?;
    let windows = record["windows"].as_array()?;
    let purposes = windows.first()?["worker_time"]["us_per_batch"].as_object()?;
    let over =
        |figure: &dyn Fn(&Value) -> Option<f64>| windows.iter().map(figure).collect::<Option<Vec<_>>>();
    let total = over(&|window| Some(workers * 1e6 / window["auth_per_s"].as_f64()?))?;
    let mut parts = Vec::new();
    for purpose in purposes.keys() {
        let of = |window: &Value| {
            let us = window["worker_time"]["us_per_batch"][purpose].as_f64()?;
            Some(us / window["lanes_per_batch"].as_f64()?)
        };
        parts.push((purpose.clone(), over(&of)?));
    }
    let named = |at: usize| parts.iter().map(|(_, values)| values[at]).sum::<f64>();
    parts.push(("rest".to_owned(), total.iter().enumerate().map(|(at, total)| total - named(at)).collect()));
    let seal = over(&|window| {
        Some(window["seal_us"].as_f64()? * window["seals"].as_f64()? / window["lanes"].as_f64()?)
    })?;
    let off_core = over(&|window| window["worker_time"]["off_core"].as_f64())?;
    let off_core = off_core.iter().zip(&total).map(|(share, total)| share * total).collect();
    Some(Attributable {
        total,
        parts,
        beside: vec![("seal".to_owned(), seal), ("off_core".to_owned(), off_core)],
    })
}

/// Neighbouring iterations resemble one another, so ten groups of them count as ten values.
fn of_iterations(record: &Value) -> Option<Attributable> {
    const GROUPS: usize = 10;
    let lanes = record["lanes"].as_f64()?;
    let grouped = |runs: &Value| {
        let runs = numbers(runs)?;
        let size = (runs.len() / GROUPS).max(1);
        Some(runs.chunks_exact(size).map(|group| mean(group) / lanes).collect::<Vec<_>>())
    };
    let stages = record["runs_us"].as_object()?;
    let of = |(name, runs): (&String, &Value)| Some((name.clone(), grouped(runs)?));
    let parts = stages.iter().filter(|(name, _)| *name != "total").map(of).collect::<Option<Vec<_>>>()?;
    Some(Attributable { total: grouped(stages.get("total")?)?, parts, beside: Vec::new() })
}

/// Thresholds at which a difference counts.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// Probability that all intervals together hold.
    pub level: f64,
    /// Share of the time for one authentication that must lie between the interval and zero: builds and processes differ
    /// in memory layout, and windows of one process do not show it.
    pub least: f64,
}

impl Default for Bar {
    fn default() -> Self {
        Bar { level: 0.95, least: 0.02 }
    }
}

/// The finding of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// The second takes longer, by more than the least.
    Slower,
    /// The second takes less, by more than the least.
    Faster,
    /// There is a difference, but it may be less than the least.
    Small,
    InsideVariance,
}

impl Finding {
    fn name(self) -> &'static str {
        match self {
            Finding::Slower => "slower",
            Finding::Faster => "faster",
            Finding::Small => "small",
            Finding::InsideVariance => "inside variance",
        }
    }

    fn of(interval: Interval, least: f64) -> Finding {
        match interval {
            Interval { low, .. } if low > least => Finding::Slower,
            Interval { high, .. } if high < -least => Finding::Faster,
            Interval { low, high, .. } if low > 0.0 || high < 0.0 => Finding::Small,
            _ => Finding::InsideVariance,
        }
    }
}

/// One line of the table.
pub(crate) struct Row {
    pub(crate) name: String,
    a: f64,
    b: f64,
    difference: Interval,
    pub(crate) finding: Finding,
}

/// The difference of B from A, and its parts.
pub(crate) struct Attribution {
    pub(crate) total: Row,
    pub(crate) parts: Vec<Row>,
    beside: Vec<Row>,
    bar: Bar,
}

impl Attribution {
    /// Of two records, by their windows.
    ///
    /// # Errors
    /// When they do not have the same parts.
    pub(crate) fn of_records(a: &Attributable, b: &Attributable, bar: Bar) -> Result<Self, Failure> {
        Self::new(&[a, b], bar, |level, [a, b]| Interval::of_difference_at(level, a, b), [&[0], &[1]])
    }

    /// Of rounds A B B A: each gives one difference, in which a slow change of the machine cancels.
    ///
    /// # Errors
    /// When they do not have the same parts.
    pub(crate) fn of_rounds(rounds: &[[Attributable; 4]], bar: Bar) -> Result<Self, Failure> {
        let runs: Vec<&Attributable> = rounds.iter().flatten().collect();
        let sides: [Vec<usize>; 2] = [[0, 3], [1, 2]].map(|places| {
            (0..rounds.len()).flat_map(|round| places.map(|place| 4 * round + place)).collect()
        });
        let interval = |level: f64, [a, b]: [&[f64]; 2]| {
            // Each run's windows were averaged before, two runs of a side in each round.
            let rounds = a.chunks(2).zip(b.chunks(2)).map(|(a, b)| mean(b) - mean(a));
            Interval::of_mean_at(level, &rounds.collect::<Vec<_>>())
        };
        let means: Vec<Attributable> = runs.iter().map(|run| run.mean()).collect();
        Self::new(&means.iter().collect::<Vec<_>>(), bar, interval, [&sides[0], &sides[1]])
    }

    /// `sides` says which of the runs are A's and which are B's.
    fn new(
        runs: &[&Attributable],
        bar: Bar,
        interval: impl Fn(f64, [&[f64]; 2]) -> Interval,
        sides: [&[usize]; 2],
    ) -> Result<Self, Failure> {
        let Some((first, others)) = runs.split_first() else {
            return Err(Failure::usage("nothing to compare"));
        };
        if others.iter().any(|other| !other.names().eq(first.names())) {
            return Err(Failure::usage(
                "the two records have different parts: compare records of the same command",
            ));
        }
        let level = 1.0 - (1.0 - bar.level) / (first.names().count() + 1) as f64;
        let row = |name: &str, values: &dyn Fn(&Attributable) -> &[f64], least: f64| {
            let [a, b] = sides.map(|side| {
                side.iter().flat_map(|run| values(runs[*run]).iter().copied()).collect::<Vec<f64>>()
            });
            let difference = interval(level, [&a, &b]);
            Row {
                name: name.to_owned(),
                a: mean(&a),
                b: mean(&b),
                difference,
                finding: Finding::of(difference, least),
            }
        };
        let least = bar.least * row("total", &|run| &run.total, 0.0).a;
        let rows = |parts: fn(&Attributable) -> &[Part]| {
            let names = parts(first).iter().enumerate();
            names.map(|(at, (name, _))| row(name, &|run| &parts(run)[at].1, least)).collect()
        };
        Ok(Attribution {
            total: row("total", &|run| &run.total, least),
            parts: rows(|run| &run.parts),
            beside: rows(|run| &run.beside),
            bar,
        })
    }

    /// For people.
    pub(crate) fn table(&self) -> String {
        let mut text =
            format!("{:<15}{:>10}{:>10}{:>11}{:>25}\n", "us per login", "A", "B", "B - A", "interval");
        for row in self.parts.iter().chain([&self.total]) {
            text += &row.line();
        }
        if !self.beside.is_empty() {
            text += "in addition, and not part of the sum: seals on the threads that make them; time that the system gave to others\n";
        }
        for row in &self.beside {
            text += &row.line();
        }
        text + &format!(
            "All intervals together hold in {} of 100 cases. `small`: not surely more than {} % of the total.\n",
            rounded(100.0 * self.bar.level),
            rounded(100.0 * self.bar.least)
        )
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let rows = |rows: &[Row]| -> Map<String, Value> {
            rows.iter().map(|row| (row.name.clone(), row.json())).collect()
        };
        json!({
            "total": self.total.json(), "parts": rows(&self.parts), "beside": rows(&self.beside),
            "level": self.bar.level, "least": self.bar.least,
        })
    }
}

impl Attributable {
    /// One value for each part: the mean over the run.
    fn mean(&self) -> Attributable {
        let of = |parts: &[Part]| parts.iter().map(|(name, runs)| (name.clone(), vec![mean(runs)])).collect();
        Attributable { total: vec![mean(&self.total)], parts: of(&self.parts), beside: of(&self.beside) }
    }
}

impl Row {
    fn line(&self) -> String {
        let Row { name, a, b, difference: Interval { mean, low, high }, finding } = self;
        let interval = format!("{low:+.4} to {high:+.4}");
        format!("{name:<15}{a:>10.4}{b:>10.4}{mean:>+11.4}{interval:>25}  {}\n", finding.name())
    }

    fn json(&self) -> Value {
        json!({
            "a_us": rounded4(self.a), "b_us": rounded4(self.b), "difference_us": self.difference.json(),
            "finding": self.finding.name(),
        })
    }
}

fn rounded4(us: f64) -> f64 {
    (us * 1e4).round() / 1e4
}
