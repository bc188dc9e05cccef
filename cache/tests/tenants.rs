//! Tenants, invalidation, weights, and what is kept.

#![cfg(feature = "engine")]

use std::sync::Arc;
use trefoil_cache::{Cache, Engine, EngineConfig, Inserted, Key, Session, Tenant, Value};

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
fn only_what_is_to_be_kept_is_kept() {
    let engine = Arc::new(Engine::<Parcel>::for_tenants(&[64, 64]));
    let (mut one, mut other) = (engine.session(), engine.session());
    for n in 0..40 {
        one.insert_in(Tenant((n % 2) as u16), key(n), parcel(n), 100, 0);
    }
    assert_eq!(other.retain(&|parcel| parcel.number >= 10), 10);
    for n in 0..40 {
        let held = one.get_in(Tenant((n % 2) as u16), &key(n), 0);
        assert_eq!(held, (n >= 10).then(|| parcel(n)));
    }
    assert_eq!((engine.len(), engine.stats().removals), (30, 10));
    assert_eq!(other.retain(&|_| true), 0);
}
