//! The engine: a bounded set-associative table with per-entry expiry, admission by frequency and
//! per-worker observation.
//!
//! The keyed hash of a key picks one set of 32 entries, and everything that happens to the key
//! happens there: memory is fixed when the cache is made, no operation rehashes, and two workers
//! meet only if they are in one set at one moment. See [`set`] and [`crate::version`] for what makes reads
//! safe without a lock, [`eviction`] for which entries stay, [`sketch`] for how frequencies are stored
//! and [`trials`] for how the policy adapts. [`growth`] puts a larger engine in the place of one.
//!
//! No operation allocates.

mod entry;
mod eviction;
mod growth;
mod insert;
mod policy;
mod session;
mod set;
mod sketch;
mod trials;
mod writer;

use crate::placement::{KeyWords, Placement};
use crate::{Cache, Observer, PerWorker, Stats, Value};
use entry::{Entries, Entry};
use policy::Policy;
pub use session::EngineSession;
use set::{Ledger, Place, Published, Set};
pub use sketch::Sketch;
use std::sync::Arc;
use trefoil_kernels::pages::collect_in_large_pages;

/// How to build an [`Engine`].
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Entries to hold, at least one.
    pub capacity: usize,
}

/// The instrumented cache.
pub struct Engine<V: Value, O: Observer = PerWorker> {
    sets: Box<[Set]>,
    /// As many as `sets`.
    entries: Box<[Entries<V::Words>]>,
    /// As many as `sets`.
    ledgers: Box<[Ledger]>,
    policy: Policy,
    placement: Placement,
    observer: O,
}

/// Memory of the sketch, at most.
const SKETCH_BYTES: usize = 512 << 10;

impl<V: Value, O: Observer> Engine<V, O> {
    /// An empty cache; allocates all the memory it will ever use.
    #[must_use]
    pub fn new(config: EngineConfig) -> Self {
        Self::observed(config, O::default())
    }

    /// The same, with the given observer.
    #[must_use]
    pub fn observed(config: EngineConfig, observer: O) -> Self {
        Self::with_placement(config.capacity, Placement::random(), observer)
    }

    fn with_placement(capacity: usize, placement: Placement, observer: O) -> Self {
        let policy = Policy::new(capacity, SKETCH_BYTES);
        let sets = policy.sets();
        Self {
            sets: collect_in_large_pages((0..sets).map(|_| Set::empty())),
            entries: collect_in_large_pages((0..sets).map(|_| std::array::from_fn(|_| Entry::empty()))),
            ledgers: collect_in_large_pages((0..sets).map(|_| Ledger::empty())),
            policy,
            placement,
            observer,
        }
    }

    /// The observer that the sessions report to.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// Bytes of table, sketch and trials; constant.
    pub fn memory_bytes(&self) -> usize {
        let table = size_of_val(&*self.sets) + size_of_val(&*self.entries) + size_of_val(&*self.ledgers);
        table + self.policy.bytes()
    }

    #[inline(always)]
    fn hash(&self, key: &KeyWords) -> u64 {
        self.placement.hash(key)
    }

    #[inline(always)]
    fn place(&self, set: usize) -> Place<'_, V::Words> {
        Place { shown: self.show(set), ledger: &self.ledgers[set] }
    }

    #[inline(always)]
    fn show(&self, set: usize) -> Published<'_, V::Words> {
        Published { set: &self.sets[set], entries: &self.entries[set] }
    }
}

impl<V: Value, O: Observer> Cache<V> for Engine<V, O> {
    type Session = EngineSession<V, O>;

    fn session(self: &Arc<Self>) -> Self::Session {
        EngineSession::new(self.clone())
    }

    fn stats(&self) -> Stats {
        self.observer.stats()
    }

    fn capacity(&self) -> usize {
        self.policy.entries()
    }

    fn len(&self) -> usize {
        self.sets.iter().map(Set::len).sum()
    }

    fn table_bytes(&self) -> Option<usize> {
        Some(self.memory_bytes())
    }
}

impl<V: Value, O: Observer> Drop for Engine<V, O> {
    fn drop(&mut self) {
        for entry in self.entries.iter().flatten() {
            entry.wipe();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::pack;
    use crate::{Inserted, Key, Session};

    impl Value for u64 {
        type Words = [u64; 1];

        fn to_words(&self) -> [u64; 1] {
            [*self]
        }

        fn from_words(words: &[u64; 1]) -> u64 {
            words[0]
        }
    }

    /// With the secret known, a first word equal to the secret's makes the second word irrelevant:
    /// all these keys have one hash, hence one set and one tag.
    fn colliding_keys(secret: [u64; 5]) -> impl Iterator<Item = Key> {
        (0..).map(move |n: u64| {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&secret[0].to_le_bytes());
            key[8..16].copy_from_slice(&n.to_le_bytes());
            key
        })
    }

    #[test]
    fn keys_of_one_hash_are_told_apart() {
        let secret = [0x1234_5678_9ABC_DEF0, 2, 3, 4, 5];
        let placement = Placement::with_secret(secret);
        let engine = Arc::new(Engine::<u64>::with_placement(1024, placement, PerWorker::default()));
        let keys: Vec<Key> = colliding_keys(secret).take(33).collect();
        let hashes: Vec<u64> = keys.iter().map(|key| engine.hash(&pack(key))).collect();
        assert!(hashes.iter().all(|&h| h == hashes[0]));

        let mut session = engine.session();
        for (n, key) in keys[..32].iter().enumerate() {
            assert_eq!(session.insert(*key, n as u64, 10, 0), Inserted::New);
        }
        for (n, key) in keys[..32].iter().enumerate() {
            assert_eq!(session.get(key, 0), Some(n as u64));
        }
        assert_eq!(session.get(&keys[32], 0), None);
        assert!(!session.remove(&keys[32]));
        // The next one evicts one entry of the set and nothing else changes.
        assert_eq!(session.insert(keys[32], 32, 10, 0), Inserted::New);
        assert_eq!(engine.stats().evictions, 1);
        assert_eq!(engine.len(), 32);
        let held = keys.iter().enumerate().filter(|(n, key)| match session.get(key, 0) {
            Some(value) => value == *n as u64,
            None => false,
        });
        assert_eq!(held.count(), 32);
    }

    #[test]
    fn an_expired_entry_makes_room_before_a_live_one() {
        let engine = Arc::new(Engine::<u64>::new(EngineConfig { capacity: 16 }));
        let mut session = engine.session();
        for n in 0..16u8 {
            session.insert([n; 32], n.into(), if n == 5 { 10 } else { 100 }, 0);
        }
        session.insert([99; 32], 99, 100, 10);
        let stats = engine.stats();
        assert_eq!((stats.expirations, stats.evictions), (1, 0));
        assert!((0..16).filter(|&n| n != 5).all(|n| session.get(&[n; 32], 10).is_some()));
    }

    #[test]
    fn deadlines_beyond_32_bits_are_exact() {
        let engine = Arc::new(Engine::<u64>::new(EngineConfig { capacity: 16 }));
        let mut session = engine.session();
        let far = 1 << 40;
        session.insert([1; 32], 1, far, 0);
        assert_eq!(session.sweep(far - 1), 0);
        assert_eq!(session.get(&[1; 32], far - 1), Some(1));
        assert_eq!(session.get(&[1; 32], far), None);
        assert_eq!(session.sweep(far), 1);
    }

    #[test]
    fn a_popular_entry_survives_a_flood_of_one_time_keys() {
        let engine = Arc::new(Engine::<u64>::new(EngineConfig { capacity: 16 }));
        let mut session = engine.session();
        session.insert([255; 32], 7, 100, 0);
        for n in 0..if cfg!(miri) { 40 } else { 10_000u64 } {
            assert_eq!(session.get(&[255; 32], 0), Some(7), "lost after {n} others");
            let mut key = [0; 32];
            key[..8].copy_from_slice(&n.to_le_bytes());
            session.insert(key, n, 100, 0);
        }
    }

    #[test]
    fn what_is_announced_is_neither_counted_nor_changed() {
        let engine = Arc::new(Engine::<u64>::new(EngineConfig { capacity: 100 }));
        let mut session = engine.session();
        let keys: Vec<Key> = (0..70).map(|n| [n; 32]).collect();
        // Fewer keys than one group, exactly one group, more, and none; in an empty table and in one that holds them.
        for announced in [0, 1, 31, 32, 33, 64, 70] {
            session.announce(keys[..announced].iter());
        }
        for (n, key) in keys.iter().enumerate() {
            session.insert(*key, n as u64, 10, 0);
        }
        let before = engine.stats();
        session.announce(keys.iter());
        assert_eq!(engine.stats(), before);
        let held: Vec<bool> = keys.iter().map(|key| session.get(key, 0).is_some()).collect();
        session.announce(keys.iter());
        for (n, (key, held)) in keys.iter().zip(held).enumerate() {
            assert_eq!(session.get(key, 0), held.then_some(n as u64));
        }
    }

    #[test]
    fn removal_leaves_no_value_behind() {
        let engine = Arc::new(Engine::<u64>::new(EngineConfig { capacity: 16 }));
        let mut session = engine.session();
        session.insert([1; 32], u64::MAX, 100, 0);
        session.remove(&[1; 32]);
        assert!(engine.entries.iter().flatten().all(Entry::is_wiped));
    }
}
