//! What each lock and each shared counter costs with ever more threads that want it: the parts of the ladder by themselves, without a map,
//! without a clock.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use trefoil_cache::{Event, Observer, Operation, PerWorker, Recorder as _};

use crate::Report;
use crate::distribution::{Distribution, rounded};
use crate::exhibits::Parts;
use crate::paired::order;
use crate::peers::key;
use crate::timing::{Tally, race};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Contention {
    /// Numbers of threads, each measured by itself.
    pub contenders: Vec<usize>,
    /// Length of one run.
    pub duration: Duration,
    /// Runs of everything, all of which are kept.
    pub repeats: usize,
}

/// Does so many operations.
type Operations = Box<dyn FnMut(u64) + Send>;

/// A lock or a counter, as the ladder has it.
struct Instrument {
    name: &'static str,
    what: &'static str,
    /// A thread's access.
    start: Box<dyn Fn() -> Operations + Sync>,
    /// Operations that it has counted; none where it counts none.
    counted: Option<Box<dyn Fn() -> u64>>,
}

/// The runs of an instrument with one number of threads.
struct Cell {
    contenders: usize,
    runs: Vec<Tally>,
}

/// The runs of an instrument.
pub struct Contended {
    name: &'static str,
    what: &'static str,
    cells: Vec<Cell>,
    /// Operations that it counted, where it counts any.
    counted: Option<u64>,
}

impl Contended {
    /// What is wrong, if anything: an instrument that counts must have counted every operation.
    pub fn problem(&self) -> Option<String> {
        let done: u64 = self.cells.iter().flat_map(|cell| &cell.runs).map(|run| run.requests).sum();
        let counted = self.counted.filter(|counted| *counted != done)?;
        Some(format!("{}: counted {counted} of {done} operations", self.name))
    }
}

/// A part of the account's observer. Its totals are compared with what was done if it counts hits.
fn part(
    name: &'static str,
    what: &'static str,
    once: impl Fn(&Parts) + Copy + Send + Sync + 'static,
) -> Instrument {
    let parts = Arc::<Parts>::default();
    let total = Arc::clone(&parts);
    let counted: Option<Box<dyn Fn() -> u64>> =
        name.ends_with("counters").then(|| Box::new(move || total.stats().hits) as Box<dyn Fn() -> u64>);
    let start = move || -> Operations {
        let own = Arc::clone(&parts);
        Box::new(move |times| (0..times).for_each(|_| once(&own)))
    };
    Instrument { name, what, start: Box::new(start), counted }
}

/// Duration that histograms are told.
const NS: u64 = 100;

/// The three locks that threads wait for, what replaced them, the window that is tried, and the shipped observer.
fn instruments() -> [Instrument; 8] {
    let (key, now, observer) = (key(1), Instant::now(), PerWorker::default());
    let per_worker = move || -> Operations {
        let mut own = observer.worker();
        Box::new(move |times| (0..times).for_each(|_| own.record(Event::Hit)))
    };
    [
        part("locked_counters", "RwLock<InternalStats>::write() and an addition", |parts| {
            parts.count_locked(Event::Hit, 1)
        }),
        part("locked_histogram", "RwLock<SimpleHistogram>::write() around an atomic bucket", |parts| {
            parts.time_locked(Operation::Get, NS)
        }),
        part("locked_log", "RwLock<VecDeque>::write() and a key more", move |parts| parts.log(&key)),
        part("shared_counters", "one fetch_add to a counter of all threads", |parts| {
            parts.count(Event::Hit, 1)
        }),
        part("shared_histogram", "one fetch_add to a bucket of all threads", |parts| {
            parts.time(Operation::Get, NS)
        }),
        part("gated_log", "one fetch_add, and in one of 64 the locked log", move |parts| {
            parts.log_gated(&key)
        }),
        part(
            "throughput_window",
            "throughput_window.try_write(), which is skipped where it is taken",
            move |parts| parts.pass(now),
        ),
        Instrument {
            name: "per_worker",
            what: "the shipped observer: a counter in memory that one thread writes",
            start: Box::new(per_worker),
            counted: None,
        },
    ]
}

/// Measures every instrument with every number of contenders, forwards and backwards in turn.
pub fn contend(parameters: &Contention) -> Vec<Contended> {
    let instruments = instruments();
    let cell = |&contenders: &usize| Cell { contenders, runs: Vec::new() };
    let mut all: Vec<Vec<Cell>> =
        instruments.iter().map(|_| parameters.contenders.iter().map(cell).collect()).collect();
    let cells = instruments.len() * parameters.contenders.len();
    for round in 0..parameters.repeats {
        eprintln!("contenders: round {} of {}", round + 1, parameters.repeats);
        for at in order(round, cells) {
            let instrument = at / parameters.contenders.len();
            let cell = &mut all[instrument][at % parameters.contenders.len()];
            let start = &instruments[instrument].start;
            cell.runs.push(race(cell.contenders, parameters.duration, |_| {
                let mut operations = start();
                move |tally: &mut Tally| {
                    operations(CHUNK);
                    tally.requests += CHUNK;
                }
            }));
        }
    }
    let contended = instruments.into_iter().zip(all).map(|(instrument, cells)| Contended {
        name: instrument.name,
        what: instrument.what,
        cells,
        counted: instrument.counted.map(|counted| counted()),
    });
    contended.collect()
}

/// Operations between two looks at the clock.
const CHUNK: u64 = 64;

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Cell {
    /// Core time of one operation, waiting included: with as many contenders as cores and no contention it is that of one contender.
    fn ns(&self) -> Distribution {
        let cores = self.contenders.min(cores()) as f64;
        let ns = |run: &Tally| cores * run.wall.as_nanos() as f64 / run.requests as f64;
        Distribution::new(self.runs.iter().map(ns).collect())
    }

    fn cpu_ns(&self) -> Distribution {
        Distribution::new(self.runs.iter().map(Tally::ns_per_request).collect())
    }

    fn json(&self) -> Value {
        let (ns, cpu) = (self.ns(), self.cpu_ns());
        json!({
            "contenders": self.contenders, "ns": rounded(ns.median()), "cpu_ns": rounded(cpu.median()),
            "ns_runs": ns.runs_json(), "cpu_ns_runs": cpu.runs_json(),
        })
    }
}

/// The result.
pub fn report(parameters: &Contention, contended: &[Contended]) -> Report {
    let mut summary = format!(
        "ns of a core for each operation, waiting included, by contenders on {} processors\n  {:<20}",
        cores(),
        ""
    );
    parameters.contenders.iter().for_each(|n| summary += &format!("{n:>9}"));
    let mut instruments = Map::new();
    for of in contended {
        summary += &format!("\n  {:<20}", of.name);
        let mut fields = json!({ "what": of.what, "counted": of.counted });
        for cell in &of.cells {
            summary += &format!("{:>9.1}", cell.ns().median());
            fields[format!("c{}", cell.contenders)] = cell.json();
        }
        instruments.insert(of.name.to_owned(), fields);
    }
    let result = json!({
        "contenders": parameters.contenders, "seconds": parameters.duration.as_secs_f64(), "repeats": parameters.repeats,
        "logical_cpus": cores(), "time": "ns of a core for each operation, waiting included; cpu_ns is processor time",
        "instruments": Value::from(instruments),
    });
    Report { summary: summary + "\n", result, problem: contended.iter().find_map(Contended::problem) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exhibits::census::{self, Census};

    fn parameters() -> Contention {
        Contention { contenders: vec![1, 3], duration: Duration::from_millis(2), repeats: 2 }
    }

    #[test]
    fn every_instrument_is_measured_with_every_number_and_counts_what_was_done() {
        let parameters = parameters();
        let contended = contend(&parameters);
        let Report { summary, result: record, problem } = report(&parameters, &contended);
        assert_eq!(problem, None);
        let instruments = record["instruments"].as_object().expect("instruments");
        assert_eq!(instruments.len(), 8);
        for (name, of) in instruments {
            for cell in ["c1", "c3"] {
                assert!(
                    of[cell]["ns"].as_f64() > Some(0.0) && of[cell]["cpu_ns"].as_f64() > Some(0.0),
                    "{name}"
                );
                assert_eq!(of[cell]["ns_runs"].as_array().map(Vec::len), Some(2), "{name}");
            }
        }
        assert!(summary.contains("throughput_window"));
    }

    /// Claim O10.
    #[test]
    fn a_counter_that_lost_operations_is_a_problem() {
        let runs = vec![Tally { requests: 10, ..Tally::default() }];
        let of = |counted| Contended { name: "x", what: "", cells: vec![], counted };
        let with =
            |counted| Contended { cells: vec![Cell { contenders: 1, runs: runs.clone() }], ..of(counted) };
        assert!(with(Some(9)).problem().is_some_and(|why| why.contains("9 of 10")));
        assert!(with(Some(10)).problem().is_none() && with(None).problem().is_none());
    }

    /// Claim O10: A lock or counter that is measured alone, with 1 to 96 contenders, does the operations that the published account prints,
    /// and loses none. Also: `bench/records/2026-11-25-epyc-zen3-b-2vcpu/ladder.json#/contenders/instruments/locked_counters/c96/ns`.
    ///
    /// One lock, one addition or one try for each operation, as the account prints them.
    #[test]
    fn an_operation_takes_what_the_account_prints() {
        let all = instruments();
        let shapes: Vec<(u32, u32, u32)> = all
            .iter()
            .map(|instrument| {
                let mut operations = (instrument.start)();
                // The first of all opens the gate of a gated log.
                operations(1);
                let Census { locks, tries, adds } = census::of(|| operations(1));
                (locks, tries, adds)
            })
            .collect();
        let expected =
            [(1, 0, 0), (1, 0, 1), (1, 0, 0), (0, 0, 1), (0, 0, 1), (0, 0, 1), (0, 1, 0), (0, 0, 0)];
        assert_eq!(shapes, expected);
    }
}
