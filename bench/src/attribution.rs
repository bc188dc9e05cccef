//! What of a difference between two builds is due to which step.
//!
//! A record of `run` says of each window what its workers spent their time on. Divided by the logins of the window, the parts
//! add up to a worker's time for one authentication, and their differences to the difference of the whole. Each gets an
//! interval, so wide that all of them hold together at the level asked for (Bonferroni): with ten intervals of 95 % each, two
//! runs of one build would show a difference four times in ten.
//!
//! The intervals are Student's (Welch's for two records): a window's figure is a mean over thousands of batches, hence close to
//! normal, and there are five of them. A bootstrap of five values draws from five values, and its 95 % cover some 85.

use serde_json::{Map, Value, json};

use crate::distribution::rounded;
use crate::failure::Failure;
use crate::paired::{Interval, mean};

/// One part of the time, and its value in each window or group of iterations, microseconds for one authentication.
type Part = (String, Vec<f64>);

/// What a record says of the time for one authentication.
pub(crate) struct Attributable {
    total: Vec<f64>,
    /// Add up to the total.
    parts: Vec<Part>,
    /// What is known beside: time of other threads, and what is a share of several parts.
    beside: Vec<Part>,
}

impl Attributable {
    /// From a record of `run` or `stages`.
    ///
    /// # Errors
    /// When it is of something else, failed, or is older than the books of workers.
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
            Failure::usage("it has no parts of the time for each window: it is no record of run or stages")
        })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().chain(&self.beside).map(|(name, _)| name.as_str())
    }
}

fn numbers(list: &Value) -> Option<Vec<f64>> {
    list.as_array()?.iter().map(Value::as_f64).collect()
}

/// The worker's time for one authentication is what its wall clock passes for each; `rest` is what its books leave open.
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

/// Iterations that follow one another resemble one another, so ten groups of them count as ten values.
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

/// What must hold before a difference counts.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// Probability that all intervals together hold.
    pub level: f64,
    /// Share of the time for one authentication that must lie between the interval and zero: builds and processes differ
    /// by where they lie in memory, and windows of one process do not show it.
    pub least: f64,
}

impl Default for Bar {
    fn default() -> Self {
        Bar { level: 0.95, least: 0.02 }
    }
}

/// What an interval says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// The second takes longer, by more than the least.
    Slower,
    /// The second takes less, by more than the least.
    Faster,
    /// There is a difference, and it may be less than the least.
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

    /// Of rounds A B B A: each gives one difference, in which what a slow change of the machine adds to both cancels.
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
            return Err(Failure::usage("the two have other parts: compare records of one command"));
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
            text += "beside these, and not added up: seals on the threads that make them; time that the system gave to others\n";
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A record of `run` with a window for each of `scatter`, which moves every part of the time: match 60 us for a batch of
    /// 32, the rest of the steps 36, and sealing as told.
    pub(crate) fn run_record(sealing_us: f64, scatter: &[f64]) -> Value {
        let us = |scatter: &f64| [60.0, 36.0, sealing_us].map(|us| us * (1.0 + scatter));
        record_of(&scatter.iter().map(us).collect::<Vec<_>>())
    }

    /// One with these times of match, digest and sealing in its windows.
    fn record_of(windows: &[[f64; 3]]) -> Value {
        let window = |us: &[f64; 3]| {
            json!({
                "auth_per_s": 2.0 * 32e6 / us.iter().sum::<f64>(), "lanes_per_batch": 32.0, "lanes": 3_200, "seals": 100,
                "seal_us": us[2],
                "worker_time": {
                    "us_per_batch": {"match": us[0], "digest": us[1], "sealing": us[2]}, "off_core": 0.01,
                },
            })
        };
        json!({"benchmark": "run", "workers": 2, "windows": windows.iter().map(window).collect::<Vec<_>>()})
    }

    pub(crate) const SCATTER: [f64; 5] = [-0.01, 0.01, 0.0, 0.005, -0.005];

    fn attributed(a: &Value, b: &Value) -> Attribution {
        let of = |record: &Value| Attributable::of(record).expect("parts");
        Attribution::of_records(&of(a), &of(b), Bar::default()).expect("one command")
    }

    fn findings(attribution: &Attribution) -> Vec<(&str, Finding)> {
        attribution.parts.iter().map(|row| (row.name.as_str(), row.finding)).collect()
    }

    #[test]
    fn the_slowed_step_is_found_and_the_parts_add_up_to_the_whole() {
        let of = attributed(&run_record(100.0, &SCATTER), &run_record(150.0, &SCATTER));
        let expected = [
            ("digest", Finding::InsideVariance),
            ("match", Finding::InsideVariance),
            ("sealing", Finding::Slower),
            ("rest", Finding::InsideVariance),
        ];
        assert_eq!(findings(&of), expected);
        assert_eq!(of.total.finding, Finding::Slower);
        let parts: f64 = of.parts.iter().map(|row| row.difference.mean).sum();
        assert!((parts - of.total.difference.mean).abs() < 1e-9 && (parts - 50.0 / 32.0).abs() < 1e-9);
        let faster = attributed(&run_record(150.0, &SCATTER), &run_record(100.0, &SCATTER));
        assert_eq!(faster.total.finding, Finding::Faster);
        assert!(of.table().contains("slower") && of.table().contains("inside variance"), "{}", of.table());
    }

    #[test]
    fn what_is_less_than_the_least_is_small_and_what_scatters_is_inside_variance() {
        let small = attributed(&run_record(100.0, &SCATTER), &run_record(103.0, &SCATTER));
        let sealing = small.parts.iter().find(|row| row.name == "sealing").expect("sealing");
        assert_eq!(sealing.finding, Finding::Small);
        let wide = SCATTER.map(|scatter| 40.0 * scatter);
        let hidden = attributed(&run_record(100.0, &wide), &run_record(130.0, &wide));
        assert!(findings(&hidden).iter().all(|(_, finding)| *finding == Finding::InsideVariance));
    }

    #[test]
    fn one_build_twice_shows_a_difference_no_more_often_than_the_level_says() {
        // Pseudo-random scatter, the same in every run of the test.
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1u32 << 31) - 0.5
        };
        let mut scattered = |us: f64| us * (1.0 + 0.1 * (next() + next() + next()));
        let mut record = || {
            let windows: Vec<_> = (0..5).map(|_| [60.0, 36.0, 100.0].map(&mut scattered)).collect();
            Attributable::of(&record_of(&windows)).expect("parts")
        };
        let bar = Bar { level: 0.95, least: 0.0 };
        let found = (0..400).filter(|_| {
            let of = Attribution::of_records(&record(), &record(), bar).expect("one command");
            of.parts.iter().chain([&of.total]).any(|row| row.finding != Finding::InsideVariance)
        });
        assert!(found.count() <= 20, "20 of 400 are 5 %");
    }

    #[test]
    fn rounds_cancel_a_drift_that_would_hide_the_step() {
        let round = |at: usize| {
            let drift = |place: usize| [0.05 * (4 * at + place) as f64; 2];
            [(0, 100.0), (1, 150.0), (2, 150.0), (3, 100.0)]
                .map(|(place, sealing)| Attributable::of(&run_record(sealing, &drift(place))).expect("parts"))
        };
        let rounds: Vec<_> = (0..5).map(round).collect();
        let of = Attribution::of_rounds(&rounds, Bar::default()).expect("one command");
        assert_eq!(findings(&of)[2], ("sealing", Finding::Slower));
        assert_eq!(findings(&of)[0], ("digest", Finding::InsideVariance));
    }

    #[test]
    fn iterations_of_stages_count_in_groups() {
        let runs: Vec<f64> = (0..40).map(|at| 64.0 + f64::from(at % 2)).collect();
        let record = json!({"lanes": 32, "runs_us": {"match": runs, "total": runs}});
        let of = Attributable::of(&record).expect("parts");
        assert_eq!((of.total.len(), of.parts[0].1[9]), (10, 64.5 / 32.0));
    }

    #[test]
    fn records_without_parts_are_refused_with_the_reason() {
        let why = |record: Value| Attributable::of(&record).err().expect("refused").to_string();
        assert!(why(json!({"benchmark": "peers"})).contains("no record of run or stages"));
        assert!(why(json!({"windows": [{"auth_per_s": 1}], "workers": 1})).contains("run or stages"));
        assert!(why(json!({"error": "3 lanes refused"})).contains("3 lanes refused"));
    }
}
