//! What the only writer in a set does: stores, removes, makes room.

use super::entry::Held;
use super::eviction::{Displacement, Standing, Tactic, WAYS, lowest};
use super::set::{HEATS_PER_WORD, Place, Set, Shown, heat_position};
use crate::Cause;
use crate::placement::KeyWords;
use crate::value::Words;
use std::sync::atomic::Ordering::Relaxed;

/// A new entry.
pub(super) struct Newcomer<'a, W> {
    pub(super) tag: u8,
    pub(super) key: &'a KeyWords,
    pub(super) held: &'a Held<W>,
    pub(super) heat: u8,
    /// Share of the set's room, in ways.
    pub(super) weight: u8,
}

/// What decides who makes room.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    pub(super) now: u64,
    /// The tenant's present generation: entries of others are dead.
    pub(super) generation: u64,
    /// The sketch's present epoch.
    pub(super) epoch: u32,
    pub(super) tactic: Tactic,
    /// Ways of the set that may be used.
    pub(super) usable: usize,
    /// See [`Tactic::window_of`].
    pub(super) dither: u8,
}

impl Terms {
    /// The way that an empty set fills first.
    fn first_way(&self) -> usize {
        (usize::from(self.dither) * WAYS) >> 8
    }
}

/// What had to go for a new entry.
pub(super) struct Displaced {
    pub(super) cause: Cause,
    pub(super) key: KeyWords,
    pub(super) heat: u8,
    /// Entries that moved from the window to main meanwhile.
    pub(super) migrations: u8,
    /// See [`super::eviction::Displacement`].
    pub(super) stayed: Option<bool>,
}

/// A set with its only writer in it. Dropping it publishes what was written.
pub(super) struct Writer<'a, W: Words> {
    pub(super) place: Place<'a, W>,
    /// To leave with.
    pub(super) version: u64,
}

impl<W: Words> Writer<'_, W> {
    pub(super) fn find(&self, tag: u8, key: &KeyWords) -> Option<usize> {
        self.place.find(tag, key)
    }

    /// Writes what is held at `way`, which has its key already, if the weight is what it was.
    pub(super) fn replace(&mut self, way: usize, held: &Held<W>, weight: u8) -> bool {
        let same = self.place.ledger.weights[way].load(Relaxed) == weight;
        if same {
            self.store(way, held);
        }
        same
    }

    /// Writes a new entry; if there is no room, takes out one other. Not stored means that more must go: try again.
    pub(super) fn add(&mut self, new: &Newcomer<'_, W>, terms: &Terms) -> (bool, Option<Displaced>) {
        let Place { shown: Shown { set, .. }, ledger } = self.place;
        let mut standing = self.standing(terms.epoch);
        let fits = |load: u32| load + u32::from(new.weight) <= terms.usable as u32;
        let free = set.free(terms.usable, terms.first_way()).filter(|_| fits(ledger.load.load(Relaxed)));
        let (way, displaced) = match free {
            Some(way) => (way, None),
            None => {
                let (way, displaced) = self.make_room(&mut standing, terms);
                self.release(way);
                (way, Some(displaced))
            }
        };
        let stored = fits(ledger.load.load(Relaxed));
        if stored {
            standing.seat(way, new.heat, free.is_some());
            new.key.store(&self.place.entries[way].key.0);
            self.store(way, new.held);
            set.set_tag(way, new.tag);
            ledger.weights[way].store(new.weight, Relaxed);
            ledger.load.store(ledger.load.load(Relaxed) + u32::from(new.weight), Relaxed);
        }
        self.publish(&standing, terms.epoch);
        (stored, displaced)
    }

    pub(super) fn remove(&mut self, way: usize) {
        self.place.set.cool(way);
        self.release(way);
        self.place.entries[way].wipe();
    }

    /// Takes out one entry that has expired at `now` or is not of `generation`, if there is one.
    pub(super) fn remove_dead(&mut self, now: u64, generation: u64) -> bool {
        let way = (0..WAYS).find(|&way| self.has_expired(way, now));
        let Some(way) = way.or_else(|| self.of_another_generation(generation)) else { return false };
        self.remove(way);
        true
    }

    fn store(&self, way: usize, held: &Held<W>) {
        let Held { words, expires_at, generation } = held;
        let entry = &self.place.entries[way];
        words.store(&entry.value);
        entry.expires_at.store(*expires_at, Relaxed);
        entry.generation.store(*generation, Relaxed);
        self.place.ledger.deadlines[way].store(cut(*expires_at), Relaxed);
    }

    /// Marks `way` as empty.
    fn release(&self, way: usize) {
        let ledger = self.place.ledger;
        self.place.set.set_tag(way, 0);
        let weight = ledger.weights[way].load(Relaxed);
        ledger.load.store(ledger.load.load(Relaxed) - u32::from(weight), Relaxed);
    }

    fn has_expired(&self, way: usize, now: u64) -> bool {
        self.place.is_past_deadline(way, now) && self.place.entries[way].expires_at.load(Relaxed) <= now
    }

    /// An entry from before an invalidation. Where there is none, the set is not searched again until the next one.
    fn of_another_generation(&self, generation: u64) -> Option<usize> {
        let Place { shown: Shown { set, entries }, ledger } = self.place;
        if ledger.generation.load(Relaxed) == generation {
            return None;
        }
        let other = |way: usize| entries[way].generation.load(Relaxed) != generation;
        let taken = set.taken();
        let found = (0..WAYS).find(|&way| taken >> way & 1 == 1 && other(way));
        if found.is_none() {
            ledger.generation.store(generation, Relaxed);
        }
        found
    }

    /// The way to empty: dead entries go before live ones.
    fn make_room(&self, standing: &mut Standing, terms: &Terms) -> (usize, Displaced) {
        let Terms { now, generation, tactic, usable, dither, .. } = *terms;
        let expired = || (0..usable).find(|&way| self.has_expired(way, now)).map(|way| (way, Cause::Expired));
        let dead = expired().or_else(|| {
            let way = self.of_another_generation(generation)?;
            Some((way, Cause::Invalidated))
        });
        let (way, cause, migrations, stayed) =
            dead.map(|(way, cause)| (way, cause, 0, None)).unwrap_or_else(|| {
                let set = self.place.set;
                let taken = set.taken() & lowest(usable);
                let window = tactic.window_of(usable, dither);
                let Displacement { way, migrations, stayed } = standing.displace(taken, window, tactic);
                (way, Cause::Evicted, migrations, stayed)
            });
        let key = self.place.entries[way].key();
        (way, Displaced { cause, key, heat: standing.heat[way], migrations, stayed })
    }

    fn standing(&self, epoch: u32) -> Standing {
        let Set { heat: heats, recent, .. } = self.place.set;
        let words: [u64; WAYS / HEATS_PER_WORD] = std::array::from_fn(|word| heats[word].load(Relaxed));
        let heat = std::array::from_fn(|way| {
            let (word, shift) = heat_position(way);
            (words[word] >> shift & 15) as u8
        });
        let mut standing = Standing {
            rank: self.place.ledger.rank(),
            heat,
            recent: recent.load(Relaxed),
            main: self.place.ledger.main.load(Relaxed),
        };
        standing.age(epoch.wrapping_sub(self.place.ledger.epoch.load(Relaxed)));
        standing
    }

    fn publish(&self, standing: &Standing, epoch: u32) {
        let Standing { rank, heat, recent, main } = standing;
        for (word, heats) in self.place.set.heat.iter().zip(heat.as_chunks::<HEATS_PER_WORD>().0) {
            let packed = heats.iter().rev().fold(0, |packed, &heat| packed << 4 | u64::from(heat));
            word.store(packed, Relaxed);
        }
        self.place.ledger.set_rank(rank);
        self.place.ledger.epoch.store(epoch, Relaxed);
        self.place.ledger.main.store(*main, Relaxed);
        self.place.set.recent.store(*recent, Relaxed);
        self.place.set.settled.store(standing.settled(), Relaxed);
    }
}

impl<W: Words> Drop for Writer<'_, W> {
    fn drop(&mut self) {
        self.place.set.version.leave(self.version);
    }
}

/// A deadline cut to 32 bits: never later than the real one.
fn cut(expires_at: u64) -> u32 {
    u32::try_from(expires_at).unwrap_or(u32::MAX)
}
