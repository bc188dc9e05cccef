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
/// Small caches need less: one line for 8 entries gives each 14 counters, about Caffeine's ratio.
const ENTRIES_PER_LINE: usize = 8;

const ROWS: usize = 4;
const COUNTERS_PER_ROW: u64 = 28;
const COUNTERS_PER_WORD: u64 = 16;

/// Word 0 is the epoch in which the line was last touched; words 1 to 7 hold four rows of 28 counters.
#[derive(Default)]
#[repr(align(64))]
struct Line([AtomicU64; 8]);

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
        let count = (line.minimum(&positions) + 1).min(MAX_COUNT);
        line.raise(&positions, count);
        count
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
    pub fn epoch(&self) -> u32 {
        self.epoch.load(Relaxed)
    }

    /// Memory of the counters; constant.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }

    /// The counters of a key, in a line that is brought to the present epoch.
    fn touch(&self, hash: u64) -> (&Line, [Position; ROWS]) {
        let (line, positions) = self.locate(hash);
        let epoch = self.epoch();
        let touched = line.0[0].load(Relaxed) as u32;
        if touched != epoch {
            line.halve(epoch.wrapping_sub(touched), epoch);
        }
        (line, positions)
    }

    fn locate(&self, hash: u64) -> (&Line, [Position; ROWS]) {
        // The table places by the top and tags by the bottom of the hash: mix once more, so that the
        // keys of one set do not share lines. The multiplier is odd, hence a bijection.
        let mixed = hash.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let mixed = mixed ^ (mixed >> 32);
        let line = &self.lines[(mixed >> 32) as usize & (self.lines.len() - 1)];
        let positions = std::array::from_fn(|row| {
            let byte = (mixed >> (8 * row)) & 0xFF;
            let counter = row as u64 * COUNTERS_PER_ROW + ((byte * COUNTERS_PER_ROW) >> 8);
            let word = 1 + (counter / COUNTERS_PER_WORD) as usize;
            (word, 4 * (counter % COUNTERS_PER_WORD) as u32)
        });
        (line, positions)
    }
}

impl Line {
    fn minimum(&self, positions: &[Position; ROWS]) -> u8 {
        let counts = positions.map(|(word, shift)| (self.0[word].load(Relaxed) >> shift & 15) as u8);
        counts.into_iter().min().unwrap_or(0)
    }

    /// Raises the counters that are below `count` (conservative update): the others are inflated by
    /// other keys already.
    fn raise(&self, positions: &[Position; ROWS], count: u8) {
        for &(word, shift) in positions {
            let counters = self.0[word].load(Relaxed);
            if (counters >> shift & 15) < u64::from(count) {
                self.0[word].store(counters & !(15 << shift) | u64::from(count) << shift, Relaxed);
            }
        }
    }

    #[cold]
    fn halve(&self, times: u32, epoch: u32) {
        let [touched, counters @ ..] = &self.0;
        touched.store(epoch.into(), Relaxed);
        // After four times nothing is left of four bits.
        for word in counters {
            let halved = (0..times.min(4)).fold(word.load(Relaxed), |w, _| w >> 1 & 0x7777_7777_7777_7777);
            word.store(halved, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn estimate(sketch: &Sketch, hash: u64) -> u8 {
        let (line, positions) = sketch.touch(hash);
        line.minimum(&positions)
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
                let counter = (word as u64 - 1) * 16 + u64::from(shift) / 4;
                prop_assert_eq!(counter / COUNTERS_PER_ROW, row as u64);
            }
        }
    }
}
