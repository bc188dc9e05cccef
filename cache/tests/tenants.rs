//! Tenants, invalidation, weights, listener and snapshot.

#![cfg(feature = "engine")]
#![expect(clippy::disallowed_methods, reason = "a listener may run on any worker")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use trefoil_cache::{Cache, Cause, Departure, Engine, EngineConfig, Inserted, Key, Session, Tenant, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parcel {
    number: u64,
    weight: u8,
}

impl Value for Parcel {
    type Words = [u64; 2];

    fn to_words(&self) -> [u64; 2] {
        [self.number, self.weight.into()]
    }

    fn from_words(words: &[u64; 2]) -> Self {
        Self { number: words[0], weight: words[1] as u8 }
    }

    fn weight(&self) -> u8 {
        self.weight
    }
}

fn parcel(number: u64) -> Parcel {
    Parcel { number, weight: 1 }
}

fn key(n: u64) -> Key {
    trefoil_cache::value::unpack(&[n, n.wrapping_mul(0x9E37_79B9_7F4A_7C15), !n, n])
}

const A: Tenant = Tenant(0);
const B: Tenant = Tenant(1);

#[test]
fn invalidation_is_visible_at_the_next_look_up_and_stops_at_the_tenant() {
    let engine = Arc::new(Engine::<Parcel>::for_tenants(&[64, 64]));
    let (mut one, mut other) = (engine.session(), engine.session());
    for n in 0..20 {
        assert_eq!(one.insert_in(A, key(n), parcel(n), 100, 0), Inserted::New);
        assert_eq!(one.insert_in(B, key(n), parcel(1000 + n), 100, 0), Inserted::New);
    }
    assert_eq!(other.get_in(A, &key(3), 0), Some(parcel(3)));
    engine.invalidate(A);
    for n in 0..20 {
        assert_eq!(other.get_in(A, &key(n), 0), None);
        assert_eq!(other.get_in(B, &key(n), 0), Some(parcel(1000 + n)));
    }
    assert_eq!(other.insert_in(A, key(3), parcel(4), 100, 0), Inserted::Replaced, "dead until then");
    assert_eq!(one.get_in(A, &key(3), 0), Some(parcel(4)));
    // What is dead is gone after a sweep, and nothing else.
    assert_eq!(one.sweep(0), 19);
    assert_eq!((engine.occupancy(A), engine.occupancy(B)), ((1, 64), (20, 64)));
}

#[test]
fn what_was_computed_before_an_invalidation_is_not_stored_after_it() {
    let engine = Arc::new(Engine::<Parcel>::new(EngineConfig { capacity: 64 }));
    let mut session = engine.session();
    let ticket = session.ticket(A);
    engine.invalidate(A);
    assert_eq!(session.insert_with(ticket, key(1), parcel(1), 100, 0), Inserted::Outdated);
    assert_eq!(session.get(&key(1), 0), None);
    assert_eq!(engine.stats().rejections, 1);
    let ticket = session.ticket(A);
    assert_eq!(session.insert_with(ticket, key(1), parcel(2), 100, 0), Inserted::New);
    assert_eq!(session.get(&key(1), 0), Some(parcel(2)));
}

#[test]
fn invalidated_entries_make_room_before_live_ones() {
    let engine = Arc::new(Engine::<Parcel>::new(EngineConfig { capacity: 32 }));
    let mut session = engine.session();
    for n in 0..32 {
        session.insert(key(n), parcel(n), 100, 0);
    }
    engine.invalidate(A);
    for n in 100..132 {
        session.insert(key(n), parcel(n), 100, 0);
    }
    assert!((100..132).all(|n| session.get(&key(n), 0) == Some(parcel(n))));
    let stats = engine.stats();
    assert_eq!((stats.expirations, stats.evictions), (32, 0));
}

#[test]
fn quotas_are_exact_and_strangers_share_with_tenant_0() {
    let engine = Arc::new(Engine::<Parcel>::for_tenants(&[100, 37]));
    assert_eq!(engine.capacity(), 137);
    let mut session = engine.session();
    for n in 0..if cfg!(miri) { 300 } else { 5000 } {
        session.insert_in(A, key(n), parcel(n), 100, 0);
        session.insert_in(B, key(n), parcel(n), 100, 0);
    }
    assert_eq!((engine.occupancy(A), engine.occupancy(B)), ((100, 100), (37, 37)));
    session.insert_in(Tenant(9), key(7777), parcel(1), 100, 0);
    assert_eq!(session.get_in(A, &key(7777), 0), Some(parcel(1)));
    assert_eq!(session.get_in(B, &key(7777), 0), None);
}

#[test]
fn statistics_are_kept_per_tenant() {
    let engine = Arc::new(Engine::<Parcel>::for_tenants(&[64, 64]));
    let mut session = engine.session();
    session.insert_in(A, key(1), parcel(1), 100, 0);
    for _ in 0..3 {
        session.get_in(A, &key(1), 0);
        session.get_in(B, &key(1), 0);
    }
    let (a, b, all) = (engine.tenant_stats(A), engine.tenant_stats(B), engine.stats());
    assert_eq!((a.hits, a.misses, a.insertions), (3, 0, 1));
    assert_eq!((b.hits, b.misses, b.insertions), (0, 3, 0));
    assert_eq!((all.hits, all.misses, all.insertions), (3, 3, 1));
    drop(session);
    assert_eq!((engine.tenant_stats(A), engine.tenant_stats(B)), (a, b));
}

#[test]
fn heavy_values_displace_as_many_as_they_weigh() {
    let engine = Arc::new(Engine::<Parcel>::new(EngineConfig { capacity: 32 }));
    let mut session = engine.session();
    for n in 0..32 {
        session.insert(key(n), parcel(n), 100, 0);
    }
    let heavy = Parcel { number: 99, weight: 10 };
    assert_eq!(session.insert(key(99), heavy, 100, 0), Inserted::New);
    assert_eq!(session.get(&key(99), 0), Some(heavy));
    assert_eq!((engine.len(), engine.stats().evictions), (23, 10));
    // Lighter again: room for nine more.
    assert_eq!(session.insert(key(99), parcel(5), 100, 0), Inserted::New);
    for n in 200..209 {
        session.insert(key(n), parcel(n), 100, 0);
    }
    assert_eq!((engine.len(), engine.stats().evictions), (32, 10));
    let stats = engine.stats();
    assert_eq!(stats.insertions - stats.evictions - stats.removals, engine.len() as u64);
    // Nothing weighs more than a set.
    assert_eq!(session.insert(key(300), Parcel { number: 1, weight: 200 }, 100, 0), Inserted::New);
    assert_eq!(engine.len(), 1);
}

#[test]
fn the_listener_hears_of_every_departure_and_may_use_the_cache() {
    static EVICTED: AtomicU64 = AtomicU64::new(0);
    static EXPIRED: AtomicU64 = AtomicU64::new(0);
    static INVALIDATED: AtomicU64 = AtomicU64::new(0);
    let behind = Arc::new(Engine::<Parcel>::new(EngineConfig { capacity: 4096 }));
    let second = behind.clone();
    let listener = move |gone: &Departure<Parcel>| {
        assert_eq!(gone.key, key(gone.value.number));
        second.session().insert(gone.key, gone.value, 100, 0);
        let count = match gone.cause {
            Cause::Evicted => &EVICTED,
            Cause::Expired => &EXPIRED,
            Cause::Invalidated => &INVALIDATED,
        };
        count.fetch_add(1, Relaxed);
    };
    let engine = Engine::<Parcel>::new(EngineConfig { capacity: 64 }).with_listener(listener);
    let engine = Arc::new(engine);
    let mut session = engine.session();
    const KEYS: u64 = if cfg!(miri) { 100 } else { 1000 };
    for n in 0..KEYS {
        session.insert(key(n), parcel(n), 50, 0);
    }
    assert_eq!(EVICTED.load(Relaxed), engine.stats().evictions);
    assert_eq!((engine.len() + behind.len()) as u64, KEYS, "what one lost the other has");
    session.remove(&key(KEYS - 1));
    engine.invalidate(A);
    session.insert(key(5000), parcel(5000), 20, 0);
    session.sweep(30);
    assert_eq!(INVALIDATED.load(Relaxed) + EXPIRED.load(Relaxed), engine.stats().expirations);
    assert!(EXPIRED.load(Relaxed) > 0 && engine.is_empty());
}

#[test]
fn a_snapshot_has_what_is_usable() {
    let engine = Arc::new(Engine::<Parcel>::for_tenants(&[64, 64]));
    let mut session = engine.session();
    for n in 0..20 {
        session.insert_in(Tenant((n % 2) as u16), key(n), parcel(n), 10 + n, 0);
    }
    engine.invalidate(B);
    session.insert_in(B, key(77), parcel(77), 100, 0);
    let held: HashMap<u64, _> =
        engine.snapshot(20).into_iter().map(|copy| (copy.value.number, copy)).collect();
    let mut numbers: Vec<u64> = held.keys().copied().collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [12, 14, 16, 18, 77]);
    let copy = held[&14];
    assert_eq!((copy.tenant, copy.key, copy.expires_at), (A, key(14), 24));
    // It can be put back.
    let second = Arc::new(Engine::<Parcel>::for_tenants(&[64, 64]));
    let mut restored = second.session();
    for c in held.values() {
        restored.insert_in(c.tenant, c.key, c.value, c.expires_at, 20);
    }
    assert!(numbers.iter().all(|&n| restored.get_in(held[&n].tenant, &key(n), 20) == Some(parcel(n))));
}
