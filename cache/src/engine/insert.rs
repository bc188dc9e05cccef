//! What an insert does, in the order in which it does it: learns, decides, stores, tells.

use super::entry::Held;
use super::writer::{Displaced, Newcomer, Terms};
use super::{Engine, EngineSession, dither};
use crate::placement::KeyWords;
use crate::value::pack;
use crate::{Cause, Event, Hint, Inserted, Key, Observer, Operation, Recorder, Tenant, Ticket, Value};

impl<V: Value, O: Observer> EngineSession<V, O> {
    /// Stores what was computed under a ticket, unless the tenant's entries were invalidated since it was drawn.
    ///
    /// As [`crate::Session::insert`] in all else.
    pub fn insert_with(&mut self, ticket: Ticket, key: Key, value: V, expires_at: u64, now: u64) -> Inserted {
        let tenant = ticket.tenant;
        self.learn(tenant);
        if expires_at <= now {
            self.remove_in(tenant, &key);
            self.recorder.record_in(tenant, Event::Rejection);
            return Inserted::Expired;
        }
        let began = self.recorder.begin_put();
        // Foreign code first: nothing but stores happens inside the set.
        let weight = value.weight().max(1);
        let held = Held { words: value.to_words(), expires_at, generation: ticket.generation };
        let words: KeyWords = pack(&key);
        let outcome = self.store(tenant, &words, &held, weight, now);
        self.recorder.record_in(
            tenant,
            match outcome {
                Inserted::New => Event::Insertion,
                Inserted::Replaced => Event::Replacement,
                _ => Event::Rejection,
            },
        );
        if let Some(began) = began {
            self.recorder.end(Operation::Put, began);
        }
        outcome
    }

    fn store(
        &mut self,
        tenant: Tenant,
        key: &KeyWords,
        held: &Held<V::Words>,
        weight: u8,
        now: u64,
    ) -> Inserted {
        let hash = self.engine.hash(key);
        self.settle_miss(hash);
        let Self { engine, recorder, .. } = self;
        let partition = engine.partition(tenant);
        let spot = partition.spot(hash);
        let generation = partition.generation();
        if generation != held.generation {
            return Inserted::Outdated;
        }
        let mut heat = partition.sketch.add(spot.hash);
        if heat == 1 && recorder.hint() == Hint::Scan {
            heat = 0;
        }
        let terms = Terms {
            now,
            generation,
            epoch: partition.sketch.epoch(),
            tactic: partition.tactic(),
            usable: partition.usable(spot.set),
            dither: dither(spot.set),
        };
        let weight = weight.min(terms.usable as u8);
        let new = Newcomer { tag: spot.tag, key, held, heat, weight };
        let deciding = recorder.begin_admission();
        loop {
            let Some(mut set) = engine.place(spot.set).try_write() else { return Inserted::Contended };
            if let Some(way) = set.find(spot.tag, key) {
                if set.replace(way, held, weight) {
                    return Inserted::Replaced;
                }
                set.remove(way);
                recorder.record_in(tenant, Event::Removal);
            }
            let (stored, displaced) = set.add(&new, &terms);
            drop(set);
            if let Some(displaced) = displaced {
                after(engine, recorder, tenant, &displaced);
            }
            if stored {
                if let Some(began) = deciding {
                    recorder.end(Operation::Admission, began);
                }
                return Inserted::New;
            }
        }
    }
}

/// An entry went: its frequency is remembered and it is counted, outside the set.
fn after<V: Value, O: Observer>(
    engine: &Engine<V, O>,
    recorder: &mut O::Worker,
    tenant: Tenant,
    displaced: &Displaced,
) {
    engine.partition(tenant).sketch.raise(engine.hash(&displaced.key), displaced.heat);
    recorder.record_in(
        tenant,
        match displaced.cause {
            Cause::Evicted => Event::Eviction,
            Cause::Expired | Cause::Invalidated => Event::Expiration,
        },
    );
    for _ in 0..displaced.migrations {
        recorder.record_in(tenant, Event::Migration);
    }
    if let Some(stayed) = displaced.stayed {
        recorder.record_in(tenant, if stayed { Event::AdmissionWon } else { Event::AdmissionLost });
    }
}
