//! A tenant's share of the engine: a range of sets, a sketch, a tactic and a generation of its own, so that what one
//! tenant stores displaces nothing of another, ages no history of another and teaches no tactic to another.

use super::AGEING_PER_ENTRY;
use super::eviction::{Tactic, WAYS};
use super::sketch::Sketch;
use super::trials::{TACTICS, Trials, sample_shift};
use crate::inbox::Inbox;
#[expect(clippy::disallowed_types, reason = "guards the trials; only ever tried, never waited for")]
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

/// See the module. Aligned so that partitions share no line: what inserts write is beside what look-ups read only of
/// the same tenant.
#[repr(align(128))]
pub(super) struct Partition {
    /// Index of the first set.
    first: usize,
    sets: usize,
    entries: usize,
    /// A request is in the trials' sample if these bits of its hash are zero.
    sample_mask: u64,
    /// Entries of other generations are dead.
    generation: AtomicU64,
    /// Index of the tactic to follow.
    tactic: AtomicUsize,
    pub(super) sketch: Sketch,
    apart: Apart,
}

/// What is written often, on lines of its own.
#[repr(align(128))]
struct Apart {
    /// All look-ups so far.
    look_ups: AtomicUsize,
    #[expect(clippy::disallowed_types, reason = "see the import")]
    trials: Mutex<Trials>,
    /// Sampled requests of sessions that insert nothing.
    inbox: Inbox<INBOX>,
}

/// Twice what a session keeps.
const INBOX: usize = 128;

/// Where a key belongs.
pub(super) struct Spot {
    pub(super) hash: u64,
    /// Index among all sets.
    pub(super) set: usize,
    pub(super) tag: u8,
}

impl Partition {
    /// A partition of `entries` entries whose sets begin with `first`, with a sketch of at most `sketch_bytes`.
    pub(super) fn new(first: usize, entries: usize, sketch_bytes: usize) -> Self {
        let entries = entries.max(1);
        Self {
            first,
            sets: entries.div_ceil(WAYS),
            entries,
            sample_mask: ((1 << sample_shift(entries)) - 1) << SAMPLE_SHIFT,
            generation: AtomicU64::new(0),
            tactic: AtomicUsize::new(0),
            sketch: Sketch::within(entries, sketch_bytes),
            apart: Apart {
                look_ups: AtomicUsize::new(0),
                #[expect(clippy::disallowed_types, reason = "see the import")]
                trials: Mutex::new(Trials::for_capacity(entries)),
                inbox: Inbox::empty(),
            },
        }
    }

    /// Index of the first set and number of sets.
    pub(super) fn sets(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.sets
    }

    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    #[inline(always)]
    pub(super) fn spot(&self, hash: u64) -> Spot {
        let set = self.first + ((u128::from(hash) * self.sets as u128) >> 64) as usize;
        // Zero marks an empty way.
        Spot { hash, set, tag: (hash as u8).max(1) }
    }

    /// Ways of a set that may be used, so that all sets together have exactly the entries of the partition.
    pub(super) fn usable(&self, set: usize) -> usize {
        let index = set - self.first;
        (index + 1) * self.entries / self.sets - index * self.entries / self.sets
    }

    #[inline(always)]
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Acquire)
    }

    /// Makes every entry dead for look-ups that start after this.
    #[expect(clippy::disallowed_methods, reason = "any thread may invalidate; not on the operation path")]
    pub(super) fn invalidate(&self) {
        self.generation.fetch_add(1, AcqRel);
    }

    pub(super) fn tactic(&self) -> Tactic {
        TACTICS[self.tactic.load(Relaxed) % TACTICS.len()]
    }

    /// Counts look-ups, which is what ages frequencies.
    #[expect(clippy::disallowed_methods, reason = "once in 64 look-ups of a worker")]
    pub(super) fn count(&self, look_ups: usize) {
        let before = self.apart.look_ups.fetch_add(look_ups, Relaxed);
        let epoch = AGEING_PER_ENTRY * self.entries;
        // Of all threads one sees the end of an epoch pass. A small table's may be shorter than what is counted together.
        if before / epoch != before.wrapping_add(look_ups) / epoch {
            self.sketch.age();
        }
    }

    #[inline(always)]
    pub(super) fn is_sampled(&self, hash: u64) -> bool {
        hash & self.sample_mask == 0
    }

    /// Whether sampled requests may be left for the next insert.
    pub(super) fn has_room(&self) -> bool {
        self.apart.inbox.is_empty()
    }

    /// Leaves sampled requests for the next insert.
    pub(super) fn leave(&self, hashes: impl Iterator<Item = u64>) {
        self.apart.inbox.leave(hashes);
    }

    /// Plays sampled requests in the trials, and those that were left here, unless another worker is doing that now: then
    /// they are lost, and the sample is a little smaller.
    pub(super) fn learn(&self, hashes: impl Iterator<Item = u64>) {
        let Ok(mut trials) = self.apart.trials.try_lock() else { return };
        let mut play = |hash| {
            if let Some(tactic) = trials.request(hash) {
                self.tactic.store(tactic, Relaxed);
            }
        };
        self.apart.inbox.take(&mut play);
        hashes.for_each(play);
    }
}

/// The sample looks at other bits than the tag (below) and the set (above).
const SAMPLE_SHIFT: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_every_size_age_for_as_long_as_they_are_asked() {
        const TOGETHER: usize = 64;
        for entries in [1, 2, 3, 4, 100] {
            let partition = Partition::new(0, entries, 1 << 16);
            let epoch = AGEING_PER_ENTRY * entries;
            for counted in 1..=1_000 {
                partition.count(TOGETHER);
                let ended = (TOGETHER * counted / epoch).min(counted);
                assert_eq!(partition.sketch.epoch() as usize, ended, "{entries} entries");
            }
        }
    }
}
