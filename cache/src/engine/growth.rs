//! Another engine in the place of a present one, with its entries and its totals.
//!
//! Memory is fixed when an engine is made, so a table grows by making a larger one beside it. Its owner copies the entries with
//! [`Engine::adopt`], shows the new engine to the workers, and empties the old one with [`Engine::clear`]. Between the copy and the end of
//! that, nobody may write to either engine: a removal from one of them would leave a copy in the other.

use super::entry::Held;
use super::eviction::{WAYS, dither};
use super::insert::after;
use super::set::heat_position;
use super::writer::{Newcomer, Terms};
use super::{Engine, EngineConfig};
use crate::placement::KeyWords;
use crate::{Observer, Value};
use std::sync::atomic::Ordering::Relaxed;

impl<V: Value, O: Observer + Clone> Engine<V, O> {
    /// An empty engine whose sessions report to the same observer, so that its totals go on. A clone of the observer must share them, as that of
    /// [`crate::PerWorker`] does.
    #[must_use]
    pub fn another(&self, config: EngineConfig) -> Self {
        Self::observed(config, self.observer.clone())
    }
}

impl<V: Value, O: Observer> Engine<V, O> {
    /// Copies the entries of another engine with their frequencies. Counts no insertion, because they were counted there; an entry that
    /// finds no room in its set evicts one, which is counted. For an engine that is empty: an entry whose key is here already is passed over.
    pub fn adopt(&self, other: &Self, now: u64) {
        let mut recorder = self.observer.worker();
        for set in 0..other.sets.len() {
            for way in 0..WAYS {
                let Some((key, held)) = other.show(set).copy(way) else { continue };
                if let Some(displaced) = self.take(&key, &held, other.heat(set, way), now) {
                    after(self, &mut recorder, &displaced);
                }
            }
        }
    }

    /// Forgets every entry and overwrites it. Counts nothing: it is for an engine whose entries another one has adopted. Look-ups that are
    /// under way miss.
    pub fn clear(&self) {
        for set in 0..self.sets.len() {
            for way in 0..WAYS {
                if self.sets[set].tag(way) != 0 {
                    // One entry at a time, so that readers are not kept out for long.
                    self.place(set).write().remove(way);
                }
            }
        }
    }

    fn take(
        &self,
        key: &KeyWords,
        held: &Held<V::Words>,
        heat: u8,
        now: u64,
    ) -> Option<super::writer::Displaced> {
        let spot = self.policy.spot(self.hash(key));
        self.policy.sketch.raise(spot.hash, heat);
        let terms = Terms {
            now,
            epoch: self.policy.sketch.epoch(),
            tactic: self.policy.tactic(),
            usable: self.policy.usable(spot.set),
            dither: dither(spot.set),
        };
        let mut set = self.place(spot.set).write();
        if set.find(spot.tag, key).is_some() {
            return None;
        }
        set.add(&Newcomer { tag: spot.tag, key, held, heat }, &terms)
    }

    /// How often the entry at `way` was requested, as of now.
    fn heat(&self, set: usize, way: usize) -> u8 {
        let (word, shift) = heat_position(way);
        let heat = (self.sets[set].heat[word].load(Relaxed) >> shift & 15) as u8;
        let passed = self.policy.sketch.epoch().wrapping_sub(self.ledgers[set].epoch.load(Relaxed));
        heat >> passed.min(7)
    }
}
