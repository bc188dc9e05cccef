//! Frequency sketch: how often a key was asked for lately, approximately, in constant memory.
//!
//! A count-min sketch with conservative update and ageing, as TinyLFU uses it (Einziger, Friedman,
//! Manes, "TinyLFU: A Highly Efficient Cache Admission Policy", 2017), laid out so that a key
//! touches one cache line: the hash picks a line, and in it one 4-bit counter in each of four rows.
//! [`Sketch::age`] halves all counters at the cost of one increment: it begins an epoch, and a line
//! that is touched in a later epoch than before is halved then, once for each epoch between.
//!
//! Only inserts come here. A look-up that hits leaves no trace, since an entry carries its own
//! frequency and gives it back when it goes; and a look-up for a key that never earned a verdict
//! leaves none either, so unverified traffic cannot erode the history.
//!
//! All accesses are relaxed loads and stores. Two threads that write one line at once may lose an
//! increment or, while halving, redo one: an error of an estimate, not of a value.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Counters stop here: beyond it two keys are equally popular for admission.
pub(super) const MAX_COUNT: u8 = 15;

/// 8192 lines of 64 bytes are 512 KiB, whatever the number of keys.
const MAX_LINES: usize = 8192;
/// Small caches need less: one line for 8 entries gives each 15.5 counters, about Caffeine's ratio.
const ENTRIES_PER_LINE: usize = 8;

const ROWS: usize = 4;
/// Counters of each row. The last one gives four of its 32 for the epoch.
const COUNTERS: [u64; ROWS] = [32, 32, 32, 28];
const COUNTERS_PER_WORD: u64 = 16;

/// Row `r` is words `2r` and `2r + 1`. The top 16 bits of the last word are the epoch in which the line was last touched,
/// modulo 2^16: a line that nobody touches for so long that this matters has nothing to say.
#[derive(Default)]
#[repr(align(64))]
struct Line([AtomicU64; 8]);

/// Word of the epoch, and its place there.
const EPOCH: (usize, u32) = (7, 48);

/// See the module.
pub struct Sketch {
    /// A power of two of them.
    lines: Box<[Line]>,
    epoch: AtomicU32,
}

/// A counter's word and shift within its line.
type Position = (usize, u32);

impl Sketch {
    /// A sketch for a table of `capacity` entries, of at most 512 KiB.
    #[must_use]
    pub fn for_capacity(capacity: usize) -> Self {
        Self::within(capacity, MAX_LINES * size_of::<Line>())
    }

    /// A sketch for a table of `capacity` entries, of at most `bytes`, or one line if that is less.
    #[must_use]
    pub fn within(capacity: usize, bytes: usize) -> Self {
        let room = (bytes / size_of::<Line>()).max(1);
        let lines = capacity.div_ceil(ENTRIES_PER_LINE).next_power_of_two().min(1 << room.ilog2());
        Self { lines: (0..lines).map(|_| Line::default()).collect(), epoch: AtomicU32::new(0) }
    }

    /// Counts one more sighting of the key with this well-mixed hash; returns the new estimate, from 1
    /// to 15.
    #[inline]
    pub fn add(&self, hash: u64) -> u8 {
        let (line, positions) = self.touch(hash);
        let words = line.words(&positions);
        let counts = counts(&words, &positions);
        let least = counts[0].min(counts[1]).min(counts[2].min(counts[3]));
        let count = (least + 1).min(MAX_COUNT.into());
        // None is below the least, so those below its successor rise by one. All four are stored, because which ones
        // rise is as good as random, and a branch that is guessed wrong takes longer than all the rest.
        for row in 0..ROWS {
            let (word, shift) = positions[row];
            line.0[word].store(words[row] + (u64::from(counts[row] < count) << shift), Relaxed);
        }
        count as u8
    }

    /// Makes the estimate at least `count`: an evicted entry gives back what it knew.
    #[inline]
    pub fn raise(&self, hash: u64, count: u8) {
        let (line, positions) = self.touch(hash);
        line.raise(&positions, count.min(MAX_COUNT));
    }

    /// Halves all counts.
    #[expect(clippy::disallowed_methods, reason = "once in 20 look-ups for each entry of the table")]
    pub fn age(&self) {
        self.epoch.fetch_add(1, Relaxed);
    }

    /// How often [`Sketch::age`] was called, modulo 2^32.
    #[must_use]
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.epoch.load(Relaxed)
    }

    /// Memory of the counters; constant.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }

    /// The counters of a key, in a line that is brought to the present epoch.
    #[inline(always)]
    fn touch(&self, hash: u64) -> (&Line, [Position; ROWS]) {
        let (line, positions) = self.locate(hash);
        let epoch = self.epoch() as u16;
        let touched = (line.0[EPOCH.0].load(Relaxed) >> EPOCH.1) as u16;
        if touched != epoch {
            line.halve(epoch.wrapping_sub(touched), epoch);
        }
        (line, positions)
    }

    #[inline(always)]
    fn locate(&self, hash: u64) -> (&Line, [Position; ROWS]) {
        // The table places by the top and tags by the bottom of the hash: mix once more, so that the
        // keys of one set do not share lines. The multiplier is odd, hence a bijection.
        let mixed = hash.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let line = &self.lines[(mixed >> 40) as usize & (self.lines.len() - 1)];
        let positions = std::array::from_fn(|row| {
            let byte = mixed >> (8 * (row + 1)) & 0xFF;
            let counter = (byte * (COUNTERS[row] / 4)) >> 6;
            let word = 2 * row + (counter / COUNTERS_PER_WORD) as usize;
            (word, 4 * (counter % COUNTERS_PER_WORD) as u32)
        });
        (line, positions)
    }
}

impl Line {
    /// The words of the counters: of each row another one.
    #[inline(always)]
    fn words(&self, positions: &[Position; ROWS]) -> [u64; ROWS] {
        std::array::from_fn(|row| self.0[positions[row].0].load(Relaxed))
    }

    /// Raises the counters that are below `count` (conservative update): the others are inflated by
    /// other keys already.
    fn raise(&self, positions: &[Position; ROWS], count: u8) {
        let words = self.words(positions);
        for (row, was) in counts(&words, positions).into_iter().enumerate() {
            let (word, shift) = positions[row];
            self.0[word].store(words[row] + ((was.max(count.into()) - was) << shift), Relaxed);
        }
    }

    #[cold]
    fn halve(&self, times: u16, epoch: u16) {
        // After four times nothing is left of four bits.
        let times = u32::from(times.min(4));
        let kept = (0xF_u64 >> times) * 0x1111_1111_1111_1111;
        for (word, counters) in self.0.iter().enumerate() {
            let mut halved = counters.load(Relaxed) >> times & kept;
            if word == EPOCH.0 {
                halved = halved & ((1 << EPOCH.1) - 1) | u64::from(epoch) << EPOCH.1;
            }
            counters.store(halved, Relaxed);
        }
    }
}

/// The counters in their words.
#[inline(always)]
fn counts(words: &[u64; ROWS], positions: &[Position; ROWS]) -> [u64; ROWS] {
    std::array::from_fn(|row| words[row] >> positions[row].1 & 15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn estimate(sketch: &Sketch, hash: u64) -> u8 {
        let (line, positions) = sketch.touch(hash);
        counts(&line.words(&positions), &positions).into_iter().min().unwrap_or(0) as u8
    }

    #[test]
    fn memory_stops_at_512_kib() {
        assert_eq!(Sketch::for_capacity(65_536).bytes(), 512 << 10);
        assert_eq!(Sketch::for_capacity(10_000_000).bytes(), 512 << 10);
        assert_eq!(Sketch::for_capacity(1).bytes(), 64);
    }

    #[test]
    fn counts_halve_once_for_each_epoch() {
        let sketch = Sketch::for_capacity(8);
        for _ in 0..40 {
            sketch.add(1);
        }
        assert_eq!(estimate(&sketch, 1), MAX_COUNT);
        sketch.age();
        assert_eq!(estimate(&sketch, 1), 7);
        sketch.age();
        sketch.age();
        assert_eq!(sketch.add(1), 2);
        (0..1000).for_each(|_| sketch.age());
        assert_eq!(estimate(&sketch, 1), 0);
    }

    proptest! {
        #[test]
        fn never_counts_too_little_within_an_epoch(keys in prop::collection::vec(0u64..40, 1..150)) {
            let sketch = Sketch::for_capacity(8);
            let mut exact = HashMap::new();
            for key in keys {
                let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let reported = sketch.add(hash);
                let count = exact.entry(hash).or_insert(0u8);
                *count = count.saturating_add(1);
                prop_assert!(reported >= (*count).min(MAX_COUNT));
                prop_assert_eq!(reported, estimate(&sketch, hash));
            }
            for (hash, count) in exact {
                prop_assert!(estimate(&sketch, hash) >= count.min(MAX_COUNT));
            }
        }

        #[test]
        fn positions_stay_in_their_rows(hash: u64) {
            let sketch = Sketch::for_capacity(65_536);
            let (_, positions) = sketch.locate(hash);
            for (row, (word, shift)) in positions.into_iter().enumerate() {
                prop_assert_eq!(word / 2, row);
                prop_assert!(shift < 64 && (word, shift) < EPOCH);
            }
        }
    }
}
