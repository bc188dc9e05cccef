//! The registry that everybody reads and hardly anybody writes.
//!
//! A published account of another pipeline: actors asked a shared registry of types for one entry on every message. The
//! map behind it handed out guards and counted them, and that count, one cache line that every reader wrote, stalled
//! the pipeline although nobody ever waited for a writer. A concurrent map with locks per shard did not help, because
//! all readers wanted the same shard. A snapshot behind one pointer did.
//!
//! So: one entry, read by all threads, replaced rarely. The locks and counters here are exhibits and exist in this
//! program alone.

mod subjects;

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::distribution::{Distribution, rounded};
use crate::failure::Failure;
use crate::processor::{allowed, pin, thread_cpu_ns};
use crate::record::Report;
use subjects::{Reader, Registry};

/// What to measure.
#[derive(Clone, Debug)]
pub struct RegistryTimes {
    /// Numbers of reading threads.
    pub threads: Vec<usize>,
    /// Rounds, all of which are kept.
    pub repeats: usize,
    /// Length of one run.
    pub duration: Duration,
}

/// Entries of a registry.
const ENTRIES: u64 = 64;
/// The entry that everybody wants.
const WANTED: u64 = 7;
/// Between two replacements of the wanted entry: almost only reads.
const WRITE_PERIOD: Duration = Duration::from_millis(1);
/// Reads between two looks at the clock.
const CHUNK: u64 = 256;

/// Times one read of every kind of registry, forwards and backwards in turn.
///
/// # Errors
/// When no number of threads is given. Wrong values are in the report, not here.
pub fn registry(parameters: &RegistryTimes) -> Result<Report, Failure> {
    if parameters.threads.is_empty() {
        return Err(Failure::usage("give at least one number of threads"));
    }
    let subjects = subjects::all(ENTRIES);
    let mut cells: Vec<(usize, usize, Vec<Run>)> = Vec::new();
    for subject in 0..subjects.len() {
        cells.extend(parameters.threads.iter().map(|&threads| (subject, threads, Vec::new())));
    }
    for round in 0..parameters.repeats {
        eprintln!("registry: round {} of {}", round + 1, parameters.repeats);
        let mut measure = |(subject, threads, runs): &mut (usize, usize, Vec<Run>)| {
            runs.push(run(subjects[*subject].as_ref(), *threads, parameters.duration));
        };
        if round % 2 == 0 {
            cells.iter_mut().for_each(&mut measure);
        } else {
            cells.iter_mut().rev().for_each(&mut measure);
        }
    }
    Ok(report(parameters, &subjects, &cells))
}

/// Sums over the reading threads of one run.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    reads: u64,
    /// Reads that found nothing or an entry of another key.
    wrong: u64,
    cpu_ns: u64,
    wall: Duration,
    writes: u64,
}

impl Run {
    fn cpu_ns_per_read(&self) -> f64 {
        self.cpu_ns as f64 / self.reads as f64
    }

    fn million_per_s(&self) -> f64 {
        self.reads as f64 / self.wall.as_secs_f64() / 1e6
    }
}

/// Entries carry their key in the upper half and their version below.
fn is_wanted(entry: Option<u64>) -> bool {
    entry.is_some_and(|entry| entry >> 32 == WANTED)
}

fn run(registry: &dyn Registry, threads: usize, duration: Duration) -> Run {
    let barrier = Barrier::new(threads + 1);
    let (started, over) = (OnceLock::new(), AtomicBool::new(false));
    let cpus = allowed();
    let read = |thread: usize| {
        // Two threads that share a processor do not contend for a line.
        if let Some(&cpu) = cpus.get(thread % cpus.len().max(1)) {
            pin(cpu);
        }
        let mut reader = registry.reader();
        let mut run = Run::default();
        barrier.wait();
        let started = *started.get_or_init(Instant::now);
        let began = thread_cpu_ns();
        while !over.load(Ordering::Relaxed) {
            run.wrong += chunk(reader.as_mut());
            run.reads += CHUNK;
            if started.elapsed() >= duration {
                over.store(true, Ordering::Relaxed);
            }
        }
        run.cpu_ns = thread_cpu_ns() - began;
        run.wall = started.elapsed();
        run
    };
    let read = &read;
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..threads).map(|thread| scope.spawn(move || read(thread))).collect();
        barrier.wait();
        let mut sum = Run::default();
        while !over.load(Ordering::Relaxed) {
            // Not to wait for anything: this is the rate of writes.
            std::thread::sleep(WRITE_PERIOD);
            sum.writes += 1;
            registry.replace(WANTED, (WANTED << 32) | (sum.writes & 0xFFFF_FFFF));
        }
        for reader in readers {
            let one = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            sum.reads += one.reads;
            sum.wrong += one.wrong;
            sum.cpu_ns += one.cpu_ns;
            sum.wall = sum.wall.max(one.wall);
        }
        sum
    })
}

/// [`CHUNK`] reads; how many of them were wrong. One virtual call for all of them.
fn chunk(reader: &mut dyn Reader) -> u64 {
    reader.read_many(black_box(WANTED), CHUNK, &mut |entry| u64::from(!is_wanted(entry)))
}

fn report(
    parameters: &RegistryTimes,
    subjects: &[Box<dyn Registry>],
    cells: &[(usize, usize, Vec<Run>)],
) -> Report {
    let RegistryTimes { threads, repeats, duration } = parameters;
    let mut result = Map::new();
    let mut text =
        "ns of processor time per read of one entry that all threads read, medians; t: threads\n".to_owned();
    for (index, subject) in subjects.iter().enumerate() {
        let mut by_threads = Map::new();
        let mut shown = Vec::new();
        for (_, n, runs) in cells.iter().filter(|(of, ..)| *of == index) {
            let cpu = Distribution::new(runs.iter().map(Run::cpu_ns_per_read).collect());
            let rate = Distribution::new(runs.iter().map(Run::million_per_s).collect());
            shown.push(format!("t{n} {:>8.1}", cpu.median()));
            let cell = json!({
                "cpu_ns_per_read": rounded(cpu.median()), "million_per_s": rounded(rate.median()),
                "cpu_ns_per_read_runs": cpu.runs_json(), "million_per_s_runs": rate.runs_json(),
            });
            by_threads.insert(format!("t{n}"), cell);
        }
        text.push_str(&format!("  {:<22} {}   {}\n", subject.name(), shown.join("   "), subject.why()));
        by_threads.insert("why".into(), json!(subject.why()));
        result.insert(subject.name().to_owned(), by_threads.into());
    }
    let runs = || cells.iter().flat_map(|(.., runs)| runs);
    let wrong: u64 = runs().map(|run| run.wrong).sum();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let result = json!({
        "threads": threads, "more_threads_than_cpus": threads.iter().any(|&n| n > cores), "repeats": repeats,
        "millis": duration.as_secs_f64() * 1e3, "entries": ENTRIES,
        "write_period_millis": WRITE_PERIOD.as_secs_f64() * 1e3, "time": "processor time of the threads",
        "registries": Value::from(result),
        "verified": {
            "reads": runs().map(|run| run.reads).sum::<u64>(), "wrong": wrong,
            "writes": runs().map(|run| run.writes).sum::<u64>(),
        },
    });
    let problem = (wrong > 0).then(|| format!("{wrong} reads found nothing or another entry"));
    Report { summary: text, result, problem }
}
