//! A registry that all threads read and that is rarely written.
//!
//! A published account of another pipeline: actors read one entry of a shared registry of types on every message. The
//! map behind it handed out guards and counted them, and that count, one cache line that every reader wrote, stalled
//! the pipeline although no reader ever waited for a writer. A concurrent map with locks per shard did not help, because
//! all readers wanted the same shard. A snapshot behind one pointer did.
//!
//! So: one entry, read by all threads, replaced rarely. Every kind is compared with a map behind a lock, in rounds of lock, kind,
//! kind, lock. The locks and counters here are exhibits and exist in this program alone.

use std::collections::HashMap;
use std::hint::black_box;
#[expect(clippy::disallowed_types, reason = "the lock is the exhibit")]
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwap, Cache as Snapshot};
use crossbeam_utils::CachePadded;
use dashmap::DashMap;
use serde_json::{Map, Value, json};

use crate::Report;
use crate::distribution::{Distribution, rounded};
use crate::paired::{Rounds, Side, order};
use crate::timing::{Tally, race};

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

    /// One thread's access: a function of how many reads to make, which says how many of them were wrong.
    fn reader(&self) -> Box<dyn FnMut(u64) -> u64 + '_> {
        let (map, guards) = match self {
            Registry::Locked(map) => {
                let entries = || map.read().unwrap_or_else(PoisonError::into_inner);
                return many(move || entries().get(&black_box(WANTED)).copied());
            }
            Registry::Sharded(map) => return many(|| map.get(&black_box(WANTED)).map(|entry| *entry)),
            Registry::Published(map, guards) => (map, guards),
        };
        let mut snapshot = Snapshot::new(Arc::clone(map));
        let mut read = move || snapshot.load().get(&black_box(WANTED)).copied();
        if let Guards::None = guards {
            return many(read);
        }
        let mut counted = move |count: &AtomicU64| {
            count.fetch_add(1, Ordering::AcqRel);
            let entry = read();
            count.fetch_sub(1, Ordering::AcqRel);
            entry
        };
        match guards {
            Guards::Shared(count) => many(move || counted(count)),
            Guards::None | Guards::Own => {
                let own = CachePadded::new(AtomicU64::new(0));
                many(move || counted(&own))
            }
        }
    }

    /// One run, in which the entry is replaced meanwhile.
    fn run(&self, threads: usize, duration: Duration) -> Tally {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for version in 1.. {
                    // Not a synchronisation: this sets the rate of writes.
                    std::thread::sleep(WRITE_PERIOD);
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    self.replace(WANTED, (WANTED << 32) | version);
                }
            });
            let tally = race(threads, duration, |_| {
                let mut read = self.reader();
                move |tally: &mut Tally| {
                    tally.wrong += read(CHUNK);
                    tally.requests += CHUNK;
                }
            });
            over.store(true, Ordering::Relaxed);
            tally
        })
    }
}

/// Of so many reads, those that found nothing or an entry of another key.
fn many<'a>(mut read: impl FnMut() -> Option<u64> + 'a) -> Box<dyn FnMut(u64) -> u64 + 'a> {
    Box::new(move |times| {
        (0..times).filter(|_| read().is_none_or(|entry| entry >> 32 != WANTED)).count() as u64
    })
}

/// Compares every kind of registry with the one behind a lock, with these numbers of threads. Wrong values are in the report.
pub fn registry(threads: &[usize], repeats: usize, duration: Duration) -> Report {
    let registries = all();
    let mut cells: Vec<(usize, usize, Rounds<Tally>)> = (1..KINDS.len())
        .flat_map(|kind| threads.iter().map(move |&threads| (kind, threads, Rounds::default())))
        .collect();
    for round in 0..repeats {
        eprintln!("registry: round {} of {repeats}", round + 1);
        for at in order(round, cells.len()) {
            let (kind, threads, rounds) = &mut cells[at];
            let of = |side| &registries[if side == Side::A { 0 } else { *kind }];
            rounds.0.push(Rounds::once(|side| of(side).run(*threads, duration)));
        }
    }
    let wrong: u64 =
        cells.iter().flat_map(|(.., rounds)| rounds.0.iter().flatten()).map(|run| run.wrong).sum();
    let mut summary = "ns of processor time of a read of one entry that all threads read\n".to_owned();
    let mut kinds = Map::new();
    for (kind, (name, writes)) in KINDS.into_iter().enumerate() {
        let mut fields = Map::from_iter([("a_read_writes".to_owned(), json!(writes))]);
        for threads in threads {
            // The lock's own runs are those beside all others.
            let side = if kind == 0 { Side::A } else { Side::B };
            let own = || cells.iter().filter(|cell| (kind == 0 || cell.0 == kind) && cell.1 == *threads);
            let ns = own().flat_map(|(.., rounds)| rounds.runs(side)).map(Tally::ns_per_request).collect();
            let ns = Distribution::new(ns);
            let mut shown =
                json!({ "cpu_ns_per_read": rounded(ns.median()), "cpu_ns_per_read_runs": ns.runs_json() });
            if let (Side::B, Some((.., rounds))) = (side, own().next()) {
                shown["of_rwlock"] = rounds.ratio(Tally::million_per_s).json();
            }
            summary += &format!("  {name:<18} {threads:>3} threads {:>8.1}\n", ns.median());
            fields.insert(format!("t{threads}"), shown);
        }
        kinds.insert(name.to_owned(), fields.into());
    }
    let result = json!({
        "threads": threads, "repeats": repeats, "seconds": duration.as_secs_f64(), "entries": ENTRIES,
        "write_period_ms": WRITE_PERIOD.as_millis() as u64,
        "order": "lock, kind, kind, lock in every round; kinds forwards and backwards in turn",
        "registries": Value::from(kinds), "verified": { "wrong": wrong },
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
            let mut read = registry.reader();
            assert_eq!(read(3), 0, "{name}");
            registry.replace(WANTED, (WANTED << 32) | 5);
            assert_eq!(read(3), 0, "{name}");
            registry.replace(WANTED, 9);
            assert_eq!(read(3), 3, "{name}: an entry of another key");
        }
    }
}
