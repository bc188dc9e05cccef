//! The steps of a look-up under each rung, in the model: which lines and locks follow from the exhibits' source,
//! how long they take from the part's cost when one worker runs alone.

use super::calibrate::Primitives;
use super::machine::shards;
use super::model::{Program, Step};
use crate::ladder::Rung;

/// Nanoseconds of one look-up with one worker: the raw map, and what each part adds to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alone {
    pub raw: f64,
    pub locked_counters: f64,
    pub locked_histogram: f64,
    pub locked_log: f64,
    pub shared_counters: f64,
    pub shared_histogram: f64,
    pub gated_log: f64,
    pub window: f64,
    pub per_worker: f64,
    pub off: f64,
}

/// Lines: of counters, of the histogram's bucket, of the log's slots, of the gate, then the map's shards.
const COUNTERS: usize = 0;
const BUCKET: usize = 1;
const SLOTS: usize = 2;
const GATE: usize = 3;
const SHARDS: usize = 4;

const STATISTICS_LOCK: usize = 0;
const HISTOGRAM_LOCK: usize = 1;
const LOG_LOCK: usize = 2;
const WINDOW_LOCK: usize = 3;
const LOCKS: usize = 4;

/// Times in which a gated log is reached once.
const GATE_PERIOD: usize = 64;

/// The program of the map on a machine with `processors`; of the raw one without a rung. `think` nanoseconds of other work
/// precede each look-up.
pub(super) fn program(
    rung: Option<Rung>,
    alone: &Alone,
    costs: &Primitives,
    processors: usize,
    think: f64,
) -> Program {
    let mut steps = Vec::new();
    if think > 0.0 {
        steps.push(Step::Work(think));
    }
    let Parts { counters, histogram, window, log } = parts(rung);
    if let Some(log) = log {
        log_steps(&mut steps, log, alone, costs);
    }
    let clock = [Step::Work(costs.clock), Step::Clock];
    // A look-up is timed by two readings of the clock.
    let timed = |steps: &mut Vec<Step>| steps.extend(clock.iter().filter(|_| histogram.is_some() || window));
    timed(&mut steps);
    // The read lock of a shard is taken before the search and left after it.
    let lock = costs.increment;
    let shard = Step::ClaimOneOf(SHARDS, shards(processors));
    // What expires is looked at while the shard is held, what is counted by a worker for itself is counted afterwards.
    let (inside, afterwards) = match rung {
        Some(Rung::PerWorker) => (0.0, alone.per_worker.max(0.0)),
        Some(Rung::Off) => (alone.off, 0.0),
        _ => (0.0, 0.0),
    };
    let inside = (alone.raw + inside - lock).max(1.0);
    steps.extend([shard, Step::Work(inside), Step::Release, Step::Work(lock + afterwards)]);
    timed(&mut steps);
    if let Some(histogram) = histogram {
        histogram_steps(&mut steps, histogram, alone, costs);
    }
    if window {
        window_steps(&mut steps, costs, alone);
    }
    if let Some(counters) = counters {
        counter_steps(&mut steps, counters, alone, costs);
    }
    Program { steps, lines: SHARDS + shards(processors), locks: LOCKS }
}

#[derive(Clone, Copy)]
enum Part {
    Locked,
    Shared,
}

/// The parts of a rung.
#[derive(Default)]
struct Parts {
    counters: Option<Part>,
    histogram: Option<Part>,
    window: bool,
    log: Option<Part>,
}

fn parts(rung: Option<Rung>) -> Parts {
    use Part::{Locked, Shared};
    let published = |counters, histogram, log| Parts {
        counters: Some(counters),
        histogram: Some(histogram),
        window: true,
        log: Some(log),
    };
    let none = Parts::default;
    match rung {
        Some(Rung::ThreeLocks) => published(Locked, Locked, Locked),
        Some(Rung::AtomicStatistics) => published(Shared, Locked, Locked),
        Some(Rung::LockFreeHistograms) => published(Shared, Shared, Locked),
        Some(Rung::SampledDetector) => published(Shared, Shared, Shared),
        Some(Rung::LockedCounters) => Parts { counters: Some(Locked), ..none() },
        Some(Rung::SharedCounters) => Parts { counters: Some(Shared), ..none() },
        Some(Rung::LockedHistogram) => Parts { histogram: Some(Locked), ..none() },
        Some(Rung::SharedHistogram) => Parts { histogram: Some(Shared), ..none() },
        Some(Rung::LockedLog) => Parts { log: Some(Locked), ..none() },
        Some(Rung::GatedLog) => Parts { log: Some(Shared), ..none() },
        Some(Rung::ThroughputWindow) => Parts { window: true, ..none() },
        Some(Rung::PerWorker | Rung::Off) | None => none(),
    }
}

/// A critical section that holds `inside` of the `whole` cost. Taking and leaving the lock is half of an undisturbed lock's
/// cost each, the first half already under the lock.
fn locked(steps: &mut Vec<Step>, lock: usize, whole: f64, costs: &Primitives, inside: &[Step]) {
    let held: f64 = inside.iter().map(|step| if let Step::Work(ns) = step { *ns } else { 0.0 }).sum();
    let half = Step::Work(costs.lock / 2.0);
    steps.extend([Step::Work((whole - held - costs.lock).max(0.1)), Step::Lock(lock), half]);
    steps.extend_from_slice(inside);
    steps.extend([Step::Unlock(lock), half]);
}

fn log_steps(steps: &mut Vec<Step>, part: Part, alone: &Alone, costs: &Primitives) {
    let inside = [Step::Write(SLOTS), Step::WriteBeside(LOG_LOCK), Step::Work(IN_CACHE)];
    match part {
        Part::Locked => locked(steps, LOG_LOCK, alone.locked_log, costs, &inside),
        Part::Shared => {
            steps.extend([Step::Write(GATE), Step::Work(alone.gated_log.max(costs.increment))]);
            let mut rare = Vec::new();
            locked(&mut rare, LOG_LOCK, costs.lock, costs, &inside);
            steps.push(Step::OnceIn(GATE_PERIOD, rare.len()));
            steps.extend(rare);
        }
    }
}

/// A few stores to a line that is there.
const IN_CACHE: f64 = 2.0;

/// One write, of the bucket.
fn histogram_steps(steps: &mut Vec<Step>, part: Part, alone: &Alone, costs: &Primitives) {
    let record = [Step::Write(BUCKET), Step::Work(costs.increment)];
    let without_clocks = |whole: f64| whole - 2.0 * costs.clock;
    match part {
        Part::Locked => {
            locked(steps, HISTOGRAM_LOCK, without_clocks(alone.locked_histogram), costs, &record);
        }
        Part::Shared => {
            let work = without_clocks(alone.shared_histogram) - costs.increment;
            steps.push(Step::Work(work.max(0.1)));
            steps.extend(record);
        }
    }
}

/// A lock that is tried, and the window behind it in the same line. The readings of the clock are the histogram's where
/// there is one: its part alone has two of its own, which are steps of their own in any program.
fn window_steps(steps: &mut Vec<Step>, costs: &Primitives, alone: &Alone) {
    let half = Step::Work(costs.lock / 2.0);
    let inside = [Step::WriteBeside(WINDOW_LOCK), Step::Work(IN_CACHE)];
    let rest = alone.window - 2.0 * costs.clock - IN_CACHE - costs.lock;
    steps.extend([Step::Work(rest.max(0.1)), Step::TryLock(WINDOW_LOCK, 3 + inside.len()), half]);
    steps.extend(inside);
    steps.extend([Step::Unlock(WINDOW_LOCK), half]);
}

fn counter_steps(steps: &mut Vec<Step>, part: Part, alone: &Alone, costs: &Primitives) {
    match part {
        Part::Locked => {
            let inside = [Step::WriteBeside(STATISTICS_LOCK), Step::Work(IN_CACHE)];
            locked(steps, STATISTICS_LOCK, alone.locked_counters, costs, &inside);
        }
        Part::Shared => {
            steps.extend([Step::Write(COUNTERS), Step::Work(alone.shared_counters.max(1.0))]);
        }
    }
}
