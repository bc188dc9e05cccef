//! The yardstick: a raw `DashMap` behind the same trait.
//!
//! It hashes keys with the engine's placement hash, so that a comparison shows the tables and not
//! the hash. It has no eviction: a full map first drops expired entries (at most once per second of
//! the callers' clock, because that walks everything) and then refuses new keys. By default it
//! observes nothing, which is what "raw" means; to count anyway, name any [`Observer`].

use crate::placement::Placement;
use crate::{
    Cache, Event, Inserted, Key, Observer, Off, Operation, Recorder, Sampled, Session, Stats, Value,
};
#[expect(clippy::disallowed_types, reason = "this is the baseline")]
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

/// A `DashMap` from key to value and expiry.
#[expect(clippy::disallowed_types, reason = "this is the baseline")]
pub struct Baseline<V, O = Off> {
    map: DashMap<Key, Held<V>, Placement>,
    capacity: usize,
    /// Entries held or about to be: bounds the map without asking its shards. Written when a key
    /// comes or goes, never by a look-up.
    reserved: AtomicUsize,
    /// The second in which the map was last swept because it was full.
    swept_at: AtomicU64,
    observer: O,
}

#[derive(Clone, Copy)]
struct Held<V> {
    value: V,
    expires_at: u64,
}

/// A worker's handle on a [`Baseline`].
pub struct BaselineSession<V: Value, O: Observer> {
    baseline: Arc<Baseline<V, O>>,
    recorder: O::Worker,
    /// Counted if the observer samples look-ups.
    look_ups: u64,
}

impl<V: Value, O: Observer> Baseline<V, O> {
    /// An empty map that holds at most `capacity` entries (at least one).
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            #[expect(clippy::disallowed_types, reason = "this is the baseline")]
            map: DashMap::with_hasher(Placement::random()),
            capacity: capacity.max(1),
            reserved: AtomicUsize::new(0),
            swept_at: AtomicU64::new(0),
            observer: O::default(),
        }
    }

    /// The observer that the sessions report to.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    #[expect(clippy::disallowed_methods, reason = "bounds the baseline; written when keys come and go")]
    fn reserve(&self) -> bool {
        self.reserved.fetch_update(Relaxed, Relaxed, |n| (n < self.capacity).then_some(n + 1)).is_ok()
    }

    #[expect(clippy::disallowed_methods, reason = "bounds the baseline; off the operation path")]
    fn sweep(&self, now: u64) -> usize {
        let mut dropped = 0;
        self.map.retain(|_, held| {
            let keep = now < held.expires_at;
            dropped += usize::from(!keep);
            keep
        });
        self.reserved.fetch_sub(dropped, Relaxed);
        dropped
    }

    /// Sweeps a full map unless that was done in this second; returns how many entries went.
    #[expect(clippy::disallowed_methods, reason = "this is the baseline; once a second at most")]
    fn sweep_when_full(&self, now: u64) -> usize {
        let last = self.swept_at.load(Relaxed);
        let mine = last < now && self.swept_at.compare_exchange(last, now, Relaxed, Relaxed).is_ok();
        if mine { self.sweep(now) } else { 0 }
    }
}

impl<V: Value, O: Observer> Cache<V> for Baseline<V, O> {
    type Session = BaselineSession<V, O>;

    fn session(self: &Arc<Self>) -> Self::Session {
        let recorder = self.observer.worker();
        BaselineSession { look_ups: recorder.phase(), recorder, baseline: self.clone() }
    }

    fn stats(&self) -> Stats {
        self.observer.stats()
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn len(&self) -> usize {
        self.map.len()
    }
}

impl<V: Value, O: Observer> BaselineSession<V, O> {
    /// The value under `key` if it is usable; `event` receives the outcome. As in the engine, the value is copied
    /// once, in the last step: a second move would be charged to the map.
    #[inline(always)]
    fn look_up(&self, key: &Key, now: u64, event: &mut Event) -> Option<V> {
        *event = match self.baseline.map.get(key) {
            Some(held) if now < held.expires_at => {
                *event = Event::Hit;
                return Some(held.value);
            }
            Some(_) => Event::Stale,
            None => Event::Absent,
        };
        None
    }

    /// A sampled look-up, in a function of its own so that unsampled ones do not pay for it.
    #[cold]
    #[inline(never)]
    fn get_sampled(&mut self, key: &Key, now: u64, began: Option<Instant>) -> Option<V> {
        let mut event = Event::Absent;
        let found = self.look_up(key, now, &mut event);
        if let Some(began) = began {
            self.recorder.end_get(began);
        }
        self.recorder.record(event);
        self.recorder.saw(key, found.is_some());
        found
    }

    fn store(&self, key: Key, held: Held<V>) -> Inserted {
        match self.baseline.map.entry(key) {
            Entry::Occupied(mut entry) => {
                entry.insert(held);
                Inserted::Replaced
            }
            Entry::Vacant(entry) if self.baseline.reserve() => {
                entry.insert(held);
                Inserted::New
            }
            Entry::Vacant(_) => Inserted::Full,
        }
    }
}

impl<V: Value, O: Observer> Session<V> for BaselineSession<V, O> {
    #[inline]
    fn get(&mut self, key: &Key, now: u64) -> Option<V> {
        if O::Worker::SHOWN {
            self.look_ups = self.look_ups.wrapping_add(1);
            if self.recorder.sampling().holds(self.look_ups) {
                let sampled = self.recorder.begin_get(key);
                if sampled != Sampled::No {
                    return self.get_sampled(key, now, sampled.began());
                }
            }
        }
        let mut event = Event::Absent;
        let found = self.look_up(key, now, &mut event);
        self.recorder.record(event);
        found
    }

    fn insert(&mut self, key: Key, value: V, expires_at: u64, now: u64) -> Inserted {
        if expires_at <= now {
            self.remove(&key);
            self.recorder.record(Event::Rejection);
            return Inserted::Expired;
        }
        let began = self.recorder.begin_put();
        let deciding = self.recorder.begin_admission();
        let mut outcome = self.store(key, Held { value, expires_at });
        if outcome == Inserted::Full {
            let dropped = self.baseline.sweep_when_full(now);
            self.recorder.record_many(Event::Expiration, dropped as u64);
            if dropped > 0 {
                outcome = self.store(key, Held { value, expires_at });
            }
        }
        if let Some(deciding) = deciding {
            self.recorder.end(Operation::Admission, deciding);
        }
        self.recorder.record(match outcome {
            Inserted::New => Event::Insertion,
            Inserted::Replaced => Event::Replacement,
            Inserted::Expired | Inserted::Contended | Inserted::Full => Event::Rejection,
        });
        if let Some(began) = began {
            self.recorder.end(Operation::Put, began);
        }
        outcome
    }

    fn filled(&mut self, missed_at: Instant) {
        self.recorder.end(Operation::Miss, missed_at);
    }

    #[expect(clippy::disallowed_methods, reason = "bounds the baseline; written when keys come and go")]
    fn remove(&mut self, key: &Key) -> bool {
        let held = self.baseline.map.remove(key).is_some();
        if held {
            self.baseline.reserved.fetch_sub(1, Relaxed);
            self.recorder.record(Event::Removal);
        }
        held
    }

    #[expect(clippy::disallowed_methods, reason = "bounds the baseline; off the operation path")]
    fn retain(&mut self, keep: &dyn Fn(&V) -> bool) -> usize {
        let mut dropped = 0;
        self.baseline.map.retain(|_, held| {
            let keep = keep(&held.value);
            dropped += usize::from(!keep);
            keep
        });
        self.baseline.reserved.fetch_sub(dropped, Relaxed);
        self.recorder.record_many(Event::Removal, dropped as u64);
        dropped
    }

    fn sweep(&mut self, now: u64) -> usize {
        let dropped = self.baseline.sweep(now);
        self.recorder.record_many(Event::Expiration, dropped as u64);
        dropped
    }
}

/// Hashes a key by its placement.
pub(crate) struct PlacementHasher {
    placement: Placement,
    hash: u64,
}

impl BuildHasher for Placement {
    type Hasher = PlacementHasher;

    fn build_hasher(&self) -> PlacementHasher {
        PlacementHasher { placement: self.clone(), hash: 0 }
    }
}

impl Hasher for PlacementHasher {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        self.hash = self.placement.hash(&crate::value::pack(bytes));
    }

    /// The length prefix of an array adds nothing: all keys have one length.
    #[inline(always)]
    fn write_usize(&mut self, _: usize) {}

    #[inline(always)]
    fn finish(&self) -> u64 {
        self.hash
    }
}
