//! What the engine does on the word of the pattern detector.

#![cfg(feature = "engine")]

mod unit;

use std::sync::Arc;
use std::time::Instant;
use trefoil_cache::{
    Cache, Engine, EngineConfig, Event, Hint, Key, Observer, PerWorker, Phase, Recorder, Sampled, Sampling,
    Session, Stats,
};
use unit::Unit;

/// Sees a scan everywhere or nowhere.
#[derive(Default)]
struct Fixed<const SCAN: bool>;

impl<const SCAN: bool> Observer for Fixed<SCAN> {
    type Worker = Self;

    fn worker(&self) -> Self {
        Self
    }

    fn stats(&self) -> Stats {
        Stats::default()
    }
}

impl<const SCAN: bool> Recorder for Fixed<SCAN> {
    fn record(&mut self, _: Event) {}

    fn record_many(&mut self, _: Event, _: u64) {}

    fn begin_get(&mut self, _: &Key) -> Sampled {
        Sampled::No
    }

    fn end_get(&mut self, _: Instant) {}

    fn hint(&self) -> Hint {
        if SCAN { Hint::Scan } else { Hint::None }
    }
}

fn key(n: u64) -> Key {
    trefoil_cache::value::unpack(&[n.wrapping_mul(0x9E37_79B9_7F4A_7C15), n, !n, n])
}

/// Of 32 keys that fill one set, and came once so long ago that their frequencies are halved, how many are held after 40
/// others came once.
fn kept<O: Observer>() -> usize {
    let engine = Arc::new(Engine::<Unit, O>::new(EngineConfig { capacity: 32 }));
    let mut session = engine.session();
    for n in 0..32 {
        session.insert(key(n), Unit, 10, 0);
    }
    for _ in 0..32 * 22 {
        session.get(&key(1 << 40), 0);
    }
    for n in 32..72 {
        session.insert(key(n), Unit, 10, 0);
    }
    (0..32).filter(|&n| session.get(&key(n), 0).is_some()).count()
}

#[test]
fn keys_of_a_scan_do_not_displace_what_was_there() {
    let (without, with) = (kept::<Fixed<false>>(), kept::<Fixed<true>>());
    assert!(without < 16 && with > 20, "{without} of 32 kept without the hint, {with} with it");
}

/// How many of 40 announced keys were looked at.
fn drawn(session: &mut impl Session<Unit>) -> usize {
    let keys: Vec<Key> = (0..40).map(key).collect();
    let mut drawn = 0;
    session.announce(keys.iter().inspect(|_| drawn += 1));
    drawn
}

#[test]
fn nothing_is_fetched_ahead_during_a_scan() {
    a_scan_comes_and_goes(64);
    a_scan_comes_and_goes(8);
}

/// A session that samples more look-ups sees it in fewer.
fn a_scan_comes_and_goes(every: u64) {
    // Two windows of 256 samples.
    let windows = 2 * 256 * every;
    let observer = PerWorker::new(Sampling::one_in(every).unwrap());
    let engine = Arc::new(Engine::<Unit>::observed(EngineConfig { capacity: 1000 }, observer));
    let mut session = engine.session();
    for n in 0..100 {
        session.insert(key(n), Unit, 10, 0);
    }
    assert_eq!(drawn(&mut session), 40);
    for n in 1000..1000 + 2 * windows {
        session.get(&key(n), 0);
    }
    assert_eq!(engine.observer().patterns()[0].phase, Phase::Scan);
    assert_eq!(drawn(&mut session), 0);
    for n in 0..2 * windows {
        session.get(&key(n % 100), 0);
    }
    assert_eq!(drawn(&mut session), 40, "the scan is over");
}
