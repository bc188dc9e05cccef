//! What primitives cost on this machine, each measured by itself: none of these numbers comes from a ladder.

use std::hint::black_box;
use std::sync::Barrier;
#[expect(clippy::disallowed_types, reason = "its cost is what is measured")]
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use crate::distribution::Distribution;
use crate::processor::{allowed, pin, thread_cpu_ns};

/// Costs of primitives, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Primitives {
    /// An atomic increment of a line that nobody else wants.
    pub(super) increment: f64,
    /// Taking and leaving a lock that nobody else wants, for writing.
    pub(super) lock: f64,
    /// One `spin_loop`.
    pub(super) poll: f64,
    /// A message from core to core through one line, one way: what published tables give.
    pub(super) message: f64,
    /// What an increment costs more when another core has incremented the line since, with other work between.
    pub(super) transfer: f64,
    /// The same for an access that looks before it writes.
    pub(super) claim: f64,
    /// What an increment of a second such line costs more, just after the first: both requests are under way together.
    pub(super) second: f64,
    /// Waking a sleeping thread, for the waker.
    pub(super) call: f64,
    /// From then until the woken thread runs.
    pub(super) wake: f64,
}

/// Measures them; none where two threads cannot run on two processors at the same time for long enough.
pub(super) fn primitives() -> Option<Primitives> {
    let [first, second, ..] = allowed()[..] else { return None };
    let cpus = [first, second];
    let counter = CachePadded::new(AtomicU64::new(0));
    #[expect(clippy::disallowed_types, reason = "its cost is what is measured")]
    let lock = RwLock::new(0u64);
    let incremented = alone(|| increment(&counter));
    let locked = alone(|| {
        if let Ok(mut guard) = lock.write() {
            *guard += 1;
        }
    });
    let poll = alone(std::hint::spin_loop);
    let (call, wake) = wake_up(cpus)?;
    let transfer = spaced(cpus, |[line, _]| increment(line))?;
    let pair = spaced(cpus, |lines| lines.iter().for_each(|line| increment(line)))?;
    Some(Primitives {
        increment: incremented,
        lock: locked,
        poll,
        message: message(cpus)?,
        transfer,
        claim: spaced(cpus, |[line, _]| look_and_increment(line))?,
        second: (pair - transfer).clamp(0.0, transfer),
        call,
        wake,
    })
}

/// Repetitions of every measurement; the median is taken of those that were not disturbed.
const REPEATS: usize = 400;
/// A machine that is busy for so long is too busy.
const PATIENCE: Duration = Duration::from_millis(800);
/// As many undisturbed ones are enough.
const ENOUGH: usize = 25;

/// Nanoseconds of processor time for one `operation`, on one thread.
fn alone(mut operation: impl FnMut()) -> f64 {
    const OPERATIONS: u32 = 20_000;
    let runs = (0..ENOUGH).map(|_| {
        let began = thread_cpu_ns();
        (0..OPERATIONS).for_each(|_| operation());
        (thread_cpu_ns() - began) as f64 / f64::from(OPERATIONS)
    });
    Distribution::new(runs.collect()).median()
}

/// Runs `work` on both processors at once, with the thread's number. Elapsed nanoseconds, if both computed all the time and
/// at the same time.
fn both(cpus: [usize; 2], work: impl Fn(usize) + Sync) -> Option<f64> {
    let (barrier, base) = (Barrier::new(2), Instant::now());
    let now = || base.elapsed().as_nanos() as f64;
    let side = |thread: usize| {
        pin(cpus[thread]);
        barrier.wait();
        let (began, cpu) = (now(), thread_cpu_ns());
        work(thread);
        let ended = now();
        (began, ended, (thread_cpu_ns() - cpu) as f64)
    };
    let (a, b) = std::thread::scope(|scope| {
        let threads = [scope.spawn(|| side(0)), scope.spawn(|| side(1))];
        let [a, b] = threads.map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        (a, b)
    });
    let elapsed = f64::max(a.1 - a.0, b.1 - b.0);
    let together = f64::min(a.1, b.1) - f64::max(a.0, b.0);
    let computing = f64::min(a.2, b.2);
    (together >= 0.95 * elapsed && computing >= 0.95 * elapsed).then_some(elapsed)
}

/// The median over undisturbed repetitions.
fn undisturbed(measure: impl FnMut() -> Option<f64>) -> Option<f64> {
    let began = Instant::now();
    let tried = std::iter::repeat_with(measure).take(REPEATS).take_while(|_| began.elapsed() < PATIENCE);
    let quiet: Vec<f64> = tried.flatten().take(ENOUGH).collect();
    (quiet.len() >= 3).then(|| Distribution::new(quiet).median())
}

/// One way of a message: two threads alternate on one word.
fn message(cpus: [usize; 2]) -> Option<f64> {
    const ROUND_TRIPS: u64 = 2_000;
    undisturbed(|| {
        let word = CachePadded::new(AtomicU64::new(0));
        let run = both(cpus, |thread| {
            for turn in 0..ROUND_TRIPS {
                let mine = 2 * turn + thread as u64;
                let mut polls = 0u32;
                while word.load(Ordering::Acquire) != mine {
                    std::hint::spin_loop();
                    polls += 1;
                    // The other one has lost its processor.
                    if polls > 100_000 {
                        std::thread::yield_now();
                    }
                }
                word.store(mine + 1, Ordering::Release);
            }
        });
        run.map(|ns| ns / (2 * ROUND_TRIPS) as f64)
    })
}

/// Increments of an own line between two of the shared one: long enough that each finds the other's in between, and not
/// to be overtaken by a processor that works ahead.
const SPACE: u32 = 12;
const ACCESSES: usize = 10_000;

/// Lines that are tried in turn: how long a line takes depends on where on the chip its home is.
const LINES: usize = 64;

/// What `access` costs more on lines that the other core has accessed since than on own lines, with increments of
/// another own line between.
fn spaced(cpus: [usize; 2], access: impl Fn(&[Line; 2]) + Sync) -> Option<f64> {
    let shared_lines: Vec<[Line; 2]> = (0..LINES).map(|_| Default::default()).collect();
    let own_lines: [[Line; 2]; 4] = Default::default();
    let per_access = |shared: bool| {
        let mut turns = 0;
        undisturbed(|| {
            turns += 1;
            let common = &shared_lines[turns % LINES];
            let run = both(cpus, |thread| {
                let [own, _] = &own_lines[thread];
                let last = if shared { common } else { &own_lines[2 + thread] };
                for _ in 0..ACCESSES {
                    (0..SPACE).for_each(|_| increment(own));
                    access(last);
                }
            });
            run.map(|ns| ns / ACCESSES as f64)
        })
    };
    let (own, shared) = (per_access(false)?, per_access(true)?);
    Some((shared - own).max(0.0))
}

type Line = CachePadded<AtomicU64>;

fn increment(line: &AtomicU64) {
    black_box(line.fetch_add(1, Ordering::Relaxed));
}

/// Looks at a line and then writes it, as who takes a lock of which somebody may hold the other side does.
fn look_and_increment(line: &AtomicU64) {
    let seen = line.load(Ordering::Relaxed);
    black_box(line.compare_exchange(seen, seen + 1, Ordering::Relaxed, Ordering::Relaxed))
        .unwrap_or_default();
}

/// Waking a thread that sleeps on the other processor: for the waker, and from then on until it runs.
fn wake_up(cpus: [usize; 2]) -> Option<(f64, f64)> {
    const WAKES: usize = 60;
    let base = Instant::now();
    let now = || base.elapsed().as_nanos() as u64;
    let (woken_at, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut samples = Vec::new();
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            pin(cpus[1]);
            while !over.load(Ordering::Acquire) {
                std::thread::park();
                woken_at.store(now(), Ordering::Release);
            }
        });
        let sleeping = sleeper.thread().clone();
        let (woken_at, over, now, samples) = (&woken_at, &over, &now, &mut samples);
        scope.spawn(move || {
            pin(cpus[0]);
            for _ in 0..WAKES {
                // Long enough to fall asleep; this is the load, and nothing is awaited.
                std::thread::sleep(Duration::from_micros(200));
                woken_at.store(0, Ordering::Release);
                let before = now();
                sleeping.unpark();
                let after = now();
                let deadline = after + 2_000_000;
                while woken_at.load(Ordering::Acquire) == 0 && now() < deadline {
                    std::hint::spin_loop();
                }
                let woken = woken_at.load(Ordering::Acquire);
                if woken > 0 {
                    samples.push(((after - before) as f64, woken.saturating_sub(after) as f64));
                }
            }
            over.store(true, Ordering::Release);
            sleeping.unpark();
        });
    });
    let median =
        |side: fn(&(f64, f64)) -> f64| Distribution::new(samples.iter().map(side).collect()).median();
    (!samples.is_empty()).then(|| (median(|(call, _)| *call), median(|(_, wake)| *wake)))
}
