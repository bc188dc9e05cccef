//! Nanoseconds per operation of the engine and of the raw map, one thread, rounds interleaved.
//!
//! ```sh
//! cargo run --release -p trefoil-cache --all-features --example nanoseconds
//! ```

use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::sync::Arc;
use trefoil_cache::{Baseline, Cache, Engine, EngineConfig, Key, Observer, Off, PerWorker, Session, Value};

/// As large as a verdict: 160 bytes.
#[derive(Clone, Copy)]
struct Verdict([u64; 20]);

impl Value for Verdict {
    type Words = [u64; 20];

    fn to_words(&self) -> [u64; 20] {
        self.0
    }

    fn from_words(words: &[u64; 20]) -> Self {
        Self(*words)
    }
}

const ENTRIES: u64 = 100_000;
const RESIDENT: usize = 500;
const ROUNDS: usize = 15;

fn key(n: u64) -> Key {
    let mix = |salt: u64| {
        let x = (n ^ salt).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (x ^ (x >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    };
    trefoil_cache::value::unpack(&[mix(1), mix(2), mix(3), mix(4)])
}

/// Look-ups in an order that is neither sequential nor predictable.
fn shuffled(entries: u64) -> Vec<Key> {
    let mut keys: Vec<Key> = (0..entries).map(key).collect();
    keys.sort_unstable_by_key(|key| key[8]);
    keys
}

/// Processor time of this thread in nanoseconds: other work on the machine does not count.
fn thread_ns() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Nanoseconds per call of `operation` over `keys`, repeated until 100,000 calls at least.
fn time(keys: &[Key], mut operation: impl FnMut(&Key)) -> f64 {
    let repeats = 100_000usize.div_ceil(keys.len());
    let began = thread_ns();
    for _ in 0..repeats {
        for key in keys {
            operation(key);
        }
    }
    (thread_ns() - began) as f64 / (repeats * keys.len()) as f64
}

/// One round: get hit on many, get hit on few, get miss, replace many, replace few.
fn round(session: &mut impl Session<Verdict>, many: &[Key], absent: &[Key]) -> [f64; 5] {
    let few = &many[..RESIDENT];
    let value = Verdict([7; 20]);
    let mut replace = |keys: &[Key]| {
        time(keys, |key| {
            black_box(session.insert(*key, value, 1000, 0));
        })
    };
    let (replace_many, replace_few) = (replace(many), replace(few));
    let mut get = |keys: &[Key]| {
        time(keys, |key| {
            black_box(session.get(key, 0));
        })
    };
    [get(many), get(few), get(absent), replace_many, replace_few]
}

/// Fills a table to the brim; the keys it then holds, so that every look-up of them is a hit.
fn fill(session: &mut impl Session<Verdict>) -> Vec<Key> {
    let mut keys = shuffled(2 * ENTRIES);
    for key in &keys {
        session.insert(*key, Verdict([7; 20]), 1000, 0);
    }
    keys.retain(|key| session.get(key, 0).is_some());
    keys
}

fn main() {
    let config = EngineConfig { capacity: ENTRIES as usize };
    let observed = Arc::new(Engine::<Verdict, PerWorker>::new(config.clone()));
    let silent = Arc::new(Engine::<Verdict, Off>::new(config));
    let raw = Arc::new(Baseline::<Verdict, Off>::new(ENTRIES as usize));
    let (mut observed_session, mut silent_session, mut raw_session) =
        (observed.session(), silent.session(), raw.session());

    let absent: Vec<Key> = (2 * ENTRIES..3 * ENTRIES).map(key).collect();
    let observed_keys = fill(&mut observed_session);
    let silent_keys = fill(&mut silent_session);
    let mut best = [[f64::MAX; 5]; 3];
    for _ in 0..ROUNDS {
        let rounds = [
            round(&mut observed_session, &observed_keys, &absent),
            round(&mut silent_session, &silent_keys, &absent),
            round(&mut raw_session, &observed_keys, &absent),
        ];
        for (best, ns) in best.iter_mut().flatten().zip(rounds.iter().flatten()) {
            *best = best.min(*ns);
        }
    }
    let names = ["engine", "engine, off", "DashMap"];
    println!("ns, best of {ROUNDS}    get hit of 100k   of 500   get miss   replace of 100k   of 500");
    for (name, [many, few, absent, replace_many, replace_few]) in names.iter().zip(best) {
        println!("{name:<16} {many:>18.1} {few:>8.1} {absent:>10.1} {replace_many:>17.1} {replace_few:>8.1}");
    }
    let stats = observed.stats();
    println!("hit ratio {:.4}, table {} MiB", stats.hit_ratio(), observed.memory_bytes() >> 20);
    if let Some(p99) = observed.observer().latency().quantile_ns(0.99) {
        println!("sampled get p99 {p99} ns, a clock reading included");
    }
}
