//! Table-wide decisions: where a key belongs, how often it was requested, and which tactic to follow.

use super::eviction::{Tactic, WAYS};
use super::sketch::AGEING_PER_ENTRY;
use super::sketch::Sketch;
use super::trials::{TACTICS, Trials, sample_shift};
use crate::inbox::Inbox;
#[expect(clippy::disallowed_types, reason = "guards the trials; only ever tried, never waited for")]
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// See the module.
#[repr(align(128))]
pub(super) struct Policy {
    sets: usize,
    entries: usize,
    /// A request is in the trials' sample if these bits of its hash are zero.
    sample_mask: u64,
    /// Index of the tactic to follow.
    tactic: AtomicUsize,
    pub(super) sketch: Sketch,
    trials_bytes: usize,
    apart: Apart,
}

/// Frequently written fields, on cache lines of their own.
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

impl Policy {
    /// For a table of `entries` entries, with a sketch of at most `sketch_bytes`.
    pub(super) fn new(entries: usize, sketch_bytes: usize) -> Self {
        let entries = entries.max(1);
        let trials = Trials::for_capacity(entries);
        Self {
            sets: entries.div_ceil(WAYS),
            entries,
            sample_mask: ((1 << sample_shift(entries)) - 1) << SAMPLE_SHIFT,
            tactic: AtomicUsize::new(0),
            sketch: Sketch::within(entries, sketch_bytes),
            trials_bytes: trials.bytes(),
            apart: Apart {
                look_ups: AtomicUsize::new(0),
                #[expect(clippy::disallowed_types, reason = "see the import")]
                trials: Mutex::new(trials),
                inbox: Inbox::empty(),
            },
        }
    }

    /// Bytes of the sketch and the trials; constant.
    pub(super) fn bytes(&self) -> usize {
        self.sketch.bytes() + self.trials_bytes
    }

    /// Number of sets.
    pub(super) fn sets(&self) -> usize {
        self.sets
    }

    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    #[inline(always)]
    pub(super) fn spot(&self, hash: u64) -> Spot {
        let set = ((u128::from(hash) * self.sets as u128) >> 64) as usize;
        // Zero marks an empty way.
        Spot { hash, set, tag: (hash as u8).max(1) }
    }

    /// Ways of a set that may be used, so that all sets together have exactly the entries of the table.
    pub(super) fn usable(&self, set: usize) -> usize {
        (set + 1) * self.entries / self.sets - set * self.entries / self.sets
    }

    pub(super) fn tactic(&self) -> Tactic {
        TACTICS[self.tactic.load(Relaxed) % TACTICS.len()]
    }

    /// Counts look-ups, which age the frequencies.
    #[expect(clippy::disallowed_methods, reason = "once in 64 look-ups of a worker")]
    pub(super) fn count(&self, look_ups: usize) {
        let before = self.apart.look_ups.fetch_add(look_ups, Relaxed);
        let epoch = AGEING_PER_ENTRY * self.entries;
        // Exactly one thread sees the end of an epoch pass. A small table's epoch may be shorter than one counted group.
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

    /// Replays sampled requests in the trials, and those that were left here, unless another worker is doing that now: then
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
            let policy = Policy::new(entries, 1 << 16);
            let epoch = AGEING_PER_ENTRY * entries;
            for counted in 1..=1_000 {
                policy.count(TOGETHER);
                let ended = (TOGETHER * counted / epoch).min(counted);
                assert_eq!(policy.sketch.epoch() as usize, ended, "{entries} entries");
            }
        }
    }
}
