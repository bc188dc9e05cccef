//! What floods cost: keys crafted against the placement hash, and keys that never end.

#![cfg(feature = "engine")]

mod unit;

use std::sync::Arc;
use trefoil_cache::value::unpack;
use trefoil_cache::{Engine, EngineConfig, Key, Off, Session, Sketch};
use trefoil_testing::volume;
use unit::Unit;

/// Of honest users.
const REQUESTS: usize = 4_000_000;
/// Honest requests for each one of a flood: a million of those.
const HONEST_PER_FLOOD: usize = 4;
const POPULATION: usize = 100_000;
const CAPACITY: usize = 10_000;
/// Entries whose sketch is as large as it gets.
const LARGE: usize = 65_536;

fn mix(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let n = (n ^ n >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    n ^ n >> 31
}

fn digest(n: u64) -> Key {
    unpack(&std::array::from_fn::<u64, 4, _>(|word| mix(4 * n + word as u64 + 1)))
}

/// Requests of honest users: Zipf with exponent 1 by inverting the approximate harmonic sum.
fn honest() -> impl Iterator<Item = Key> {
    (0..REQUESTS as u64).map(|n| {
        let uniform = (mix(n + 77) >> 11) as f64 / (1u64 << 53) as f64;
        digest((POPULATION as f64).powf(uniform) as u64)
    })
}

type Cache = Engine<Unit, Off>;

fn ask(session: &mut impl Session<Unit>, key: Key) -> bool {
    let hit = session.get(&key, 0).is_some();
    if !hit {
        session.insert(key, Unit, 10, 0);
    }
    hit
}

/// Percent of the honest requests that hit, with one request of the flood after every fourth.
fn under(flood: impl Fn(u64) -> Option<Key>) -> f64 {
    let cache = Arc::new(Cache::new(EngineConfig { capacity: CAPACITY }));
    let (mut users, mut attacker) = (cache.session(), cache.session());
    let mut hits = 0;
    for (n, key) in honest().enumerate() {
        hits += usize::from(ask(&mut users, key));
        if n % HONEST_PER_FLOOD == 0
            && let Some(key) = flood(n as u64)
        {
            ask(&mut attacker, key);
        }
    }
    hits as f64 * 100.0 / REQUESTS as f64
}

use trefoil_cache::Cache as _;

/// A million keys that all fall on one place when the secret is zero, since every product has a factor of zero, cost
/// what any others that come once would cost, and that is little.
#[test]
fn keys_crafted_for_a_zero_secret_cost_less_than_a_point() {
    let alone = under(|_| None);
    let crafted = under(|n| Some(unpack(&[0, mix(n), 0, n])));
    println!("honest hits: {alone:.2} % alone, {crafted:.2} % beside crafted keys");
    assert!(crafted > alone - 1.0, "{alone} % alone, {crafted} % beside crafted keys");
}

/// Ten million different keys, in a table so large that its sketch has the full size.
#[test]
fn memory_does_not_grow_with_the_number_of_keys() {
    let keys = volume(10_000_000, 1_000_000) as u64;
    let sketch = Sketch::for_capacity(LARGE);
    let cache = Arc::new(Cache::new(EngineConfig { capacity: LARGE }));
    let mut session = cache.session();
    let before = (sketch.bytes(), cache.memory_bytes());
    for n in 0..keys {
        sketch.add(mix(n));
        session.insert(unpack(&[n, !n, n, n]), Unit, 10, 0);
    }
    println!(
        "after {keys} keys: sketch {} bytes, table with sketch {}",
        sketch.bytes(),
        cache.memory_bytes()
    );
    assert_eq!((sketch.bytes(), cache.memory_bytes()), before);
    assert_eq!((sketch.bytes(), cache.len()), (512 << 10, LARGE));
}
