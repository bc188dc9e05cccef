//! One set of the table: sixteen entries behind a sequence lock.
//!
//! `version` is even while the set is at rest and odd while a writer is in it. A reader copies what
//! it wants and looks at the version again: unchanged and even means that no writer was there, and
//! the copy is what one writer left. So a reader never writes to be able to read, never sees half
//! of one value and half of another, and never waits: after a bounded number of disturbed attempts
//! it gives up, which costs a miss.
//!
//! A writer takes the set by raising the version to odd with one compare-and-exchange; it is in it
//! for some dozens of stores and runs no foreign code there, so it cannot panic inside.
//!
//! Ordering (after Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?", 2012):
//! the writer's release fence after taking the version makes a reader that sees any of its stores
//! also see the odd version at the second look; the reader's acquire load and acquire fence keep
//! its copies between its two looks. All data words are atomics read and written relaxed.
//!
//! Who writes what: `version`, `tags`, `order`, `deadlines` and the entries only the writer in the
//! set; `heat` also readers, with plain stores: it is a hint to eviction, and a lost count or one
//! that lands on a successor is harmless. A hit on an entry of full heat stores nothing.

use super::eviction::{Order, WAYS, warmer};
use crate::placement::KeyWords;
use crate::value::Words;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::*, fence};

/// Attempts after which a reader, or spins after which a writer, stops hoping that the writer in the
/// set is running: one is in there for about as long as three attempts take, so what remains is a
/// writer that was preempted.
const ATTEMPTS: u32 = 40;
/// Times an insert yields its core to a preempted writer before it is dropped.
const YIELDS: u32 = 16;

const TAGS_PER_WORD: usize = 4;
const LANES: u64 = 0x0001_0001_0001_0001;
const LANE_TOPS: u64 = 0x8000_8000_8000_8000;

/// A set's directory. The first line is all that a look-up reads of it; the second is the writers'.
#[repr(C, align(64))]
pub(super) struct Set {
    version: AtomicU64,
    /// Sixteen tags, four to a word, way `4w + i` in lane `i` of word `w`. Zero: the way is empty.
    tags: [AtomicU64; WAYS / TAGS_PER_WORD],
    heat: [AtomicU8; WAYS],
    order: AtomicU64,
    /// Each entry's expiry, cut to 32 bits, so that looking for an expired one reads one line.
    deadlines: [AtomicU32; WAYS],
}

/// One entry, on its own cache lines.
#[repr(C, align(64))]
pub(super) struct Entry<W: Words> {
    key: [AtomicU64; 4],
    expires_at: AtomicU64,
    value: W::Cells,
}

/// The entries of one set.
pub(super) type Entries<W> = [Entry<W>; WAYS];

/// A set together with its entries.
pub(super) struct Place<'a, W: Words> {
    pub(super) set: &'a Set,
    pub(super) entries: &'a Entries<W>,
}

/// What a look-up found.
pub(super) enum Found<W> {
    Absent,
    Disturbed,
    Entry { way: usize, expires_at: u64, words: W },
}

/// What had to go for a new entry.
pub(super) enum Displaced {
    Nothing,
    Expired,
    Live { key: KeyWords, heat: u8 },
}

/// A set with its only writer in it. Dropping it publishes what was written.
pub(super) struct Writer<'a, W: Words> {
    place: Place<'a, W>,
    version: u64,
}

impl Set {
    pub(super) fn empty() -> Self {
        Self {
            version: AtomicU64::new(0),
            tags: Default::default(),
            heat: Default::default(),
            order: AtomicU64::new(Order::INITIAL.0),
            deadlines: Default::default(),
        }
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        (0..WAYS).filter(|&way| self.tag(way) != 0).count()
    }

    /// Notes a hit on `way`.
    #[inline(always)]
    pub(super) fn warm(&self, way: usize) {
        let heat = self.heat[way].load(Relaxed);
        if warmer(heat) != heat {
            self.heat[way].store(warmer(heat), Relaxed);
        }
    }

    /// Notes that `way` holds an expired entry: it defends its place no longer.
    pub(super) fn cool(&self, way: usize) {
        self.heat[way].store(0, Relaxed);
    }

    /// Whether some entry may have expired at `now`; never wrongly `false` at rest.
    pub(super) fn may_have_expired(&self, now: u64) -> bool {
        (0..WAYS).any(|way| self.tag(way) != 0 && u64::from(self.deadlines[way].load(Relaxed)) <= now)
    }

    /// Takes the set for writing; the version it had.
    fn spin_to_enter(&self) -> Option<u64> {
        for _ in 0..ATTEMPTS {
            let version = self.version.load(Relaxed);
            if version.is_multiple_of(2)
                && self.version.compare_exchange_weak(version, version + 1, Acquire, Relaxed).is_ok()
            {
                fence(Release);
                return Some(version);
            }
            std::hint::spin_loop();
        }
        None
    }

    fn tag(&self, way: usize) -> u16 {
        (self.tags[way / TAGS_PER_WORD].load(Relaxed) >> (16 * (way % TAGS_PER_WORD))) as u16
    }

    fn set_tag(&self, way: usize, tag: u16) {
        let (word, shift) = (&self.tags[way / TAGS_PER_WORD], 16 * (way % TAGS_PER_WORD));
        word.store(word.load(Relaxed) & !(0xFFFF << shift) | u64::from(tag) << shift, Relaxed);
    }

    /// The ways whose tag is `tag`: way `4w + i` at bit `16i + w`.
    #[inline(always)]
    fn tagged(&self, tag: u16) -> u64 {
        let pattern = u64::from(tag) * LANES;
        let mut found = 0;
        for (w, word) in self.tags.iter().enumerate() {
            let difference = word.load(Relaxed) ^ pattern;
            // The top bit of a lane ends up set exactly when all sixteen bits are zero.
            let zero = !((difference & !LANE_TOPS).wrapping_add(!LANE_TOPS) | difference) & LANE_TOPS;
            found |= zero >> (15 - w);
        }
        found
    }
}

impl<W: Words> Entry<W> {
    pub(super) fn empty() -> Self {
        Self { key: Default::default(), expires_at: AtomicU64::new(0), value: W::zeroed() }
    }

    /// Overwrites key and value. Compilers do not remove atomic stores, so this also serves to take
    /// secrets out of memory that is about to be freed.
    pub(super) fn wipe(&self) {
        <KeyWords as Words>::wipe(&self.key);
        self.expires_at.store(0, Relaxed);
        W::wipe(&self.value);
    }

    #[inline(always)]
    fn key(&self) -> KeyWords {
        <KeyWords as Words>::load(&self.key)
    }

    #[cfg(test)]
    pub(super) fn is_wiped(&self) -> bool
    where
        W: AsRef<[u64]>,
    {
        let value = W::load(&self.value);
        self.has_key(&[0; 4]) && self.expires_at.load(Relaxed) == 0 && value.as_ref().iter().all(|&w| w == 0)
    }

    #[inline(always)]
    fn has_key(&self, key: &KeyWords) -> bool {
        let [a, b, c, d] = self.key();
        (a ^ key[0]) | (b ^ key[1]) | (c ^ key[2]) | (d ^ key[3]) == 0
    }
}

impl<'a, W: Words> Place<'a, W> {
    /// Looks `key` up without writing anything.
    #[inline(always)]
    pub(super) fn read(&self, tag: u16, key: &KeyWords) -> Found<W> {
        for _ in 0..ATTEMPTS {
            let version = self.set.version.load(Acquire);
            if version.is_multiple_of(2) {
                let found = match self.find(tag, key) {
                    Some(way) => {
                        let entry = &self.entries[way];
                        let expires_at = entry.expires_at.load(Relaxed);
                        Found::Entry { way, expires_at, words: W::load(&entry.value) }
                    }
                    None => Found::Absent,
                };
                fence(Acquire);
                if self.set.version.load(Relaxed) == version {
                    return found;
                }
            }
            std::hint::spin_loop();
        }
        Found::Disturbed
    }

    /// Enters the set to write, or gives up when other writers hold it for too long.
    pub(super) fn try_write(self) -> Option<Writer<'a, W>> {
        for _ in 0..YIELDS {
            if let Some(version) = self.set.spin_to_enter() {
                return Some(Writer { place: self, version });
            }
            std::thread::yield_now();
        }
        None
    }

    /// Enters the set to write, however long it takes: a removal must not be dropped. The wait ends
    /// when the writers ahead have had the processor for their few dozen stores.
    pub(super) fn write(self) -> Writer<'a, W> {
        loop {
            if let Some(version) = self.set.spin_to_enter() {
                return Writer { place: self, version };
            }
            std::thread::yield_now();
        }
    }

    #[inline(always)]
    fn find(&self, tag: u16, key: &KeyWords) -> Option<usize> {
        let mut tagged = self.set.tagged(tag);
        while tagged != 0 {
            let bit = tagged.trailing_zeros() as usize;
            let way = TAGS_PER_WORD * (bit % 16) + bit / 16;
            if self.entries[way].has_key(key) {
                return Some(way);
            }
            tagged &= tagged - 1;
        }
        None
    }
}

impl<W: Words> Writer<'_, W> {
    pub(super) fn find(&self, tag: u16, key: &KeyWords) -> Option<usize> {
        self.place.find(tag, key)
    }

    /// Writes the value and expiry of the entry at `way`, which holds its key already.
    pub(super) fn replace(&mut self, way: usize, words: &W, expires_at: u64) {
        let entry = &self.place.entries[way];
        words.store(&entry.value);
        entry.expires_at.store(expires_at, Relaxed);
        self.place.set.deadlines[way].store(cut(expires_at), Relaxed);
    }

    /// Writes a new entry, in place of another if the set is full.
    pub(super) fn add(
        &mut self,
        tag: u16,
        key: &KeyWords,
        words: &W,
        expires_at: u64,
        heat: u8,
        now: u64,
    ) -> Displaced {
        let (way, displaced) = self.make_room(now);
        let set = self.place.set;
        key.store(&self.place.entries[way].key);
        self.replace(way, words, expires_at);
        set.set_tag(way, tag);
        set.heat[way].store(heat, Relaxed);
        set.order.store(Order(set.order.load(Relaxed)).renew(way).0, Relaxed);
        displaced
    }

    pub(super) fn remove(&mut self, way: usize) {
        self.place.set.set_tag(way, 0);
        self.place.set.heat[way].store(0, Relaxed);
        self.place.entries[way].wipe();
    }

    /// Removes what has expired at `now`; returns how many entries that was.
    pub(super) fn remove_expired(&mut self, now: u64) -> usize {
        let mut removed = 0;
        for way in 0..WAYS {
            if self.has_expired(way, now) {
                self.remove(way);
                removed += 1;
            }
        }
        removed
    }

    fn make_room(&mut self, now: u64) -> (usize, Displaced) {
        let set = self.place.set;
        if let Some(way) = (0..WAYS).find(|&way| set.tag(way) == 0) {
            return (way, Displaced::Nothing);
        }
        if let Some(way) = (0..WAYS).find(|&way| self.has_expired(way, now)) {
            return (way, Displaced::Expired);
        }
        let heat = std::array::from_fn(|way| set.heat[way].load(Relaxed));
        let contest = Order(set.order.load(Relaxed)).contest(&heat);
        if let Some(way) = contest.defender {
            set.heat[way].store(heat[way].saturating_sub(1), Relaxed);
        }
        let key = self.place.entries[contest.loser].key();
        (contest.loser, Displaced::Live { key, heat: heat[contest.loser] })
    }

    fn has_expired(&self, way: usize, now: u64) -> bool {
        let set = self.place.set;
        // The cut deadline spares reading the entry; beyond the year 2106 the entry itself decides.
        set.tag(way) != 0
            && u64::from(set.deadlines[way].load(Relaxed)) <= now
            && self.place.entries[way].expires_at.load(Relaxed) <= now
    }
}

impl<W: Words> Drop for Writer<'_, W> {
    fn drop(&mut self) {
        self.place.set.version.store(self.version + 2, Release);
    }
}

/// A deadline cut to 32 bits: never later than the real one.
fn cut(expires_at: u64) -> u32 {
    u32::try_from(expires_at).unwrap_or(u32::MAX)
}
