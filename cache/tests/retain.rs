//! What `retain` keeps, and room for exactly as many entries as were asked for.

#![cfg(feature = "engine")]

mod number;

use number::{Number, key};
use std::sync::Arc;
use trefoil_cache::{Cache, Engine, EngineConfig, Session};

#[test]
fn only_what_is_to_be_kept_is_kept() {
    let engine = Arc::new(Engine::<Number>::new(EngineConfig { capacity: 128 }));
    let (mut one, mut other) = (engine.session(), engine.session());
    for n in 0..40 {
        one.insert(key(n), Number(n), 100, 0);
    }
    assert_eq!(other.retain(&|number| number.0 >= 10), 10);
    for n in 0..40 {
        assert_eq!(one.get(&key(n), 0), (n >= 10).then_some(Number(n)));
    }
    assert_eq!((engine.len(), engine.stats().removals), (30, 10));
    assert_eq!(other.retain(&|_| true), 0);
}

#[test]
fn capacity_is_exact() {
    for capacity in [1, 37, 100] {
        let engine = Arc::new(Engine::<Number>::new(EngineConfig { capacity }));
        let mut session = engine.session();
        for n in 0..if cfg!(miri) { 300 } else { 5000 } {
            session.insert(key(n), Number(n), 100, 0);
        }
        assert_eq!((engine.capacity(), engine.len()), (capacity, capacity));
    }
}
