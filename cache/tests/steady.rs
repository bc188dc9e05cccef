//! No operation allocates once a session is open.

mod number;

use allocation_counter::measure;
use number::{Number, key};
use std::sync::Arc;
use trefoil_cache::{Cache, Engine, EngineConfig, Key, Session};

/// Claim O5.
#[test]
fn the_engine_allocates_nothing_in_steady_state() {
    let engine = Arc::new(Engine::<Number>::new(EngineConfig { capacity: 256 }));
    let mut session = engine.session();
    let batch: [Key; 32] = std::array::from_fn(|n| key(n as u64));
    let mut sum = 0;
    let allocations = measure(|| {
        for n in 0..20_000u64 {
            session.insert(key(n % 1000), Number(n), n / 100 + 5, n / 100);
            sum += session.get(&key(n % 300), n / 100).map_or(0, |v| v.0);
            if n % 7 == 0 {
                session.remove(&key(n % 500));
            }
            if n % 32 == 0 {
                session.announce(batch.iter());
            }
            if n % 5000 == 0 {
                session.sweep(n / 100);
                session.retain(&|number| number.0 > n / 2);
            }
        }
    });
    assert_eq!(allocations.count_total, 0);
    let stats = engine.stats();
    assert!(sum > 0 && stats.evictions > 0 && stats.expirations > 0 && stats.removals > 0);
}
