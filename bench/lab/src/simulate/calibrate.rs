//! The cost of primitives on this machine, each measured by itself: none of these numbers comes from a ladder.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Barrier;
#[expect(clippy::disallowed_types, reason = "its cost is being measured")]
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use serde_json::{Map, Value};
use trefoil_cache::Key;

use super::chains::{Both, CHAINS, Chain, LINES, SINGLE};
use crate::distribution::Distribution;
use crate::peers::{Handle as _, Payload, Peer as _, RawDashMap, key};
use crate::processor::{allowed, pin, thread_cpu_ns};

/// Costs of primitives, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Primitives {
    /// An uncontended atomic increment.
    pub increment: f64,
    /// Taking and releasing an uncontended lock for writing.
    pub lock: f64,
    /// One `spin_loop`.
    pub poll: f64,
    /// One reading of the clock.
    pub clock: f64,
    /// A message from core to core through one line, one way, as in published tables.
    pub message: f64,
    /// Chains of increments of lines that both cores write.
    pub chains: [Both; CHAINS.len()],
    /// A look-up in a small map, one after the other.
    pub claim: Both,
    /// Waking a sleeping thread, for the waker.
    pub call: f64,
    /// From then until the woken thread runs.
    pub wake: f64,
}

impl Primitives {
    /// What an increment costs more when another core has the line.
    pub(super) fn transfer(&self) -> f64 {
        self.chains[..SINGLE].iter().map(|chain| chain.added()).sum::<f64>() / SINGLE as f64
    }
}

/// Measures primitives again and again, each time on lines that have not been used: a line's time depends on where on the chip
/// its home is.
pub(super) struct Calibrator {
    cpus: [usize; 2],
    samples: BTreeMap<(&'static str, usize), Vec<f64>>,
    /// Used memory stays allocated, so that the next allocation lies elsewhere.
    used: Vec<(Vec<Lines>, Vec<RawDashMap>)>,
}

type Line = CachePadded<AtomicU64>;
type Lines = [Line; LINES];

/// Sets of lines in one round, and maps.
const SETS: usize = 4;
const MAPS: usize = 8;

impl Calibrator {
    /// None without two processors.
    pub(super) fn new() -> Option<Self> {
        let [first, second, ..] = allowed()[..] else { return None };
        Some(Calibrator { cpus: [first, second], samples: BTreeMap::new(), used: Vec::new() })
    }

    fn note(&mut self, name: &'static str, index: usize, sample: Option<f64>) {
        self.samples.entry((name, index)).or_default().extend(sample);
    }

    /// Measures everything once.
    pub(super) fn round(&mut self) {
        let cpus = self.cpus;
        let counter = CachePadded::new(AtomicU64::new(0));
        #[expect(clippy::disallowed_types, reason = "its cost is being measured")]
        let lock = RwLock::new(0u64);
        self.note("increment", 0, Some(alone(|| increment(&counter))));
        let locked = alone(|| {
            if let Ok(mut guard) = lock.write() {
                *guard += 1;
            }
        });
        self.note("lock", 0, Some(locked));
        self.note("poll", 0, Some(alone(std::hint::spin_loop)));
        self.note("clock", 0, Some(alone(read_clock)));
        let lines: Vec<Lines> = (0..SETS + 2).map(|_| Lines::default()).collect();
        let maps: Vec<RawDashMap> = (0..MAPS + 2).map(|_| small_map()).collect();
        let [own @ .., first, second] = &lines[..] else { return };
        let apart = [first, second];
        for shared in own {
            self.note("message", 0, quiet(|| message(cpus, &shared[0])));
            for (index, chain) in CHAINS.into_iter().enumerate() {
                self.note("own", index, quiet(|| turns(cpus, chain, apart)));
                self.note("shared", index, quiet(|| turns(cpus, chain, [shared; 2])));
            }
        }
        let [shared @ .., first, second] = &maps[..] else { return };
        for map in shared {
            self.note("claim own", 0, quiet(|| claims(cpus, [first, second])));
            self.note("claim shared", 0, quiet(|| claims(cpus, [map; 2])));
        }
        for (call, wake) in wake_ups(cpus) {
            self.note("call", 0, Some(call));
            self.note("wake", 0, Some(wake));
        }
        self.used.push((lines, maps));
    }

    /// Every sample, in order; those of chains by the chain's number.
    pub(super) fn samples_json(&self) -> Value {
        let named = |(&(name, index), runs): (&(&str, usize), &Vec<f64>)| {
            let name = if matches!(name, "own" | "shared") {
                format!("chain {index} {name}")
            } else {
                name.to_owned()
            };
            (name, Distribution::new(runs.clone()).runs_json())
        };
        self.samples.iter().map(named).collect::<Map<_, _>>().into()
    }

    /// The result of the rounds; none if two threads never computed at the same time for long enough.
    pub(super) fn primitives(&self) -> Option<Primitives> {
        let of = |name, index| {
            let known = self.samples.get(&(name, index)).filter(|known| known.len() >= 3)?;
            Some(Distribution::new(known.clone()).middle())
        };
        let both = |own, shared, index| Some(Both { own: of(own, index)?, shared: of(shared, index)? });
        let mut chains = [Both { own: 0.0, shared: 0.0 }; CHAINS.len()];
        for (index, chain) in chains.iter_mut().enumerate() {
            *chain = both("own", "shared", index)?;
        }
        Some(Primitives {
            increment: of("increment", 0)?,
            lock: of("lock", 0)?,
            poll: of("poll", 0)?,
            clock: of("clock", 0)?,
            message: of("message", 0)?,
            chains,
            claim: both("claim own", "claim shared", 0)?,
            call: of("call", 0)?,
            wake: of("wake", 0)?,
        })
    }
}

/// Tries until two threads were undisturbed; a machine on which they never are is too busy.
fn quiet(mut measure: impl FnMut() -> Option<f64>) -> Option<f64> {
    const TRIES: usize = 12;
    (0..TRIES).find_map(|_| measure())
}

/// Nanoseconds of processor time for one `operation`, on one thread.
fn alone(mut operation: impl FnMut()) -> f64 {
    const OPERATIONS: u32 = 20_000;
    let began = thread_cpu_ns();
    (0..OPERATIONS).for_each(|_| operation());
    (thread_cpu_ns() - began) as f64 / f64::from(OPERATIONS)
}

/// Runs `work` on both processors at once, with the thread's number. Elapsed nanoseconds, if both computed all the time and
/// at the same time.
fn both(cpus: [usize; 2], work: impl Fn(usize) + Sync) -> Option<f64> {
    let (barrier, ready, base) = (Barrier::new(2), AtomicU64::new(0), Instant::now());
    let now = || base.elapsed().as_nanos() as f64;
    let side = |thread: usize| {
        pin(cpus[thread]);
        barrier.wait();
        // A thread that slept at the barrier starts later than the last to arrive, by as much as a short run takes.
        ready.fetch_add(1, Ordering::AcqRel);
        poll_until(|| ready.load(Ordering::Acquire) == 2);
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

/// Polls until `there`, and lets others run if that takes so long that the other thread must have lost its processor.
fn poll_until(there: impl Fn() -> bool) {
    let mut polls = 0u32;
    while !there() {
        std::hint::spin_loop();
        polls += 1;
        if polls > 100_000 {
            std::thread::yield_now();
        }
    }
}

/// One way of a message: two threads alternate on one word.
fn message(cpus: [usize; 2], word: &AtomicU64) -> Option<f64> {
    const ROUND_TRIPS: u64 = 1_000;
    word.store(0, Ordering::Release);
    let run = both(cpus, |thread| {
        for turn in 0..ROUND_TRIPS {
            let mine = 2 * turn + thread as u64;
            poll_until(|| word.load(Ordering::Acquire) == mine);
            word.store(mine + 1, Ordering::Release);
        }
    });
    run.map(|ns| ns / (2 * ROUND_TRIPS) as f64)
}

const ACCESSES: u64 = 1_500;

/// Nanoseconds of one turn of a chain.
fn turns(cpus: [usize; 2], chain: Chain, lines: [&Lines; 2]) -> Option<f64> {
    let run = both(cpus, |thread| {
        let (own, lines) = (Line::default(), lines[thread]);
        for turn in 0..ACCESSES {
            read_clock();
            let more = if random(turn, thread).is_multiple_of(2) { chain.or_more } else { 0 };
            work(&own, chain.private + more, turn, thread);
            read_clock();
            chain.order.iter().for_each(|&line| increment(&lines[line]));
        }
    });
    run.map(|ns| ns / ACCESSES as f64)
}

/// Nanoseconds of a look-up in a small map, one after the other.
fn claims(cpus: [usize; 2], maps: [&RawDashMap; 2]) -> Option<f64> {
    let keys: Vec<Key> = (0..ENTRIES).map(key).collect();
    let run = both(cpus, |thread| {
        let mut handle = maps[thread].handle();
        for turn in 0..ACCESSES {
            let wanted = &keys[(random(turn, thread) % ENTRIES) as usize];
            black_box(handle.get(black_box(wanted)));
        }
    });
    run.map(|ns| ns / ACCESSES as f64)
}

/// Of a small map: some for each shard.
const ENTRIES: u64 = 64;

fn small_map() -> RawDashMap {
    let map = RawDashMap::empty();
    (0..ENTRIES).for_each(|n| map.handle().insert(key(n), Payload::of(&key(n))));
    map
}

/// About `increments` of an own line, a fifth more or less, so that two threads do not march in step.
fn work(own: &AtomicU64, increments: usize, turn: u64, thread: usize) {
    let spread = increments / 5;
    let more = (random(turn, thread) >> 8) as usize % (2 * spread + 1);
    (0..increments - spread + more).for_each(|_| increment(own));
}

/// 24 bits that differ from turn to turn and from thread to thread.
fn random(turn: u64, thread: usize) -> u64 {
    (turn + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17 + 13 * thread as u32) >> 40
}

fn increment(line: &AtomicU64) {
    black_box(line.fetch_add(1, Ordering::Relaxed));
}

fn read_clock() {
    black_box(Instant::now());
}

/// Waking a thread that sleeps on the other processor: for the waker, and from then on until it runs.
fn wake_ups(cpus: [usize; 2]) -> Vec<(f64, f64)> {
    const WAKES: usize = 4;
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
    samples
}
