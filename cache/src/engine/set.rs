//! One set of the table: up to 32 entries behind a [`Version`].
//!
//! A look-up copies the entry and checks the version. Its patience is bounded: after a number of
//! disturbed attempts ([`Patience`]) it gives up, which costs a miss. A writer is in the set for a few
//! hundred stores and runs no foreign code there, so it cannot panic inside.
//!
//! Writers of each field: `version`, `tags`, the ledger and the entries are written only by the writer in the set; `heat`,
//! `recent` and `settled` are also written by readers, with plain stores: they are hints to eviction, and a count that is
//! lost or lands on a successor is harmless. A hit on a settled way stores nothing.

use super::entry::{Entries, Held};
use super::eviction::{Standing, WAYS, Ways, lowest};
use super::sketch::MAX_COUNT;
use super::writer::Writer;
use crate::Event;
use crate::placement::KeyWords;
use crate::value::Words;
use crate::version::Version;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use trefoil_kernels::cells;

/// Attempts after which a thread stops hoping that the writer in the set is running: one is in there for
/// about as long as three attempts take, so what remains is a writer that was preempted.
const ATTEMPTS: u32 = 40;
/// Times a look-up or an insert yields its core before it gives up: together about as long as a scheduler leaves a
/// preempted writer waiting for its own core, and as long as the proof verification that a miss or a dropped entry costs.
const YIELDS: u32 = 2000;

/// What a thread does between attempts while a writer is in the set.
#[derive(Default)]
pub(super) struct Patience {
    attempts: u32,
}

impl Patience {
    /// After an attempt that failed: waits a little, and yields the core each time a running writer would have left.
    /// Whether to retry, for callers that may give up.
    #[cold]
    #[inline(never)]
    pub(super) fn waits(&mut self) -> bool {
        self.attempts = self.attempts.wrapping_add(1);
        if self.attempts.is_multiple_of(ATTEMPTS) {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
        self.attempts < ATTEMPTS * YIELDS
    }
}

const TAGS_PER_WORD: usize = 8;
pub(super) const HEATS_PER_WORD: usize = 16;

/// A set's directory: one cache line, all that a look-up reads beside the entry.
#[repr(C, align(64))]
pub(super) struct Set {
    pub(super) version: Version,
    /// A byte for each way, way `8w + i` in lane `i` of word `w`. Zero: the way is empty.
    pub(super) tags: [AtomicU64; WAYS / TAGS_PER_WORD],
    /// Four bits for each way.
    pub(super) heat: [AtomicU64; WAYS / HEATS_PER_WORD],
    pub(super) recent: AtomicU32,
    /// The ways with the highest heat and in `recent`: a hit has nothing to record there.
    pub(super) settled: AtomicU32,
}

/// The part of a set that only writers use.
#[repr(C, align(64))]
pub(super) struct Ledger {
    /// Age order, a byte for each way; see [`Standing::rank`].
    pub(super) rank: [AtomicU64; WAYS / 8],
    /// Each entry's expiry, cut to 32 bits, so that looking for an expired one reads two lines.
    pub(super) deadlines: [AtomicU32; WAYS],
    /// The sketch's epoch to which heats are aged.
    pub(super) epoch: AtomicU32,
    /// See [`Standing::main`].
    pub(super) main: AtomicU32,
}

/// The part of a set that a look-up reads.
#[derive(Clone, Copy)]
pub(super) struct Published<'a, W: Words> {
    pub(super) set: &'a Set,
    pub(super) entries: &'a Entries<W>,
}

/// A set with everything that belongs to it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a, W: Words> {
    pub(super) shown: Published<'a, W>,
    pub(super) ledger: &'a Ledger,
}

impl<'a, W: Words> Deref for Place<'a, W> {
    type Target = Published<'a, W>;

    fn deref(&self) -> &Published<'a, W> {
        &self.shown
    }
}

impl Set {
    pub(super) fn empty() -> Self {
        Self {
            version: Version::default(),
            tags: Default::default(),
            heat: Default::default(),
            recent: AtomicU32::new(0),
            settled: AtomicU32::new(0),
        }
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.taken().count_ones() as usize
    }

    /// Records a hit on `way`.
    #[inline(always)]
    pub(super) fn note_hit(&self, way: usize) {
        if self.settled.load(Relaxed) >> way & 1 == 0 {
            self.warm(way);
        }
    }

    #[inline(never)]
    fn warm(&self, way: usize) {
        let (word, shift) = heat_position(way);
        let heats = self.heat[word].load(Relaxed);
        let heat = (heats >> shift & 15) as u8;
        if heat < MAX_COUNT {
            self.heat[word].store(heats + (1 << shift), Relaxed);
        }
        let recent = self.recent.load(Relaxed);
        if recent >> way & 1 == 0 {
            self.recent.store(recent | 1 << way, Relaxed);
        }
        if heat + 1 >= MAX_COUNT {
            self.settled.store(self.settled.load(Relaxed) | 1 << way, Relaxed);
        }
    }

    /// Clears the heat of an entry that is gone, or that turned out useless and is to be evicted before others.
    #[cold]
    pub(super) fn cool(&self, way: usize) {
        let (word, shift) = heat_position(way);
        self.heat[word].store(self.heat[word].load(Relaxed) & !(15 << shift), Relaxed);
        self.settled.store(self.settled.load(Relaxed) & !(1 << way), Relaxed);
    }

    pub(super) fn tag(&self, way: usize) -> u8 {
        (self.tags[way / TAGS_PER_WORD].load(Relaxed) >> (8 * (way % TAGS_PER_WORD))) as u8
    }

    pub(super) fn set_tag(&self, way: usize, tag: u8) {
        let (word, shift) = (&self.tags[way / TAGS_PER_WORD], 8 * (way % TAGS_PER_WORD));
        word.store(word.load(Relaxed) & !(0xFF << shift) | u64::from(tag) << shift, Relaxed);
    }

    /// The ways whose tag is `tag`.
    #[inline(always)]
    fn tagged(&self, tag: u8) -> Ways {
        cells::bytes_that_are(&self.tags, tag)
    }

    /// The ways that hold an entry.
    pub(super) fn taken(&self) -> Ways {
        !self.tagged(0)
    }

    /// An empty way of the lowest `usable`, the first one from `start` on: were it the same in all sets, a table half
    /// full would leave half of the lines of the processor's caches to other memory.
    pub(super) fn free(&self, usable: usize, start: usize) -> Option<usize> {
        let empty = !self.taken() & lowest(usable);
        let later = empty & Ways::MAX << start;
        (empty != 0).then(|| first(if later == 0 { empty } else { later }))
    }
}

pub(super) fn heat_position(way: usize) -> (usize, usize) {
    (way / HEATS_PER_WORD, 4 * (way % HEATS_PER_WORD))
}

impl Ledger {
    pub(super) fn empty() -> Self {
        let ledger = Self {
            rank: Default::default(),
            deadlines: Default::default(),
            main: AtomicU32::new(0),
            epoch: AtomicU32::new(0),
        };
        ledger.set_rank(&Standing::INITIAL.rank);
        ledger
    }

    pub(super) fn rank(&self) -> [u8; WAYS] {
        let mut rank = [0; WAYS];
        for (bytes, word) in rank.as_chunks_mut::<8>().0.iter_mut().zip(&self.rank) {
            *bytes = word.load(Relaxed).to_le_bytes();
        }
        rank
    }

    pub(super) fn set_rank(&self, rank: &[u8; WAYS]) {
        for (bytes, word) in rank.as_chunks::<8>().0.iter().zip(&self.rank) {
            word.store(u64::from_le_bytes(*bytes), Relaxed);
        }
    }
}

/// The first of some ways; any if there are none.
#[inline(always)]
fn first(ways: Ways) -> usize {
    ways.trailing_zeros() as usize % WAYS
}

impl<W: Words> Published<'_, W> {
    /// Reads a word of each line of the entry that a look-up of a key with `tag` will most likely read.
    #[inline(always)]
    pub(super) fn touch(&self, tag: u8) -> u64 {
        self.entries[first(self.set.tagged(tag))].touch()
    }

    /// A copy of the entry at `way`, however long a writer keeps the set: code that drops entries must see each of them.
    pub(super) fn copy(&self, way: usize) -> Option<(KeyWords, Held<W>)> {
        let mut patience = Patience::default();
        loop {
            if let Some(version) = self.set.version.at_rest() {
                let entry = &self.entries[way];
                let copy = (self.set.tag(way) != 0).then(|| (entry.key(), entry.held()));
                if self.set.version.is_still(version) {
                    return copy;
                }
            }
            patience.waits();
        }
    }

    /// The way of `key`. Mostly one way has its tag, and the processor speculates on that one before it has seen the key
    /// there. With more than one, it would mispredict half of the time and find out only when the entry has arrived from
    /// memory: so all of them are compared without a branch.
    #[inline(always)]
    pub(super) fn find(&self, tag: u8, key: &KeyWords) -> Option<usize> {
        let tagged = self.set.tagged(tag);
        if tagged & tagged.wrapping_sub(1) != 0 {
            return self.find_among(tagged, *key);
        }
        let way = first(tagged);
        (tagged != 0 && self.entries[way].has_key(key)).then_some(way)
    }

    /// Takes the key by value: a key whose address is known lies in memory, and a vector that is read back from there may
    /// have to wait for all earlier stores.
    #[inline(never)]
    fn find_among(&self, mut tagged: Ways, key: KeyWords) -> Option<usize> {
        let mut found = 0;
        while tagged != 0 {
            let way = first(tagged);
            found |= Ways::from(self.entries[way].has_key(&key)) << way;
            tagged &= tagged - 1;
        }
        (found != 0).then_some(first(found))
    }

    /// One attempt of a look-up; `hit` gets the value.
    #[inline(always)]
    pub(super) fn look<R>(
        &self,
        tag: u8,
        key: &KeyWords,
        now: u64,
        hit: impl FnOnce(W) -> R,
    ) -> Result<R, Failed> {
        let set = self.set;
        let Some(version) = set.version.at_rest() else { return Err(Failed::Disturbed) };
        match self.find(tag, key) {
            Some(way) if self.entries[way].is_usable(now) => {
                set.note_hit(way);
                let words = W::load(&self.entries[way].value);
                if set.version.is_still(version) { Ok(hit(words)) } else { Err(Failed::Disturbed) }
            }
            found if set.version.is_still(version) => {
                let Some(way) = found else { return Err(Failed::Missed(Event::Absent)) };
                set.cool(way);
                Err(Failed::Missed(Event::Stale))
            }
            _ => Err(Failed::Disturbed),
        }
    }
}

/// Why an attempt of a look-up has no value.
pub(super) enum Failed {
    /// There is no usable entry; the event to count.
    Missed(Event),
    /// The set changed meanwhile.
    Disturbed,
}

impl<'a, W: Words> Place<'a, W> {
    /// Enters the set to write, or gives up when other writers hold it for too long.
    pub(super) fn try_write(self) -> Option<Writer<'a, W>> {
        let mut patience = Patience::default();
        loop {
            if let Some(version) = self.set.version.try_enter() {
                return Some(Writer { place: self, version });
            }
            if !patience.waits() {
                return None;
            }
        }
    }

    /// Enters the set to write, however long it takes: a removal must not be dropped. The wait ends
    /// when the writers ahead have had the processor for their few hundred stores.
    pub(super) fn write(self) -> Writer<'a, W> {
        let mut patience = Patience::default();
        loop {
            if let Some(version) = self.set.version.try_enter() {
                return Writer { place: self, version };
            }
            patience.waits();
        }
    }

    /// Whether an entry may have expired; a hint, without entering the set.
    pub(super) fn may_have_expired(&self, now: u64) -> bool {
        (0..WAYS).any(|way| self.is_past_deadline(way, now))
    }

    /// The cut deadline spares reading the entry; beyond the year 2106 the entry itself decides.
    pub(super) fn is_past_deadline(&self, way: usize, now: u64) -> bool {
        self.set.tag(way) != 0 && u64::from(self.ledger.deadlines[way].load(Relaxed)) <= now
    }
}
