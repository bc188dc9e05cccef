//! What each lock and each shared counter costs with ever more threads that want it: the parts of the ladder by themselves, without a map,
//! without a clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use trefoil_cache::{Event, Observer, Operation, PerWorker, Recorder as _};

use crate::distribution::{Distribution, rounded};
use crate::exhibits::{
    Count as _, Counts as _, GatedLog, LockedCounters, LockedHistogram, LockedLog, Notice as _, Part as _,
    SharedCounters, SharedHistogram, Time as _, TriedWindow,
};
use crate::peers::key;
use crate::processor::{allowed, pin, thread_cpu_ns};
use crate::timing::Tally;

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

fn many(mut one: impl FnMut() + Send + 'static) -> Operations {
    Box::new(move |times| (0..times).for_each(|_| one()))
}

/// Duration that histograms are told.
const NS: u64 = 100;

fn instruments() -> Vec<Instrument> {
    locks().into_iter().chain(without_waiting()).collect()
}

fn uncounted(
    name: &'static str,
    what: &'static str,
    start: Box<dyn Fn() -> Operations + Sync>,
) -> Instrument {
    Instrument { name, what, start, counted: None }
}

/// The three that threads wait for.
fn locks() -> [Instrument; 3] {
    let counters = LockedCounters::default();
    let (total, histogram, log) = (counters.worker(), LockedHistogram::default(), LockedLog::default());
    [
        Instrument {
            name: "locked_counters",
            what: "RwLock<InternalStats>::write() and an addition",
            start: Box::new(move || {
                let mut own = counters.worker();
                many(move || own.count(Event::Hit, 1))
            }),
            counted: Some(Box::new(move || total.stats().hits)),
        },
        uncounted(
            "locked_histogram",
            "RwLock<SimpleHistogram>::write() around an atomic bucket",
            Box::new(move || {
                let mut own = histogram.worker();
                many(move || own.record(Operation::Get, NS))
            }),
        ),
        uncounted(
            "locked_log",
            "RwLock<VecDeque>::write() and a key more",
            Box::new(move || {
                let (mut own, key) = (log.worker(), key(1));
                many(move || own.notice(&key))
            }),
        ),
    ]
}

/// What replaced them, the window that is tried, and the shipped observer.
fn without_waiting() -> [Instrument; 5] {
    let counters = SharedCounters::default();
    let (total, histogram) = (counters.worker(), SharedHistogram::default());
    let (gated, window) = (GatedLog::default(), TriedWindow::default());
    let (per_worker, now) = (PerWorker::default(), Instant::now());
    [
        Instrument {
            name: "shared_counters",
            what: "one fetch_add to a counter of all threads",
            start: Box::new(move || {
                let mut own = counters.worker();
                many(move || own.count(Event::Hit, 1))
            }),
            counted: Some(Box::new(move || total.stats().hits)),
        },
        uncounted(
            "shared_histogram",
            "one fetch_add to a bucket of all threads",
            Box::new(move || {
                let mut own = histogram.worker();
                many(move || own.record(Operation::Get, NS))
            }),
        ),
        uncounted(
            "gated_log",
            "one fetch_add, and in one of 64 the locked log",
            Box::new(move || {
                let (mut own, key) = (gated.worker(), key(1));
                many(move || own.notice(&key))
            }),
        ),
        uncounted(
            "throughput_window",
            "throughput_window.try_write(), which is skipped where it is taken",
            Box::new(move || {
                let mut own = window.worker();
                many(move || own.passed(now))
            }),
        ),
        uncounted(
            "per_worker",
            "the shipped observer: a counter in memory that one thread writes",
            Box::new(move || {
                let mut own = per_worker.worker();
                many(move || own.record(Event::Hit))
            }),
        ),
    ]
}

/// Measures every instrument with every number of contenders, forwards and backwards in turn.
pub fn contend(parameters: &Contention) -> Vec<Contended> {
    let instruments = instruments();
    let cell = |&contenders: &usize| Cell { contenders, runs: Vec::new() };
    let mut all: Vec<Vec<Cell>> =
        instruments.iter().map(|_| parameters.contenders.iter().map(cell).collect()).collect();
    for round in 0..parameters.repeats {
        eprintln!("contenders: round {} of {}", round + 1, parameters.repeats);
        let mut cells: Vec<_> = instruments
            .iter()
            .zip(&mut all)
            .flat_map(|(instrument, cells)| cells.iter_mut().map(move |cell| (instrument, cell)))
            .collect();
        if round % 2 == 1 {
            cells.reverse();
        }
        for (instrument, cell) in cells {
            cell.runs.push(run(instrument.start.as_ref(), cell.contenders, parameters.duration));
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

fn run(start: &(dyn Fn() -> Operations + Sync), threads: usize, duration: Duration) -> Tally {
    let barrier = Barrier::new(threads);
    let (started, over) = (OnceLock::new(), AtomicBool::new(false));
    let cpus = allowed();
    let contender = |thread: usize| {
        if let Some(&cpu) = cpus.get(thread % cpus.len().max(1)) {
            pin(cpu);
        }
        let mut operations = start();
        let mut tally = Tally::default();
        barrier.wait();
        let started = *started.get_or_init(Instant::now);
        let began = thread_cpu_ns();
        while !over.load(Ordering::Relaxed) {
            operations(CHUNK);
            tally.requests += CHUNK;
            if started.elapsed() >= duration {
                over.store(true, Ordering::Relaxed);
            }
        }
        tally.cpu_ns = thread_cpu_ns() - began;
        tally.wall = started.elapsed();
        tally
    };
    let contender = &contender;
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|thread| scope.spawn(move || contender(thread))).collect();
        let mut sum = Tally::default();
        for thread in all {
            let one = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            sum.requests += one.requests;
            sum.cpu_ns += one.cpu_ns;
            sum.wall = sum.wall.max(one.wall);
        }
        sum
    })
}

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

/// For the record.
pub fn json(parameters: &Contention, contended: &[Contended]) -> Value {
    let one = |of: &Contended| {
        let mut fields =
            Map::from_iter([("what".to_owned(), json!(of.what)), ("counted".to_owned(), json!(of.counted))]);
        fields.extend(of.cells.iter().map(|cell| (format!("c{}", cell.contenders), cell.json())));
        (of.name.to_owned(), Value::Object(fields))
    };
    json!({
        "contenders": parameters.contenders, "seconds": parameters.duration.as_secs_f64(), "repeats": parameters.repeats,
        "logical_cpus": cores(), "time": "ns of a core for each operation, waiting included; cpu_ns is processor time",
        "instruments": contended.iter().map(one).collect::<Map<_, _>>(),
    })
}

/// For people.
pub fn text(parameters: &Contention, contended: &[Contended]) -> String {
    let mut text = format!(
        "ns of a core for each operation, waiting included, by contenders on {} processors\n",
        cores()
    );
    let heads: Vec<String> = parameters.contenders.iter().map(|n| format!("{n:>9}")).collect();
    text += &format!("  {:<20}{}\n", "", heads.concat());
    for of in contended {
        let cells: Vec<String> = of.cells.iter().map(|cell| format!("{:>9.1}", cell.ns().median())).collect();
        text += &format!("  {:<20}{}\n", of.name, cells.concat());
    }
    text
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
        assert_eq!(contended.iter().find_map(Contended::problem), None);
        let record = json(&parameters, &contended);
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
        assert!(text(&parameters, &contended).contains("throughput_window"));
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
