//! A registry that all threads read and that is rarely written.
//!
//! A published account of another pipeline: actors read one entry of a shared registry of types on every message. The
//! map behind it handed out guards and counted them, and that count, one cache line that every reader wrote, stalled
//! the pipeline although no reader ever waited for a writer. A concurrent map with locks per shard did not help, because
//! all readers wanted the same shard. A snapshot behind one pointer did.
//!
//! So: one entry, read by all threads, replaced rarely. Every kind is compared with a map behind a lock, in rounds of lock, kind,
//! kind, lock; every run is kept, and the ratio has its confidence interval. Then single reads are timed, and the switches of threads
//! counted, with a writer and without. The locks and counters here are exhibits and exist in this
//! program alone.

mod closely;
mod report;
mod runs;
mod subjects;

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

use crate::Failure;
use crate::Report;
use crate::paired::Ratios;
use crate::processor::{allowed, pin, thread_cpu_ns};
use closely::Timed;
use runs::{Run, Switches, WANTED, is_wanted};
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
/// Between two replacements of the wanted entry: almost only reads.
const WRITE_PERIOD: Duration = Duration::from_millis(1);
/// Reads between two looks at the clock.
const CHUNK: u64 = 256;

/// Compares every kind of registry with the one behind a lock.
///
/// # Errors
/// When no number of threads is given. Wrong values are in the report, not here.
pub fn registry(parameters: &RegistryTimes) -> Result<Report, Failure> {
    if parameters.threads.is_empty() {
        return Err(Failure::usage("give at least one number of threads"));
    }
    let (locked, others) = subjects::all(ENTRIES);
    let mut cells: Vec<Compared> = Vec::new();
    for subject in 0..others.len() {
        let compared = |&threads: &usize| Compared { subject, threads, rounds: Vec::new() };
        cells.extend(parameters.threads.iter().map(compared));
    }
    for round in 0..parameters.repeats {
        eprintln!("registry: round {} of {}", round + 1, parameters.repeats);
        let mut measure = |cell: &mut Compared| {
            let run =
                |registry: &dyn Registry| run(registry, cell.threads, parameters.duration, true, false).0;
            let (locked, other) = (locked.as_ref(), others[cell.subject].as_ref());
            let rounds = [run(locked), run(other), run(other), run(locked)];
            cell.rounds.push(rounds);
        };
        if round % 2 == 0 {
            cells.iter_mut().for_each(&mut measure);
        } else {
            cells.iter_mut().rev().for_each(&mut measure);
        }
    }
    let all: Vec<&dyn Registry> =
        std::iter::once(locked.as_ref()).chain(others.iter().map(AsRef::as_ref)).collect();
    let closely = closely::measure(
        &all,
        &parameters.threads,
        parameters.repeats,
        |registry, threads, writes, timed| run(registry, threads, parameters.duration, writes, timed),
    );
    Ok(report::report(parameters, locked.as_ref(), &others, &cells, &closely))
}

/// Rounds of lock, subject, subject, lock, with one number of threads.
struct Compared {
    subject: usize,
    threads: usize,
    rounds: Vec<[Run; 4]>,
}

impl Compared {
    /// Subject over lock.
    fn ratios(&self, rate: impl Fn(&Run) -> f64) -> Ratios {
        let rates = |round: &[Run; 4]| round.each_ref().map(&rate);
        Ratios::of_quadruples(&self.rounds.iter().map(rates).collect::<Vec<_>>())
    }

    /// The subject's runs, in order.
    fn runs(&self) -> impl Iterator<Item = &Run> {
        self.rounds.iter().flat_map(|[_, b, c, _]| [b, c])
    }

    /// The lock's runs beside them.
    fn locked_runs(&self) -> impl Iterator<Item = &Run> {
        self.rounds.iter().flat_map(|[a, _, _, d]| [a, d])
    }
}

/// One run, and the times of its reads if they are `timed`; if it `writes`, the entry is replaced meanwhile.
fn run(
    registry: &dyn Registry,
    threads: usize,
    duration: Duration,
    writes: bool,
    timed: bool,
) -> (Run, Timed) {
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
        let mut times = if timed { Timed::with_room() } else { Timed::default() };
        let switches = Switches::of_this_thread();
        barrier.wait();
        let started = *started.get_or_init(Instant::now);
        let began = thread_cpu_ns();
        while !over.load(Ordering::Relaxed) {
            if timed && !times.is_full() {
                run.wrong += times.read(reader.as_mut());
                run.reads += 1;
            } else {
                run.wrong += chunk(reader.as_mut());
                run.reads += CHUNK;
            }
            if started.elapsed() >= duration {
                over.store(true, Ordering::Relaxed);
            }
        }
        run.cpu_ns = thread_cpu_ns() - began;
        run.wall = started.elapsed();
        run.switches = Switches::of_this_thread().since(switches);
        (run, times)
    };
    let read = &read;
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..threads).map(|thread| scope.spawn(move || read(thread))).collect();
        barrier.wait();
        let (mut sum, mut times) = (Run::default(), Timed::default());
        while !over.load(Ordering::Relaxed) {
            // Not a synchronisation: this sets the rate of writes.
            std::thread::sleep(WRITE_PERIOD);
            if writes {
                sum.writes += 1;
                registry.replace(WANTED, (WANTED << 32) | (sum.writes & 0xFFFF_FFFF));
            }
        }
        for reader in readers {
            let (one, own) = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            times.add(own);
            sum.switches.add(one.switches);
            sum.reads += one.reads;
            sum.wrong += one.wrong;
            sum.cpu_ns += one.cpu_ns;
            sum.wall = sum.wall.max(one.wall);
        }
        (sum, times)
    })
}

/// [`CHUNK`] reads; how many of them were wrong. One virtual call for all of them.
fn chunk(reader: &mut dyn Reader) -> u64 {
    reader.read_many(black_box(WANTED), CHUNK, &mut |entry| u64::from(!is_wanted(entry)))
}
