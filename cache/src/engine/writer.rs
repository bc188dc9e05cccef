//! Operations of the only writer in a set: store, remove, evict.

use super::entry::Held;
use super::eviction::{Displacement, Standing, Tactic, WAYS, lowest};
use super::set::{HEATS_PER_WORD, Place, Set, heat_position};
use crate::placement::KeyWords;
use crate::value::Words;
use std::sync::atomic::Ordering::Relaxed;

/// A new entry.
pub(super) struct Newcomer<'a, W> {
    pub(super) tag: u8,
    pub(super) key: &'a KeyWords,
    pub(super) held: &'a Held<W>,
    pub(super) heat: u8,
}

/// The inputs to the eviction decision.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    pub(super) now: u64,
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

/// Why an entry was evicted for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// While it was still usable.
    Evicted,
    /// It had expired.
    Expired,
}

/// The entry that was evicted for a new one.
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
    /// The version to pass to `leave`.
    pub(super) version: u64,
}

impl<W: Words> Writer<'_, W> {
    pub(super) fn find(&self, tag: u8, key: &KeyWords) -> Option<usize> {
        self.place.find(tag, key)
    }

    /// Writes a new entry; if there is no room, in the place of another.
    pub(super) fn add(&mut self, new: &Newcomer<'_, W>, terms: &Terms) -> Option<Displaced> {
        let set = self.place.set;
        let mut standing = self.standing(terms.epoch);
        let free = set.free(terms.usable, terms.first_way());
        let (way, displaced) = match free {
            Some(way) => (way, None),
            None => {
                let (way, displaced) = self.make_room(&mut standing, terms);
                (way, Some(displaced))
            }
        };
        standing.seat(way, new.heat, free.is_some());
        new.key.store(&self.place.entries[way].key.0);
        self.store(way, new.held);
        set.set_tag(way, new.tag);
        self.publish(&standing, terms.epoch);
        displaced
    }

    pub(super) fn remove(&mut self, way: usize) {
        self.place.set.cool(way);
        self.place.set.set_tag(way, 0);
        self.place.entries[way].wipe();
    }

    /// Takes out one entry that has expired at `now`, if there is one.
    pub(super) fn remove_expired(&mut self, now: u64) -> bool {
        let Some(way) = (0..WAYS).find(|&way| self.has_expired(way, now)) else { return false };
        self.remove(way);
        true
    }

    /// Writes what is held at `way`, which has its key already.
    pub(super) fn store(&self, way: usize, held: &Held<W>) {
        let Held { words, expires_at } = held;
        let entry = &self.place.entries[way];
        words.store(&entry.value);
        entry.expires_at.store(*expires_at, Relaxed);
        self.place.ledger.deadlines[way].store(cut(*expires_at), Relaxed);
    }

    fn has_expired(&self, way: usize, now: u64) -> bool {
        self.place.is_past_deadline(way, now) && self.place.entries[way].expires_at.load(Relaxed) <= now
    }

    /// The way to empty: expired entries go before live ones.
    fn make_room(&self, standing: &mut Standing, terms: &Terms) -> (usize, Displaced) {
        let Terms { now, tactic, usable, dither, .. } = *terms;
        let expired = (0..usable).find(|&way| self.has_expired(way, now));
        let (way, cause, migrations, stayed) =
            expired.map(|way| (way, Cause::Expired, 0, None)).unwrap_or_else(|| {
                let taken = self.place.set.taken() & lowest(usable);
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
