//! Processor time of look-ups in the engine, with and without its instrumentation, in other caches and in a map.

pub(crate) mod zipf;

use std::time::Duration;

use clap::Args;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use serde_json::{Map, Value, json};
use trefoil_cache::{Key, Off, PerWorker};

use crate::args::{count, workers};
use crate::distribution::{Distribution, rounded};
use crate::paired::order;
use crate::peers::{Moka, Ours, Payload, Peer, QuickCache, key};
use crate::{Failure, Report, wiring};
use trefoil_lab::timing::{Load, Tally, time};
use zipf::Zipf;

/// Times are processor time of the threads, so that neither other programs nor more threads than cores distort them.
#[derive(Debug, Args)]
pub(crate) struct CacheTimes {
    /// Numbers of threads, each timed on its own
    #[arg(long, value_name = "N,..", default_value = "1,2,96", value_delimiter = ',', value_parser = workers)]
    threads: Vec<usize>,
    /// Rounds over everything, all of which are kept
    #[arg(long, default_value_t = 9, value_parser = count::<1, 1_000>)]
    repeats: usize,
    /// Milliseconds of one timing
    #[arg(long, default_value_t = 40, value_parser = count::<1, 10_000>)]
    millis: usize,
    /// Different keys
    #[arg(long, default_value_t = 1_000_000, value_parser = count::<1, 100_000_000>)]
    keys: usize,
    /// Entries that each cache may hold
    #[arg(long, default_value_t = 100_000, value_parser = count::<1, 100_000_000>)]
    capacity: usize,
    /// Seed of the requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Exponent of the Zipf load: the customary one for caches.
const EXPONENT: f64 = 0.99;
/// Requests of one stream: 32 MiB of keys, more than a private cache, so that they are streamed as in service.
const STREAM: usize = 1 << 20;
/// Streams; more threads share them from different places.
const STREAMS_MAX: usize = 4;

/// Times every subject. Rounds go over all of them, forwards and backwards alternately, so that a machine that changes favours none.
///
/// # Errors
/// When the parameters are inconsistent. Wrong values are in the report, not here.
pub(crate) fn cache_times(parameters: &CacheTimes) -> Result<Report, Failure> {
    if parameters.keys < parameters.capacity {
        return Err(Failure::usage("the Zipf load needs at least as many keys as entries"));
    }
    let zipf = Zipf::new(parameters.keys, EXPONENT);
    let subjects = subjects(parameters.capacity);
    let mut streams = streams(parameters, &zipf);
    let unseen = streams.pop().unwrap_or_default();
    // Rank is key number: the first are the most popular, and the best choice for a map that never evicts.
    let popular: Vec<Key> = (0..parameters.capacity as u64).map(key).collect();
    let mut rows = Vec::new();
    for subject in &subjects {
        let mut ratios = Vec::new();
        for table in &subject.tables {
            if table.capacity().is_some() {
                for stream in &streams {
                    table.warm(stream);
                }
                ratios.push(table.warm(&unseen) as f64 / unseen.len() as f64);
            } else {
                table.fill(&popular);
            }
        }
        let hit_ratio = (!ratios.is_empty()).then(|| Distribution::new(ratios).median());
        let rounds = vec![Vec::new(); parameters.threads.len()];
        rows.push(Row { subject, hit_ratio, rounds });
    }
    let numbers = parameters.threads.len();
    for round in 0..parameters.repeats {
        for cell in order(round, rows.len() * numbers) {
            let (row, threads) = (&mut rows[cell / numbers], cell % numbers);
            let tables = &row.subject.tables;
            let table = tables[round % tables.len()].as_ref();
            row.rounds[threads].push(time(
                table,
                Load {
                    put: false,
                    streams: &streams,
                    offset: round * STRIDE,
                    threads: parameters.threads[threads],
                    duration: Duration::from_millis(parameters.millis as u64),
                },
            ));
        }
    }
    Ok(report(parameters, &rows))
}

/// Requests between the starts of two rounds.
const STRIDE: usize = 104_729;

/// A subject of this build.
struct Subject {
    name: &'static str,
    /// Identical instances, used alternately, one per round.
    tables: Vec<Box<dyn Peer>>,
}

/// Tables of the engine with its instrumentation, and as many without. Which keys share a set or a tag, and which lines of a
/// processor's cache an entry competes for, is drawn once per table: two tables of one kind differ by some nanoseconds
/// per look-up, more than the effect being measured. An odd number, so that each has rounds in both directions.
const TABLES: usize = 5;

fn subjects(capacity: usize) -> Vec<Subject> {
    let alike = |make: &dyn Fn() -> Option<Box<dyn Peer>>| (0..TABLES).filter_map(|_| make()).collect();
    let engine = alike(&|| Some(Box::new(Ours::evicting(wiring::engine::<Payload, PerWorker>(capacity)?))));
    let engine_off = alike(&|| Some(Box::new(Ours::evicting(wiring::engine::<Payload, Off>(capacity)?))));
    let dashmap = wiring::dashmap::<Payload, Off>(capacity);
    let dashmap = dashmap.map(|map| Box::new(Ours::map(map)) as Box<dyn Peer>);
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

/// What a subject gave.
struct Row<'a> {
    subject: &'a Subject,
    /// Share of the requests of a stream of its own that it answered, before the first round; none for a map, which keeps what it was given.
    hit_ratio: Option<f64>,
    /// The rounds of each number of threads.
    rounds: Vec<Vec<Tally>>,
}

/// A stream for each thread, up to a limit, and one more.
fn streams(parameters: &CacheTimes, zipf: &Zipf) -> Vec<Vec<Key>> {
    let threads = parameters.threads.iter().copied().max().unwrap_or(1);
    // Not longer than a few times the keys, for small trials.
    let length = STREAM.min(16 * parameters.keys);
    let mut rng = StdRng::seed_from_u64(parameters.seed);
    let mut stream = || (0..length).map(|_| key(zipf.sample(&mut rng) as u64)).collect();
    (0..=threads.min(STREAMS_MAX)).map(|_| stream()).collect()
}

impl Row<'_> {
    /// A figure of each number of threads.
    fn each(&self, threads: &[usize], figure: &dyn Fn(&[Tally]) -> Value) -> Value {
        let cells = threads.iter().zip(&self.rounds);
        cells.map(|(n, rounds)| (format!("t{n}"), figure(rounds))).collect::<Map<_, _>>().into()
    }
}

fn nanoseconds(rounds: &[Tally]) -> Distribution {
    Distribution::new(rounds.iter().map(Tally::ns_per_request).collect())
}

fn report(parameters: &CacheTimes, rows: &[Row<'_>]) -> Report {
    let CacheTimes { keys, capacity, threads, repeats, millis, seed } = parameters;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let tallies = || rows.iter().flat_map(|row| row.rounds.iter().flatten());
    let wrong: u64 = tallies().map(|tally| tally.wrong).sum();
    let table = |figure: &dyn Fn(&[Tally]) -> Value| -> Map<String, Value> {
        rows.iter().map(|row| (row.subject.name.to_owned(), row.each(threads, figure))).collect()
    };
    let rates = |rounds: &[Tally]| Distribution::new(rounds.iter().map(Tally::million_per_s).collect());
    let ratio = |row: &Row<'_>| row.hit_ratio.map(|ratio| (ratio * 1e4).round() / 1e4);
    let ratios: Map<_, _> = rows.iter().map(|row| (row.subject.name.to_owned(), json!(ratio(row)))).collect();
    let result = json!({
        "keys": keys, "capacity": capacity, "exponent": EXPONENT,
        "key_bytes": size_of::<Key>(), "value_bytes": size_of::<Payload>(),
        "threads": threads, "more_threads_than_cores": threads.iter().any(|&n| n > cores),
        "repeats": repeats, "millis": millis, "seed": seed,
        "time": "processor time of the threads",
        "zipf": {
            "get_ns": table(&|rounds| json!(rounded(nanoseconds(rounds).median()))),
            "get_ns_runs": table(&|rounds| nanoseconds(rounds).runs_json()),
            "get_million_per_s": table(&|rounds| json!(rounded(rates(rounds).median()))),
            "hit_ratio": ratios,
        },
        "verified": { "requests": tallies().map(|tally| tally.requests).sum::<u64>(), "wrong_values": wrong },
    });
    let mut summary = "ns of processor time per look-up, medians; t: threads\n".to_owned();
    for row in rows {
        let cells = threads.iter().zip(&row.rounds);
        let cells: Vec<String> =
            cells.map(|(n, rounds)| format!("t{n} {:>8.1}", nanoseconds(rounds).median())).collect();
        let ratio = row.hit_ratio.map_or_else(String::new, |ratio| format!("   hit ratio {ratio:.3}"));
        summary.push_str(&format!("  {:<12} {}{ratio}\n", row.subject.name, cells.join("   ")));
    }
    let problem = (wrong > 0).then(|| format!("{wrong} hits with a wrong value"));
    Report { summary, result, problem }
}
