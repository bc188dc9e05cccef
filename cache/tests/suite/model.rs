//! Random operations against a plain map.

use super::checked::{Checked, key};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::collections::HashMap;
use std::sync::Arc;
use trefoil_cache::{Cache, Inserted, Session};

#[derive(Clone, Copy, Debug)]
enum Op {
    Get(u64),
    Insert { key: u64, ttl: u64 },
    Remove(u64),
    Advance(u64),
    Sweep,
}

/// What a run of operations did, by its own count.
#[derive(Default)]
struct Tally {
    hits: u64,
    gets: u64,
    stored: u64,
    refused: u64,
    inserts: u64,
}

fn ops(keys: u64) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        6 => (0..keys).prop_map(Op::Get),
        5 => (0..keys, 0u64..30).prop_map(|(key, ttl)| Op::Insert { key, ttl }),
        2 => (0..keys).prop_map(Op::Remove),
        1 => (0u64..10).prop_map(Op::Advance),
        1 => Just(Op::Sweep),
    ];
    prop::collection::vec(op, 1..400)
}

/// Runs `ops` on a cache and on a map side by side, on two sessions in turn. A hit must be what the
/// map has; with `exact`, so must a miss.
fn run<C: Cache<Checked>>(cache: &Arc<C>, ops: &[Op], exact: bool) -> Tally {
    let mut sessions = [cache.session(), cache.session()];
    let mut map: HashMap<u64, (Checked, u64)> = HashMap::new();
    let mut tally = Tally::default();
    let mut now = 1000;
    for (i, op) in ops.iter().enumerate() {
        let session = &mut sessions[i % 2];
        match *op {
            Op::Get(k) => {
                let found = session.get(&key(k), now);
                let expected = map.get(&k).filter(|(_, expires_at)| now < *expires_at).map(|(v, _)| *v);
                assert!(found == expected || (found.is_none() && !exact), "get {k} at {now}");
                tally.gets += 1;
                tally.hits += u64::from(found.is_some());
            }
            Op::Insert { key: k, ttl } => {
                let value = Checked::new(k, i as u64);
                let outcome = session.insert(key(k), value, now + ttl, now);
                assert_eq!(outcome == Inserted::Expired, ttl == 0);
                assert!(!exact || outcome.is_stored() || ttl == 0);
                match outcome {
                    Inserted::New | Inserted::Replaced => drop(map.insert(k, (value, now + ttl))),
                    Inserted::Expired => drop(map.remove(&k)),
                    Inserted::Contended | Inserted::Full => {}
                }
                tally.inserts += 1;
                tally.stored += u64::from(outcome.is_stored());
                tally.refused += u64::from(!outcome.is_stored());
            }
            Op::Remove(k) => {
                let was_held = session.remove(&key(k));
                let was_live = map.remove(&k).is_some_and(|(_, expires_at)| now < expires_at);
                assert!(was_held || !was_live || !exact, "remove {k} at {now}");
            }
            Op::Advance(seconds) => now += seconds,
            Op::Sweep => {
                session.sweep(now);
            }
        }
        assert!(cache.len() <= cache.capacity());
    }
    tally
}

/// As many keys as one set has ways: an exact cache whatever the placement.
pub(crate) fn exact_below_capacity<C: Cache<Checked>>(make: impl Fn(usize) -> C) {
    TestRunner::default()
        .run(&ops(16), |ops| {
            run(&Arc::new(make(16)), &ops, true);
            Ok(())
        })
        .unwrap();
}

pub(crate) fn sound_when_full<C: Cache<Checked>>(make: impl Fn(usize) -> C) {
    TestRunner::default()
        .run(&ops(200), |ops| {
            run(&Arc::new(make(32)), &ops, false);
            Ok(())
        })
        .unwrap();
}

pub(crate) fn counts_add_up<C: Cache<Checked>>(make: impl Fn(usize) -> C) {
    TestRunner::default()
        .run(&ops(60), |ops| {
            let cache = Arc::new(make(16));
            let tally = run(&cache, &ops, false);
            let stats = cache.stats();
            prop_assert_eq!(stats.hits, tally.hits);
            prop_assert_eq!(stats.hits + stats.misses, tally.gets);
            prop_assert_eq!(stats.insertions + stats.replacements, tally.stored);
            prop_assert_eq!(stats.rejections, tally.refused);
            prop_assert_eq!(stats.insertions + stats.replacements + stats.rejections, tally.inserts);
            let left = stats.evictions + stats.expirations + stats.removals;
            prop_assert_eq!(stats.insertions - left, cache.len() as u64);
            prop_assert!(stats.stale + stats.contended <= stats.misses);
            Ok(())
        })
        .unwrap();
}
