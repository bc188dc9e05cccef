//! A registry that all threads read and that is rarely written.
//!
//! A published account of another pipeline: actors read one entry of a shared registry of types on every message. The
//! map behind it handed out guards and counted them, and that count, one cache line that every reader wrote, stalled
//! the pipeline although no reader ever waited for a writer. A concurrent map with locks per shard did not help, because
//! all readers wanted the same shard. A snapshot behind one pointer did.
//!
//! So: one entry, read by all threads, replaced rarely. Every kind is compared with a map behind a lock, in rounds of lock, kind,
//! kind, lock; every run is kept, and the ratio has its confidence interval. The locks and counters here are exhibits and exist in this
//! program alone.

use std::collections::HashMap;
use std::hint::black_box;
#[expect(clippy::disallowed_types, reason = "the lock is the exhibit")]
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, Cache as Snapshot};
use crossbeam_utils::CachePadded;
use dashmap::DashMap;
use serde_json::{Map, Value, json};

use crate::Failure;
use crate::Report;
use crate::distribution::{Distribution, rounded};
use crate::paired::{Interval, Ratios};
use crate::processor::{allowed, pin, thread_cpu_ns};

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

/// Entries of a registry; an entry carries its key in the upper half and its version below.
const ENTRIES: u64 = 64;
/// The entry that all threads read.
const WANTED: u64 = 7;
/// Between two replacements of the wanted entry: almost only reads.
const WRITE_PERIOD: Duration = Duration::from_millis(1);
/// Reads between two looks at the clock.
const CHUNK: u64 = 256;

type Entries = HashMap<u64, u64>;

/// Ways of keeping a registry.
enum Registry {
    #[expect(clippy::disallowed_types, reason = "the lock is the exhibit")]
    Locked(RwLock<Entries>),
    Sharded(DashMap<u64, u64>),
    /// A snapshot behind one pointer, kept by each thread while it is the newest; and what counts the open guards.
    Published(Arc<ArcSwap<Entries>>, Guards),
}

enum Guards {
    None,
    Shared(CachePadded<AtomicU64>),
    Own,
}

/// The kinds by name, and what a read writes; the first is what the others are compared with.
const KINDS: [(&str, &str); 5] = [
    ("rwlock", "the lock's word, twice, though nobody waits for a writer"),
    ("dashmap", "a shard's lock word, twice: everybody wants the same shard"),
    ("counted_guard", "one count of the open guards, up and down: the incident"),
    (
        "counted_guard_own",
        "the same count in a word of the thread's own: the counting is cheap, the sharing was not",
    ),
    ("arc_swap_cached", "nothing: a read compares one pointer that all cores keep a copy of"),
];

fn all() -> [Registry; KINDS.len()] {
    let filled = || (0..ENTRIES).map(|key| (key, key << 32));
    let published = |guards| {
        let entries: Entries = filled().collect();
        Registry::Published(Arc::new(ArcSwap::from_pointee(entries)), guards)
    };
    #[expect(clippy::disallowed_types, reason = "the lock is the exhibit")]
    let locked = Registry::Locked(RwLock::new(filled().collect()));
    [
        locked,
        Registry::Sharded(filled().collect()),
        published(Guards::Shared(CachePadded::default())),
        published(Guards::Own),
        published(Guards::None),
    ]
}

impl Registry {
    fn replace(&self, key: u64, entry: u64) {
        match self {
            Registry::Locked(map) => {
                _ = map.write().unwrap_or_else(PoisonError::into_inner).insert(key, entry)
            }
            Registry::Sharded(map) => _ = map.insert(key, entry),
            Registry::Published(map, _) => {
                let mut entries = Entries::clone(&map.load());
                entries.insert(key, entry);
                map.store(Arc::new(entries));
            }
        }
    }

    /// Gives `read` one thread's access: a function of how many reads to make, which says how many of them were wrong.
    fn read(&self, read: impl FnOnce(&mut dyn FnMut(u64) -> u64)) {
        match self {
            Registry::Locked(map) => read(&mut |times| {
                let entries = || map.read().unwrap_or_else(PoisonError::into_inner);
                wrong_of(times, || entries().get(&black_box(WANTED)).copied())
            }),
            Registry::Sharded(map) => {
                read(&mut |times| wrong_of(times, || map.get(&black_box(WANTED)).map(|entry| *entry)));
            }
            Registry::Published(map, guards) => {
                let mut snapshot = Snapshot::new(Arc::clone(map));
                let own = CachePadded::new(AtomicU64::new(0));
                let count = match guards {
                    Guards::None => {
                        return read(&mut |times| {
                            wrong_of(times, || snapshot.load().get(&black_box(WANTED)).copied())
                        });
                    }
                    Guards::Shared(count) => count,
                    Guards::Own => &own,
                };
                read(&mut |times| {
                    wrong_of(times, || {
                        count.fetch_add(1, Ordering::AcqRel);
                        let entry = snapshot.load().get(&black_box(WANTED)).copied();
                        count.fetch_sub(1, Ordering::AcqRel);
                        entry
                    })
                });
            }
        }
    }
}

/// Of so many reads, those that found nothing or an entry of another key.
fn wrong_of(times: u64, mut read: impl FnMut() -> Option<u64>) -> u64 {
    (0..times).filter(|_| read().is_none_or(|entry| entry >> 32 != WANTED)).count() as u64
}

/// Compares every kind of registry with the one behind a lock.
///
/// # Errors
/// When no number of threads is given. Wrong values are in the report, not here.
pub fn registry(parameters: &RegistryTimes) -> Result<Report, Failure> {
    let RegistryTimes { threads, repeats, duration } = parameters;
    if threads.is_empty() {
        return Err(Failure::usage("give at least one number of threads"));
    }
    let registries = all();
    let (locked, others) = (&registries[0], 1..KINDS.len());
    let mut cells: Vec<Cell> = others
        .flat_map(|kind| threads.iter().map(move |&threads| Cell { kind, threads, rounds: Vec::new() }))
        .collect();
    for round in 0..*repeats {
        eprintln!("registry: round {} of {repeats}", round + 1);
        if round > 0 {
            cells.reverse();
        }
        for Cell { kind, threads, rounds } in &mut cells {
            let other = &registries[*kind];
            rounds.push([locked, other, other, locked].map(|registry| run(registry, *threads, *duration)));
        }
    }
    Ok(report(parameters, &cells))
}

/// Rounds of lock, kind, kind, lock, with one number of threads.
struct Cell {
    kind: usize,
    threads: usize,
    rounds: Vec<[Run; 4]>,
}

impl Cell {
    /// Of all rounds, what these two runs give.
    fn figures(&self, sides: [usize; 2], figure: fn(&Run) -> f64) -> Distribution {
        Distribution::new(self.rounds.iter().flat_map(|round| sides.map(|at| figure(&round[at]))).collect())
    }

    /// Of the kind over the lock.
    fn of_lock(&self, rate: fn(&Run) -> f64) -> Interval {
        let rates: Vec<_> = self.rounds.iter().map(|round| round.each_ref().map(rate)).collect();
        Ratios::of_quadruples(&rates).interval()
    }
}

/// Sums over the reading threads of one run.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    reads: u64,
    /// Reads that found nothing or an entry of another key.
    wrong: u64,
    cpu_ns: u64,
    wall: Duration,
}

impl Run {
    fn cpu_ns_per_read(&self) -> f64 {
        self.cpu_ns as f64 / self.reads as f64
    }

    fn million_per_s(&self) -> f64 {
        self.reads as f64 / self.wall.as_secs_f64() / 1e6
    }
}

/// One run, in which the entry is replaced meanwhile.
fn run(registry: &Registry, threads: usize, duration: Duration) -> Run {
    let barrier = Barrier::new(threads + 1);
    let (started, over) = (OnceLock::new(), AtomicBool::new(false));
    let cpus = allowed();
    let work = |thread: usize| {
        // Two threads that share a processor do not contend for a line.
        if let Some(&cpu) = cpus.get(thread % cpus.len().max(1)) {
            pin(cpu);
        }
        let mut run = Run::default();
        registry.read(|many| {
            barrier.wait();
            let started = *started.get_or_init(Instant::now);
            let began = thread_cpu_ns();
            while !over.load(Ordering::Relaxed) {
                run.wrong += many(CHUNK);
                run.reads += CHUNK;
                if started.elapsed() >= duration {
                    over.store(true, Ordering::Relaxed);
                }
            }
            run.cpu_ns = thread_cpu_ns() - began;
            run.wall = started.elapsed();
        });
        run
    };
    let work = &work;
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        barrier.wait();
        let mut version = 0;
        while !over.load(Ordering::Relaxed) {
            // Not a synchronisation: this sets the rate of writes.
            std::thread::sleep(WRITE_PERIOD);
            version += 1;
            registry.replace(WANTED, (WANTED << 32) | version);
        }
        readers.into_iter().fold(Run::default(), |sum, reader| {
            let one = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Run {
                reads: sum.reads + one.reads,
                wrong: sum.wrong + one.wrong,
                cpu_ns: sum.cpu_ns + one.cpu_ns,
                wall: sum.wall.max(one.wall),
            }
        })
    })
}

fn report(parameters: &RegistryTimes, cells: &[Cell]) -> Report {
    let RegistryTimes { threads, repeats, duration } = parameters;
    let wrong: u64 = cells.iter().flat_map(|cell| cell.rounds.iter().flatten()).map(|run| run.wrong).sum();
    let mut summary = "ns of processor time of a read of one entry that all threads read\n".to_owned();
    let mut registries = Map::new();
    for (kind, (name, writes)) in KINDS.into_iter().enumerate() {
        let mut fields = Map::from_iter([("a_read_writes".to_owned(), json!(writes))]);
        for threads in threads {
            // The lock's own figures are those beside all others.
            let own = |cell: &&Cell| (kind == 0 || cell.kind == kind) && cell.threads == *threads;
            let sides = if kind == 0 { [0, 3] } else { [1, 2] };
            let cells: Vec<&Cell> = cells.iter().filter(own).collect();
            let runs = |figure: fn(&Run) -> f64| {
                let of = cells.iter().flat_map(|cell| cell.figures(sides, figure).runs().to_vec());
                Distribution::new(of.collect())
            };
            let (ns, rate) = (runs(Run::cpu_ns_per_read), runs(Run::million_per_s));
            let mut shown = json!({
                "cpu_ns_per_read": rounded(ns.median()), "cpu_ns_per_read_runs": ns.runs_json(),
                "million_per_s": rounded(rate.median()), "million_per_s_runs": rate.runs_json(),
            });
            if let (true, Some(cell)) = (kind > 0, cells.first()) {
                shown["of_rwlock"] = cell.of_lock(Run::million_per_s).json();
                shown["of_rwlock_cpu"] = cell.of_lock(|run| 1.0 / run.cpu_ns_per_read()).json();
            }
            summary += &format!("  {name:<18} {threads:>3} threads {:>8.1}\n", ns.median());
            fields.insert(format!("t{threads}"), shown);
        }
        summary += &format!("      a read writes {writes}\n");
        registries.insert(name.to_owned(), fields.into());
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let result = json!({
        "threads": threads, "more_threads_than_cpus": threads.iter().any(|&n| n > cores), "repeats": repeats,
        "seconds": duration.as_secs_f64(), "entries": ENTRIES, "write_period_ms": WRITE_PERIOD.as_millis() as u64,
        "order": "lock, kind, kind, lock in every round; kinds forwards and backwards in turn",
        "interval": "95 %, Student's t over the logarithms of the rounds' ratios",
        "registries": Value::from(registries), "verified": { "wrong": wrong },
    });
    let problem =
        (wrong > 0).then(|| format!("{wrong} reads found another entry than the one that was wanted"));
    Report { summary, result, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_registry_shows_its_readers_the_newest_entry() {
        for (registry, (name, _)) in all().iter().zip(KINDS) {
            registry.read(|many| {
                assert_eq!(many(3), 0, "{name}");
                registry.replace(WANTED, (WANTED << 32) | 5);
                assert_eq!(many(3), 0, "{name}");
                registry.replace(WANTED, 9);
                assert_eq!(many(3), 3, "{name}: an entry of another key");
            });
        }
    }
}
