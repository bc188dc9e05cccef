//! Processor time of look-ups and get-or-inserts in the engine, with and without its instrumentation, in other caches
//! and in maps.

pub(crate) mod memory;
mod sketch;
pub(crate) mod zipf;

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Map, Value, json};
use trefoil_cache::{Key, Off, PerWorker};

use crate::Failure;
use crate::Report;
use crate::distribution::{Distribution, rounded};
use crate::peers::{Moka, Ours, Payload, QuickCache, key};
use crate::wiring;
use trefoil_lab::timing::{Load, Operation, Tally, Timed};
use zipf::Zipf;

/// What to time.
#[derive(Clone, Debug)]
pub struct CacheTimes {
    /// Different keys under the Zipf load.
    pub keys: usize,
    /// Entries that each cache may hold under the Zipf load.
    pub capacity: usize,
    /// Numbers of keys that are all held and uniformly requested.
    pub resident: Vec<usize>,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Rounds, all of which are kept.
    pub repeats: usize,
    /// Length of one timing.
    pub duration: Duration,
    /// Seed of the requests.
    pub seed: u64,
}

/// Exponent of the Zipf load: the customary one for caches.
const EXPONENT: f64 = 0.99;
/// Requests of one stream: 32 MiB of keys, more than a private cache, so that they are streamed as in service.
const STREAM: usize = 1 << 20;
/// Streams; more threads share them from different places.
const STREAMS_MAX: usize = 4;
/// The caches and maps, in the order of the report.
const SUBJECTS: [&str; 5] = ["engine", "engine_off", "dashmap", "moka", "quick_cache"];

/// Times every subject under the Zipf load and with everything held. Rounds go over all subjects, forwards and
/// backwards alternately, so that a machine that changes favours none.
///
/// # Errors
/// When the parameters are inconsistent. Wrong values are in the report, not here.
pub fn cache_times(parameters: &CacheTimes) -> Result<Report, Failure> {
    if parameters.capacity == 0 || parameters.keys < parameters.capacity {
        return Err(Failure::usage("the Zipf load needs at least as many keys as entries"));
    }
    let memory = memory::bytes_per_entry(parameters.capacity);
    let zipf = Zipf::new(parameters.keys, EXPONENT);
    let mut cases = vec![under_zipf(parameters, &zipf)];
    cases.extend(parameters.resident.iter().map(|&resident| all_held(parameters, resident)));
    let mut report = report(parameters, &cases, zipf.share_of(parameters.capacity));
    report.result["bytes_per_entry"] = memory;
    let sketch = sketch::add_ns(parameters.repeats);
    report.result["sketch_add_ns"] = sketch.map_or(Value::Null, |ns| json!(rounded(ns.median())));
    Ok(report)
}

/// A subject of this build.
struct Subject {
    name: &'static str,
    /// Identical instances, used alternately, one per round.
    tables: Vec<Box<dyn Timed>>,
}

/// Tables of the engine with its instrumentation, and as many without. Which keys share a set or a tag, and which lines of a
/// processor's cache an entry competes for, is drawn once per table: two tables of one kind differ by some nanoseconds
/// per look-up, more than the effect being measured. An odd number, so that each has rounds in both directions.
const TABLES: usize = 5;

fn subjects(capacity: usize) -> Vec<Subject> {
    let alike = |make: &dyn Fn() -> Option<Box<dyn Timed>>| (0..TABLES).filter_map(|_| make()).collect();
    let engine = alike(&|| Some(Box::new(Ours::evicting(wiring::engine::<Payload, PerWorker>(capacity)?))));
    let engine_off = alike(&|| Some(Box::new(Ours::evicting(wiring::engine::<Payload, Off>(capacity)?))));
    let dashmap = wiring::dashmap::<Payload, Off>(capacity);
    let dashmap = dashmap.map(|map| Box::new(Ours::map(map)) as Box<dyn Timed>);
    let mut subjects = vec![
        Subject { name: "engine", tables: engine },
        Subject { name: "engine_off", tables: engine_off },
        Subject { name: "dashmap", tables: dashmap.into_iter().collect() },
        Subject { name: "moka", tables: vec![Box::new(Moka::new(capacity))] },
        Subject { name: "quick_cache", tables: vec![Box::new(QuickCache::new(capacity))] },
    ];
    subjects.retain(|subject| !subject.tables.is_empty());
    subjects
}

/// One load: for each subject and operation, the rounds of each number of threads.
struct Case {
    name: String,
    /// Keys that every subject holds, where all requests must hit.
    held: Option<usize>,
    /// Share of the requests of a stream of its own that each cache answered, before the first round.
    hit_ratios: Vec<(&'static str, f64)>,
    rows: Vec<Row>,
}

struct Row {
    subject: &'static str,
    operation: Operation,
    /// Index into the numbers of threads.
    threads: usize,
    rounds: Vec<Tally>,
}

fn under_zipf(parameters: &CacheTimes, zipf: &Zipf) -> Case {
    let subjects = subjects(parameters.capacity);
    let mut streams = streams(parameters, 1, |rng| key(zipf.sample(rng) as u64));
    let unseen = streams.pop().unwrap_or_default();
    let mut hit_ratios = Vec::new();
    // Rank is key number: the first are the most popular, and the best choice for a map that never evicts.
    let popular: Vec<Key> = (0..parameters.capacity as u64).map(key).collect();
    for Subject { name, tables } in &subjects {
        let mut ratios = Vec::new();
        for table in tables {
            if table.evicts() {
                for stream in &streams {
                    table.warm(stream);
                }
                ratios.push(table.warm(&unseen) as f64 / unseen.len() as f64);
            } else {
                table.fill(&popular);
            }
        }
        if !ratios.is_empty() {
            hit_ratios.push((*name, Distribution::new(ratios).median()));
        }
    }
    let operations = [Operation::Get, Operation::GetOrInsert];
    let rows = rounds(parameters, &subjects, &operations, &streams);
    Case { name: "zipf".into(), held: None, hit_ratios, rows }
}

fn all_held(parameters: &CacheTimes, resident: usize) -> Case {
    // Twice the room, so that no set of the engine and no segment of another cache overflows except by rare chance.
    let subjects = subjects(2 * resident);
    let mut keys: Vec<Key> = (0..resident as u64).map(key).collect();
    let tables = || subjects.iter().flat_map(|subject| &subject.tables);
    tables().for_each(|table| table.fill(&keys));
    // The few keys that one cache evicted anyway are never requested.
    keys.retain(|key| tables().all(|table| table.holds(key)));
    let streams = streams(parameters, 0, |rng| keys[rng.random_range(0..keys.len())]);
    let rows = rounds(parameters, &subjects, &[Operation::Get], &streams);
    Case { name: resident.to_string(), held: Some(keys.len()), hit_ratios: Vec::new(), rows }
}

/// A stream for each thread, up to a limit, and `more`.
fn streams(
    parameters: &CacheTimes,
    more: usize,
    mut request: impl FnMut(&mut StdRng) -> Key,
) -> Vec<Vec<Key>> {
    let threads = parameters.threads.iter().copied().max().unwrap_or(1);
    // Not longer than a few times the keys, for small trials.
    let length = STREAM.min(16 * parameters.keys);
    let mut rng = StdRng::seed_from_u64(parameters.seed);
    (0..threads.min(STREAMS_MAX) + more).map(|_| (0..length).map(|_| request(&mut rng)).collect()).collect()
}

fn rounds(
    parameters: &CacheTimes,
    subjects: &[Subject],
    operations: &[Operation],
    streams: &[Vec<Key>],
) -> Vec<Row> {
    let mut rows: Vec<(usize, Row)> = Vec::new();
    for (index, Subject { name, tables }) in subjects.iter().enumerate() {
        for threads in 0..parameters.threads.len() {
            for &operation in operations {
                if operation == Operation::Get || tables.iter().all(|table| table.evicts()) {
                    rows.push((index, Row { subject: name, operation, threads, rounds: Vec::new() }));
                }
            }
        }
    }
    for round in 0..parameters.repeats {
        let mut measure = |(index, row): &mut (usize, Row)| {
            let tables = &subjects[*index].tables;
            row.rounds.push(tables[round % tables.len()].time(Load {
                operation: row.operation,
                streams,
                offset: round * STRIDE,
                threads: parameters.threads[row.threads],
                duration: parameters.duration,
            }));
        };
        if round % 2 == 0 {
            rows.iter_mut().for_each(&mut measure);
        } else {
            rows.iter_mut().rev().for_each(&mut measure);
        }
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Requests between the starts of two rounds.
const STRIDE: usize = 104_729;

impl Case {
    /// Every subject by every number of threads, as `figure` of its rounds; null for what does not exist.
    fn table(&self, threads: &[usize], operation: Operation, figure: &dyn Fn(&[Tally]) -> Value) -> Value {
        let of =
            |subject: &str, index: usize| self.rounds(subject, operation, index).map_or(Value::Null, figure);
        let by_threads = |subject: &str| -> Value {
            let cells = threads.iter().enumerate();
            cells.map(|(index, n)| (format!("t{n}"), of(subject, index))).collect::<Map<_, _>>().into()
        };
        SUBJECTS.iter().map(|&name| (name.to_owned(), by_threads(name))).collect::<Map<_, _>>().into()
    }

    fn rounds(&self, subject: &str, operation: Operation, threads: usize) -> Option<&[Tally]> {
        let is = |row: &&Row| (row.subject, row.operation, row.threads) == (subject, operation, threads);
        self.rows.iter().find(is).map(|row| row.rounds.as_slice())
    }

    /// What counting and sampling cost: the engine with them minus the engine without, round by round.
    fn instrumentation(&self, operation: Operation, threads: usize) -> Option<Distribution> {
        let with = self.rounds("engine", operation, threads)?;
        let without = self.rounds("engine_off", operation, threads)?;
        let differences = with.iter().zip(without).map(|(a, b)| a.ns_per_request() - b.ns_per_request());
        Some(Distribution::new(differences.collect()))
    }

    /// Null for maps, which keep what they were given.
    fn hit_ratios(&self) -> Value {
        let of = |subject: &str| self.hit_ratios.iter().find(|(name, _)| *name == subject);
        let one = |&name: &&'static str| {
            (name.to_owned(), of(name).map_or(Value::Null, |(_, ratio)| json!((ratio * 1e4).round() / 1e4)))
        };
        SUBJECTS.iter().map(one).collect::<Map<_, _>>().into()
    }

    fn json(&self, threads: &[usize]) -> Value {
        let mut fields = Map::new();
        let operations: &[(&str, Operation)] = match self.held {
            None => &[("get", Operation::Get), ("get_or_insert", Operation::GetOrInsert)],
            Some(_) => &[("get", Operation::Get)],
        };
        let mut cost = Map::new();
        for &(name, operation) in operations {
            let median = |rounds: &[Tally]| json!(rounded(nanoseconds(rounds).median()));
            fields.insert(format!("{name}_ns"), self.table(threads, operation, &median));
            let runs = |rounds: &[Tally]| nanoseconds(rounds).runs_json();
            fields.insert(format!("{name}_ns_runs"), self.table(threads, operation, &runs));
            let rate = |rounds: &[Tally]| {
                let rates = rounds.iter().map(Tally::million_per_s).collect();
                json!(rounded(Distribution::new(rates).median()))
            };
            fields.insert(format!("{name}_million_per_s"), self.table(threads, operation, &rate));
            let costs = threads.iter().enumerate().map(|(index, n)| {
                let cost = self.instrumentation(operation, index);
                (format!("t{n}"), cost.map_or(Value::Null, |ns| json!(rounded(ns.median()))))
            });
            cost.insert(name.to_owned(), costs.collect::<Map<_, _>>().into());
        }
        fields.insert("instrumentation_ns".into(), cost.into());
        match self.held {
            Some(held) => fields.insert("keys_held_by_all".into(), json!(held)),
            None => fields.insert("hit_ratio".into(), self.hit_ratios()),
        };
        fields.into()
    }
}

fn nanoseconds(rounds: &[Tally]) -> Distribution {
    Distribution::new(rounds.iter().map(Tally::ns_per_request).collect())
}

fn report(parameters: &CacheTimes, cases: &[Case], best_fixed: f64) -> Report {
    let CacheTimes { keys, capacity, resident, threads, repeats, duration, seed } = parameters;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let tallies = || cases.iter().flat_map(|case| case.rows.iter().flat_map(|row| row.rounds.iter()));
    let wrong: u64 = tallies().map(|tally| tally.wrong).sum();
    let missed: u64 = cases
        .iter()
        .filter(|case| case.held.is_some())
        .flat_map(|case| case.rows.iter().flat_map(|row| &row.rounds))
        .map(|tally| tally.requests - tally.hits)
        .sum();
    let (zipf, held) = cases.split_first().expect("the Zipf load is always there");
    let all_hit: Map<_, _> = held.iter().map(|case| (case.name.clone(), case.json(threads))).collect();
    let result = json!({
        "keys": keys, "capacity": capacity, "exponent": EXPONENT, "resident": resident,
        "key_bytes": size_of::<Key>(), "value_bytes": size_of::<Payload>(),
        "threads": threads, "more_threads_than_cores": threads.iter().any(|&n| n > cores),
        "repeats": repeats, "millis": duration.as_secs_f64() * 1e3, "seed": seed,
        "time": "processor time of the threads",
        "zipf": zipf.json(threads),
        "zipf_best_fixed_hit_ratio": (best_fixed * 1e4).round() / 1e4,
        "all_hit": all_hit,
        "verified": {
            "requests": tallies().map(|tally| tally.requests).sum::<u64>(),
            "wrong_values": wrong, "missed_where_all_is_held": missed,
        },
    });
    let problem = (wrong + missed > 0)
        .then(|| format!("{wrong} hits with a wrong value, {missed} misses where everything is held"));
    Report { summary: summary(threads, cases), result, problem }
}

fn summary(threads: &[usize], cases: &[Case]) -> String {
    let mut text = "ns of processor time per request, medians; t: threads\n".to_owned();
    for case in cases {
        for (name, operation) in [("get", Operation::Get), ("get-or-insert", Operation::GetOrInsert)] {
            if case.held.is_some() && operation == Operation::GetOrInsert {
                continue;
            }
            let load = case.held.map_or(case.name.clone(), |held| format!("all of {held} held"));
            text.push_str(&format!("{load}, {name}\n"));
            for subject in SUBJECTS {
                let cell = |index: usize| match case.rounds(subject, operation, index) {
                    Some(rounds) => format!("t{} {:>8.1}", threads[index], nanoseconds(rounds).median()),
                    None => format!("t{} {:>8}", threads[index], "-"),
                };
                let cells: Vec<String> = (0..threads.len()).map(cell).collect();
                text.push_str(&format!("  {subject:<12} {}\n", cells.join("   ")));
            }
        }
    }
    text
}
