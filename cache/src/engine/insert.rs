//! The steps of an insert in order: learn, decide, store, report.

use super::entry::Held;
use super::eviction::dither;
use super::writer::{Cause, Displaced, Newcomer, Terms};
use super::{Engine, EngineSession};
use crate::placement::KeyWords;
use crate::value::pack;
use crate::{Event, Hint, Inserted, Key, Observer, Operation, Recorder, Session, Value};

impl<V: Value, O: Observer> EngineSession<V, O> {
    /// As [`Session::insert`].
    pub(super) fn put(&mut self, key: Key, value: V, expires_at: u64, now: u64) -> Inserted {
        self.learn();
        if expires_at <= now {
            self.remove(&key);
            self.recorder.record(Event::Rejection);
            return Inserted::Expired;
        }
        let began = self.recorder.begin_put();
        // Foreign code first: inside the set there are only stores.
        let held = Held { words: value.to_words(), expires_at };
        let outcome = self.store(&pack(&key), &held, now);
        self.recorder.record(match outcome {
            Inserted::New => Event::Insertion,
            Inserted::Replaced => Event::Replacement,
            _ => Event::Rejection,
        });
        if let Some(began) = began {
            self.recorder.end(Operation::Put, began);
        }
        outcome
    }

    fn store(&mut self, key: &KeyWords, held: &Held<V::Words>, now: u64) -> Inserted {
        let hash = self.engine.hash(key);
        self.settle_miss(hash);
        let Self { engine, recorder, .. } = self;
        let policy = &engine.policy;
        let spot = policy.spot(hash);
        let mut heat = policy.sketch.add(spot.hash);
        if heat == 1 && recorder.hint() == Hint::Scan {
            heat = 0;
        }
        let terms = Terms {
            now,
            epoch: policy.sketch.epoch(),
            tactic: policy.tactic(),
            usable: policy.usable(spot.set),
            dither: dither(spot.set),
        };
        let deciding = recorder.begin_admission();
        let Some(mut set) = engine.place(spot.set).try_write() else { return Inserted::Contended };
        if let Some(way) = set.find(spot.tag, key) {
            set.store(way, held);
            return Inserted::Replaced;
        }
        let displaced = set.add(&Newcomer { tag: spot.tag, key, held, heat }, &terms);
        drop(set);
        if let Some(displaced) = displaced {
            after(engine, recorder, &displaced);
        }
        if let Some(began) = deciding {
            recorder.end(Operation::Admission, began);
        }
        Inserted::New
    }
}

/// An entry was evicted: its frequency goes back to the sketch and it is counted, outside the set.
pub(super) fn after<V: Value, O: Observer>(
    engine: &Engine<V, O>,
    recorder: &mut O::Worker,
    displaced: &Displaced,
) {
    engine.policy.sketch.raise(engine.hash(&displaced.key), displaced.heat);
    recorder.record(match displaced.cause {
        Cause::Evicted => Event::Eviction,
        Cause::Expired => Event::Expiration,
    });
    recorder.record_many(Event::Migration, displaced.migrations.into());
    if let Some(stayed) = displaced.stayed {
        recorder.record(if stayed { Event::AdmissionWon } else { Event::AdmissionLost });
    }
}
