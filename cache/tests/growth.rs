//! An engine that takes the place of a smaller one.

#![cfg(feature = "engine")]

mod number;

use number::{Number, key};
use std::sync::Arc;
use trefoil_cache::{Cache, Engine, EngineConfig, Session};

fn full(capacity: usize) -> Arc<Engine<Number>> {
    let engine = Arc::new(Engine::<Number>::new(EngineConfig { capacity }));
    let mut session = engine.session();
    for n in 0..capacity as u64 {
        session.insert(key(n), Number(n), 100 + n, 0);
    }
    engine
}

#[test]
fn entries_move_with_their_ends_and_totals_go_on() {
    let small = full(64);
    let before = small.stats();
    let large = Arc::new(small.another(EngineConfig { capacity: 256 }));
    large.adopt(&small, 0);
    assert_eq!((large.len(), large.capacity()), (small.len(), 256));
    small.clear();
    assert_eq!((small.len(), large.stats()), (0, before), "neither an insertion nor a removal");
    let (mut late, mut session) = (small.session(), large.session());
    let held = (0..64).filter(|&n| {
        assert_eq!(late.get(&key(n), 0), None, "what held the old engine misses");
        let found = session.get(&key(n), 99 + n);
        assert!(found.is_none_or(|found| found == Number(n)));
        assert_eq!(session.get(&key(n), 100 + n), None, "it ends when it did");
        found.is_some()
    });
    let held = held.count();
    assert_eq!(held, large.len());
    // Of both engines.
    let after = large.stats();
    assert_eq!((after.hits, after.misses), (held as u64, 64 + 64 + (64 - held as u64)));
    assert_eq!(small.stats(), after);
    let Some(bytes) = small.table_bytes().zip(large.table_bytes()) else { panic!("memory is known") };
    assert!(bytes.0 < bytes.1);
}

#[test]
fn entries_without_a_place_are_counted_as_evicted_and_a_present_one_stays() {
    let large = full(64);
    let small = Arc::new(large.another(EngineConfig { capacity: 8 }));
    let held = large.len() as u64;
    small.adopt(&large, 0);
    let evicted = large.stats().evictions;
    assert_eq!((small.len(), large.stats().insertions), (8, 64));
    let other = Arc::new(small.another(EngineConfig { capacity: 1024 }));
    assert!(other.session().insert(key(7), Number(99), 1000, 0).is_stored());
    other.adopt(&large, 0);
    assert_eq!(other.session().get(&key(7), 0), Some(Number(99)));
    assert_eq!(evicted, (64 - held) + (held - 8));
}
