//! A worker's handle on the engine: look-ups, removals, sweeps. What inserts do is in [`super::insert`].

use super::set::Found;
use super::{Engine, Partition};
use crate::placement::KeyWords;
use crate::value::pack;
use crate::{Event, Inserted, Key, Observer, Operation, Recorder, Sampled, Session, Tenant, Ticket, Value};
use std::sync::Arc;
use std::time::Instant;

/// A worker's handle on an [`Engine`].
///
/// The operations of [`Session`] are those of tenant 0; the methods here take a tenant. A key belongs to the quota
/// under which it was stored: tenants of other quotas do not find it.
pub struct EngineSession<V: Value, O: Observer> {
    pub(super) engine: Arc<Engine<V, O>>,
    pub(super) recorder: O::Worker,
    /// Look-ups so far; every [`COUNTED_TOGETHER`]th is told to the partition.
    look_ups: usize,
    samples: Samples,
    /// A sampled miss that no insert has followed yet: the key's hash, and when it was looked up.
    missed: Option<(u64, Instant)>,
}

/// Power of two, so that the test is a mask.
const COUNTED_TOGETHER: usize = 64;

/// Requests kept for the trials until the next insert plays them.
struct Samples {
    requests: [(u64, Tenant); SAMPLES_MAX],
    len: usize,
}

/// A worker that only hits has nothing to learn, and what it does not keep is not missed.
const SAMPLES_MAX: usize = 32;

impl<V: Value, O: Observer> EngineSession<V, O> {
    pub(super) fn new(engine: Arc<Engine<V, O>>) -> Self {
        let recorder = engine.observer().worker();
        let samples = Samples { requests: [(0, Tenant(0)); SAMPLES_MAX], len: 0 };
        Self { engine, recorder, look_ups: 0, samples, missed: None }
    }

    /// The value that `tenant` holds under `key`, if `now` is before its expiry and it was stored after the tenant's
    /// last invalidation.
    #[inline(always)]
    pub fn get_in(&mut self, tenant: Tenant, key: &Key, now: u64) -> Option<V> {
        self.count(tenant);
        let sampled = self.recorder.begin_get(key);
        if sampled != Sampled::No {
            return self.get_sampled(tenant, key, now, sampled.began());
        }
        let mut event = Event::Absent;
        let found = self.look_up(tenant, key, now, &mut event);
        self.recorder.record_in(tenant, event);
        found
    }

    /// Permission to store later what is computed from now on.
    pub fn ticket(&self, tenant: Tenant) -> Ticket {
        Ticket { tenant, generation: self.engine.partition(tenant).generation() }
    }

    /// As [`Session::insert`], for `tenant`.
    pub fn insert_in(&mut self, tenant: Tenant, key: Key, value: V, expires_at: u64, now: u64) -> Inserted {
        self.insert_with(self.ticket(tenant), key, value, expires_at, now)
    }

    /// As [`Session::remove`], for `tenant`.
    pub fn remove_in(&mut self, tenant: Tenant, key: &Key) -> bool {
        let key: KeyWords = pack(key);
        let partition = self.engine.partition(tenant);
        let spot = partition.spot(self.engine.hash(&key));
        let mut set = self.engine.place(spot.set).write();
        let Some(way) = set.find(spot.tag, &key) else { return false };
        set.remove(way);
        drop(set);
        self.recorder.record_in(tenant, Event::Removal);
        true
    }

    /// A look-up in the sample. Apart, so that those outside of it carry nothing along.
    #[cold]
    #[inline(never)]
    fn get_sampled(&mut self, tenant: Tenant, key: &Key, now: u64, began: Option<Instant>) -> Option<V> {
        let mut event = Event::Absent;
        let found = self.look_up(tenant, key, now, &mut event);
        if let Some(began) = began {
            self.recorder.end_get(began);
        }
        self.recorder.record_in(tenant, event);
        self.recorder.saw(key, found.is_some());
        if let (None, Some(began)) = (&found, began) {
            self.missed = Some((self.engine.hash(&pack(key)), began));
        }
        found
    }

    /// The value under `key` if it is usable; `event` becomes what happened. The value is put
    /// together in the last step and not passed on in parts: moving it costs as much as finding it.
    #[inline(always)]
    fn look_up(&mut self, tenant: Tenant, key: &Key, now: u64, event: &mut Event) -> Option<V> {
        let key: KeyWords = pack(key);
        let engine = &*self.engine;
        let partition = engine.partition(tenant);
        let spot = partition.spot(engine.hash(&key));
        if partition.is_sampled(spot.hash) {
            self.samples.keep(spot.hash, tenant);
        }
        let place = engine.place(spot.set);
        *event = match place.read(spot.tag, &key) {
            Found::Entry { way, held } if held.is_usable(now, partition.generation()) => {
                place.set.warm(way);
                *event = Event::Hit;
                return Some(V::from_words(&held.words));
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

    #[inline(always)]
    fn count(&mut self, tenant: Tenant) {
        self.look_ups = self.look_ups.wrapping_add(1);
        if self.look_ups & (COUNTED_TOGETHER - 1) == 0 {
            self.tell(tenant);
        }
    }

    #[cold]
    fn tell(&self, tenant: Tenant) {
        self.engine.partition(tenant).count(COUNTED_TOGETHER);
    }

    /// Plays the sampled requests; off the path of a look-up, because it takes some microseconds.
    pub(super) fn learn(&mut self) {
        let kept = std::mem::take(&mut self.samples.len);
        for of_one in self.samples.requests[..kept].chunk_by(|a, b| a.1 == b.1) {
            self.engine.partition(of_one[0].1).learn(of_one.iter().map(|&(hash, _)| hash));
        }
    }

    /// An insert for the key with `hash` is done: if it followed a sampled miss, that is what the miss cost.
    pub(super) fn settle_miss(&mut self, hash: u64) {
        if let Some((_, began)) = self.missed.take_if(|(missed, _)| *missed == hash) {
            self.recorder.end(Operation::Miss, began);
        }
    }

    fn sweep_partition(&mut self, tenant: Tenant, partition: &Partition, now: u64) -> usize {
        let engine = self.engine.clone();
        let mut removed = 0;
        for index in partition.sets() {
            let place = engine.place(index);
            // Sets without a candidate are not disturbed. One entry at a time, so that the listener runs outside.
            while place.may_have_dead(now, partition.generation()) {
                let Some(dead) = place.write().remove_dead(now, partition.generation()) else { break };
                engine.tell_listener(tenant, &dead);
                self.recorder.record_in(tenant, Event::Expiration);
                removed += 1;
            }
        }
        removed
    }
}

impl Samples {
    #[inline]
    fn keep(&mut self, hash: u64, tenant: Tenant) {
        if let Some(slot) = self.requests.get_mut(self.len) {
            *slot = (hash, tenant);
            self.len += 1;
        }
    }
}

impl<V: Value, O: Observer> Session<V> for EngineSession<V, O> {
    #[inline(always)]
    fn get(&mut self, key: &Key, now: u64) -> Option<V> {
        self.get_in(Tenant(0), key, now)
    }

    fn insert(&mut self, key: Key, value: V, expires_at: u64, now: u64) -> Inserted {
        self.insert_in(Tenant(0), key, value, expires_at, now)
    }

    fn remove(&mut self, key: &Key) -> bool {
        self.remove_in(Tenant(0), key)
    }

    fn sweep(&mut self, now: u64) -> usize {
        let engine = self.engine.clone();
        engine.tenants().map(|tenant| self.sweep_partition(tenant, engine.partition(tenant), now)).sum()
    }
}
