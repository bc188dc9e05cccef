//! Frequency sketch: how often a key was requested recently, approximately, in constant memory.
//!
//! A count-min sketch with conservative update and ageing, as TinyLFU uses it (Einziger, Friedman,
//! Manes, "TinyLFU: A Highly Efficient Cache Admission Policy", 2017), laid out so that a key
//! touches one cache line: the hash picks a line, and in it one 4-bit counter in each of four rows
//! ([`trefoil_kernels::counters`]).
//! [`Sketch::age`] halves all counters at the cost of one increment: it begins an epoch, and a line
//! that is touched in a later epoch than before is halved then, once for each epoch between.
//!
//! Only inserts use the sketch. A look-up that hits leaves no trace, since an entry carries its own
//! frequency and gives it back when it goes; and a look-up for a key that never earned a verdict
//! leaves none either, so unverified traffic cannot erode the history.
//!
//! All accesses are relaxed. One thread halves a line for an epoch; of two that write one line at once, one may undo what
//! the other did, halving included, which is then done again: an error of an estimate, not of a value.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
pub(super) use trefoil_kernels::counters::MAX_COUNT;
use trefoil_kernels::counters::{Line, ROWS};

/// Look-ups per entry after which frequencies are halved: of 5, 10 and 20 the last gave the best mean hit ratio over
/// recorded traces.
pub(super) const AGEING_PER_ENTRY: usize = 20;

/// 8192 lines of 64 bytes are 512 KiB, whatever the number of keys.
const MAX_LINES: usize = 8192;
/// Small caches need less: one line for 8 entries gives each 15.5 counters, about Caffeine's ratio.
const ENTRIES_PER_LINE: usize = 8;

/// The word that has the epoch in which the line was last touched, modulo 2^16, above its counters: half, row. A line that
/// is untouched for so long that this matters carries no information.
const EPOCH: (usize, usize) = (1, ROWS - 1);
/// Place of the epoch in its word.
const EPOCH_SHIFT: u32 = 48;

/// See the module.
pub struct Sketch {
    /// A power of two of them.
    lines: Box<[Line]>,
    epoch: AtomicU32,
}

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
        let (line, picks) = self.touch(hash);
        line.raise(picks, 1, 0)
    }

    /// Makes the estimate at least `count`: an evicted entry gives back its frequency.
    #[inline]
    pub fn raise(&self, hash: u64, count: u8) {
        let (line, picks) = self.touch(hash);
        line.raise(picks, 0, count);
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

    /// The line of a key, brought to the present epoch, and which of its counters are the key's.
    #[inline(always)]
    fn touch(&self, hash: u64) -> (&Line, u32) {
        // The table places by the top and tags by the bottom of the hash: mix once more, so that the
        // keys of one set do not share lines. The multiplier is odd, hence a bijection.
        let mixed = hash.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let line = &self.lines[(mixed >> 40) as usize & (self.lines.len() - 1)];
        let epoch = self.epoch() as u16;
        let touched = (line.0[EPOCH.0][EPOCH.1].load(Relaxed) >> EPOCH_SHIFT) as u16;
        if touched != epoch {
            halve(line, touched, epoch);
        }
        (line, (mixed >> 8) as u32)
    }
}

/// Brings a line from one epoch to another, unless another thread does.
#[cold]
#[expect(clippy::disallowed_methods, reason = "once for each line and epoch, so that one thread halves it")]
fn halve(line: &Line, from: u16, to: u16) {
    // Four halvings clear four bits.
    let times = u32::from(to.wrapping_sub(from).min(4));
    let kept = (0xF_u64 >> times) * 0x1111_1111_1111_1111;
    let last = &line.0[EPOCH.0][EPOCH.1];
    let before = last.load(Relaxed);
    let counters = (before >> times & kept) & ((1 << EPOCH_SHIFT) - 1);
    let after = counters | u64::from(to) << EPOCH_SHIFT;
    let is_ours = before >> EPOCH_SHIFT == from.into()
        && last.compare_exchange(before, after, Relaxed, Relaxed).is_ok();
    let others = line.0.iter().flatten().filter(|&word| is_ours && !std::ptr::eq(word, last));
    others.for_each(|word| word.store(word.load(Relaxed) >> times & kept, Relaxed));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    const SIGHTINGS: usize = if cfg!(miri) { 40 } else { 150 };

    fn estimate(sketch: &Sketch, hash: u64) -> u8 {
        let (line, picks) = sketch.touch(hash);
        line.raise(picks, 0, 0)
    }

    #[test]
    fn memory_stops_at_512_kib() {
        if !cfg!(miri) {
            assert_eq!(Sketch::for_capacity(65_536).bytes(), 512 << 10);
            assert_eq!(Sketch::for_capacity(10_000_000).bytes(), 512 << 10);
        }
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

    /// All four rows: an estimate is the least of them, and would not show one that is not halved.
    #[test]
    fn a_line_is_halved_in_every_word() {
        let line = Line::default();
        line.0.iter().flatten().for_each(|word| word.store(0x6666_6666_6666_6666, Relaxed));
        halve(&line, 0x6666, 0x6667);
        let words: Vec<u64> = line.0.iter().flatten().map(|word| word.load(Relaxed)).collect();
        assert_eq!(words[..7], [0x3333_3333_3333_3333; 7]);
        assert_eq!(words[7], 0x6667_3333_3333_3333, "the epoch above 12 counters");
    }

    proptest! {
        #[test]
        fn never_counts_too_little_within_an_epoch(keys in prop::collection::vec(0u64..40, 1..SIGHTINGS)) {
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
    }
}
