//! The engine: a bounded set-associative table with per-entry expiry, admission by frequency and
//! per-worker observation.
//!
//! The keyed hash of a key picks one set of sixteen entries, and everything that happens to the key
//! happens there: memory is fixed when the cache is made, no operation rehashes, and two workers
//! meet only if they are in one set at one moment. See [`set`] for what makes reads safe without a
//! lock, [`eviction`] for who stays and [`sketch`] for how frequencies are remembered.
//!
//! No operation allocates.

mod eviction;
mod set;
mod sketch;

use crate::placement::{KeyWords, Placement};
use crate::value::pack;
use crate::{Cache, Event, Inserted, Key, Observer, PerWorker, Recorder, Session, Stats, Value};
use eviction::WAYS;
use set::{Displaced, Entries, Entry, Found, Place, Set};
use sketch::Sketch;
use std::sync::Arc;

/// How to build an [`Engine`].
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Entries to hold; rounded up to whole sets of 16, at least one set.
    pub capacity: usize,
}

/// The instrumented cache.
pub struct Engine<V: Value, O: Observer = PerWorker> {
    sets: Box<[Set]>,
    /// As many as `sets`.
    entries: Box<[Entries<V::Words>]>,
    sketch: Sketch,
    placement: Placement,
    observer: O,
}

/// A worker's handle on an [`Engine`].
pub struct EngineSession<V: Value, O: Observer> {
    engine: Arc<Engine<V, O>>,
    recorder: O::Worker,
}

/// Where a key belongs.
struct Spot {
    hash: u64,
    set: usize,
    tag: u16,
}

impl<V: Value, O: Observer> Engine<V, O> {
    /// An empty cache; allocates all the memory it will ever use.
    #[must_use]
    pub fn new(config: EngineConfig) -> Self {
        Self::with_placement(config, Placement::random())
    }

    fn with_placement(config: EngineConfig, placement: Placement) -> Self {
        let EngineConfig { capacity } = config;
        let sets = capacity.div_ceil(WAYS).max(1);
        Self {
            sets: (0..sets).map(|_| Set::empty()).collect(),
            entries: (0..sets).map(|_| std::array::from_fn(|_| Entry::empty())).collect(),
            sketch: Sketch::for_capacity(sets * WAYS),
            placement,
            observer: O::default(),
        }
    }

    /// The observer that the sessions report to.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// Bytes of table and sketch; constant.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.sets) + size_of_val(&*self.entries) + self.sketch.bytes()
    }

    #[inline(always)]
    fn spot(&self, key: &KeyWords) -> Spot {
        let hash = self.placement.hash(key);
        let set = ((u128::from(hash) * self.sets.len() as u128) >> 64) as usize;
        // Zero marks an empty way.
        Spot { hash, set, tag: (hash as u16).max(1) }
    }

    #[inline(always)]
    fn place(&self, set: usize) -> Place<'_, V::Words> {
        Place { set: &self.sets[set], entries: &self.entries[set] }
    }
}

impl<V: Value, O: Observer> Cache<V> for Engine<V, O> {
    type Session = EngineSession<V, O>;

    fn session(self: &Arc<Self>) -> Self::Session {
        EngineSession { recorder: self.observer.worker(), engine: self.clone() }
    }

    fn stats(&self) -> Stats {
        self.observer.stats()
    }

    fn capacity(&self) -> usize {
        self.sets.len() * WAYS
    }

    fn len(&self) -> usize {
        self.sets.iter().map(Set::len).sum()
    }
}

impl<V: Value, O: Observer> EngineSession<V, O> {
    /// The value under `key` if it is usable; `event` becomes what happened. The value is put
    /// together in the last step and not passed on in parts: moving it costs as much as finding it.
    #[inline(always)]
    fn look_up(&self, key: &Key, now: u64, event: &mut Event) -> Option<V> {
        let key: KeyWords = pack(key);
        let spot = self.engine.spot(&key);
        let place = self.engine.place(spot.set);
        *event = match place.read(spot.tag, &key) {
            Found::Entry { way, expires_at, words } if now < expires_at => {
                place.set.warm(way);
                *event = Event::Hit;
                return Some(V::from_words(&words));
            }
            Found::Entry { way, .. } => {
                place.set.cool(way);
                Event::Stale
            }
            Found::Absent => Event::Absent,
            Found::Disturbed => Event::ContendedGet,
        };
        None
    }
}

impl<V: Value, O: Observer> Session<V> for EngineSession<V, O> {
    #[inline]
    fn get(&mut self, key: &Key, now: u64) -> Option<V> {
        let began = self.recorder.begin_get(key);
        let mut event = Event::Absent;
        let found = self.look_up(key, now, &mut event);
        if let Some(began) = began {
            self.recorder.end_get(began);
        }
        self.recorder.record(event);
        found
    }

    fn insert(&mut self, key: Key, value: V, expires_at: u64, now: u64) -> Inserted {
        if expires_at <= now {
            self.remove(&key);
            self.recorder.record(Event::Rejection);
            return Inserted::Expired;
        }
        // Foreign code and shared lines first: nothing but stores happens inside the set.
        let words = value.to_words();
        let key: KeyWords = pack(&key);
        let engine = &*self.engine;
        let spot = engine.spot(&key);
        let heat = engine.sketch.add(spot.hash);
        let Some(mut set) = engine.place(spot.set).try_write() else {
            self.recorder.record(Event::Rejection);
            return Inserted::Contended;
        };
        if let Some(way) = set.find(spot.tag, &key) {
            set.replace(way, &words, expires_at);
            drop(set);
            self.recorder.record(Event::Replacement);
            return Inserted::Replaced;
        }
        let displaced = set.add(spot.tag, &key, &words, expires_at, heat, now);
        drop(set);
        match displaced {
            Displaced::Nothing => {}
            Displaced::Expired => self.recorder.record(Event::Expiration),
            Displaced::Live { key, heat } => {
                engine.sketch.raise(engine.placement.hash(&key), heat);
                self.recorder.record(Event::Eviction);
            }
        }
        self.recorder.record(Event::Insertion);
        Inserted::New
    }

    fn remove(&mut self, key: &Key) -> bool {
        let key: KeyWords = pack(key);
        let spot = self.engine.spot(&key);
        let mut set = self.engine.place(spot.set).write();
        let Some(way) = set.find(spot.tag, &key) else { return false };
        set.remove(way);
        drop(set);
        self.recorder.record(Event::Removal);
        true
    }

    fn sweep(&mut self, now: u64) -> usize {
        let mut removed = 0;
        for (i, set) in self.engine.sets.iter().enumerate() {
            // Sets without a candidate are not disturbed.
            if set.may_have_expired(now) {
                removed += self.engine.place(i).write().remove_expired(now);
            }
        }
        self.recorder.record_many(Event::Expiration, removed as u64);
        removed
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
        let engine = Arc::new(Engine::<u64>::with_placement(EngineConfig { capacity: 1024 }, placement));
        let keys: Vec<Key> = colliding_keys(secret).take(17).collect();
        let hashes: Vec<u64> = keys.iter().map(|key| engine.spot(&pack(key)).hash).collect();
        assert!(hashes.iter().all(|&h| h == hashes[0]));

        let mut session = engine.session();
        for (n, key) in keys[..16].iter().enumerate() {
            assert_eq!(session.insert(*key, n as u64, 10, 0), Inserted::New);
        }
        for (n, key) in keys[..16].iter().enumerate() {
            assert_eq!(session.get(key, 0), Some(n as u64));
        }
        assert_eq!(session.get(&keys[16], 0), None);
        assert!(!session.remove(&keys[16]));
        // The seventeenth displaces one of the set and nothing else changes.
        assert_eq!(session.insert(keys[16], 16, 10, 0), Inserted::New);
        assert_eq!(engine.stats().evictions, 1);
        assert_eq!(engine.len(), 16);
        let held = keys.iter().enumerate().filter(|(n, key)| match session.get(key, 0) {
            Some(value) => value == *n as u64,
            None => false,
        });
        assert_eq!(held.count(), 16);
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
        for n in 0..10_000u64 {
            assert_eq!(session.get(&[255; 32], 0), Some(7), "lost after {n} others");
            let mut key = [0; 32];
            key[..8].copy_from_slice(&n.to_le_bytes());
            session.insert(key, n, 100, 0);
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
