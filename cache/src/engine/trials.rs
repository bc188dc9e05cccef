//! Choice of the tactic by trial: small caches without values simulate every tactic on a sample of the
//! requests, and the table follows the one that misses least.
//!
//! The sample is spatial: it has all requests for some of the keys, so a cache scaled down by the
//! same factor behaves on it as the large one does on everything (Waldspurger, Saemundsson, Ahmad,
//! Park, "Cache Modeling and Optimization using Miniature Simulations", USENIX ATC 2017).

use super::eviction::{Standing, Tactic, WAYS, lowest};
use super::sketch::Sketch;

/// The tactics to try; the first one applies until the trials have a result. The lead of the fifth is for loops longer than the
/// table: all their keys are requested equally often, and the last requested one looks better by one.
pub(super) const TACTICS: [Tactic; 8] = [
    Tactic { window: 15, spares_recent: true, lead: 0 },
    Tactic { window: 64, spares_recent: true, lead: 0 },
    Tactic { window: 128, spares_recent: true, lead: 0 },
    Tactic { window: 205, spares_recent: true, lead: 0 },
    Tactic { window: 3, spares_recent: false, lead: 1 },
    Tactic { window: 26, spares_recent: false, lead: 0 },
    Tactic { window: 64, spares_recent: false, lead: 0 },
    Tactic { window: 128, spares_recent: false, lead: 0 },
];

/// Entries of a small cache, at least. With 256, 512 and 1024 the mean hit ratio over recorded traces is the same within
/// 0.02 points; fewer entries cost less time per request.
const ENTRIES_MIN: usize = 512;
/// Requests between two looks at the scores, per entry of a small cache.
const PERIOD_PER_ENTRY: usize = 1;
/// Weight of one period's misses in the next: a memory of about five periods.
const DECAY: f32 = 0.8;
/// Share of misses by which a tactic must be better to be followed.
const ADVANTAGE: f32 = 0.01;

/// See the module.
pub(super) struct Trials {
    caches: [MiniCache; TACTICS.len()],
    scores: [f32; TACTICS.len()],
    /// Requests since the scores were looked at.
    requests: usize,
    period: usize,
    current: usize,
}

impl Trials {
    /// Trials for a table of `capacity` entries.
    pub(super) fn for_capacity(capacity: usize) -> Self {
        let entries = capacity >> sample_shift(capacity);
        Self {
            caches: std::array::from_fn(|_| MiniCache::new(entries)),
            scores: [0.0; TACTICS.len()],
            requests: 0,
            period: (entries * PERIOD_PER_ENTRY).max(64),
            current: 0,
        }
    }

    /// Bytes of memory; constant.
    pub(super) fn bytes(&self) -> usize {
        let of = |cache: &MiniCache| size_of_val(&*cache.sets) + cache.sketch.bytes();
        size_of::<Self>() + self.caches.iter().map(of).sum::<usize>()
    }

    /// Replays one sampled request; the tactic to follow from now on, if that changes.
    pub(super) fn request(&mut self, hash: u64) -> Option<usize> {
        for (cache, tactic) in self.caches.iter_mut().zip(TACTICS) {
            cache.request(hash, tactic);
        }
        self.requests += 1;
        if self.requests < self.period {
            return None;
        }
        self.requests = 0;
        for (score, cache) in self.scores.iter_mut().zip(&mut self.caches) {
            *score = *score * DECAY + std::mem::take(&mut cache.misses) as f32;
        }
        let best = (0..TACTICS.len()).min_by(|&a, &b| self.scores[a].total_cmp(&self.scores[b]))?;
        let better = self.scores[best] < self.scores[self.current] * (1.0 - ADVANTAGE);
        if better {
            self.current = best;
        }
        better.then_some(best)
    }
}

/// One key in `2^shift` is in the sample of a table of `capacity` entries.
pub(super) fn sample_shift(capacity: usize) -> u32 {
    (capacity / ENTRIES_MIN).checked_ilog2().unwrap_or(0)
}

/// A table of keys alone, with the engine's policy.
struct MiniCache {
    sets: Box<[MiniSet]>,
    entries: usize,
    sketch: Sketch,
    requests: usize,
    misses: u32,
}

struct MiniSet {
    /// Shortened hashes; zero for an empty way.
    keys: [u32; WAYS],
    standing: Standing,
    epoch: u32,
}

impl MiniCache {
    fn new(entries: usize) -> Self {
        let sets = entries.div_ceil(WAYS).max(1);
        let empty = |_| MiniSet { keys: [0; WAYS], standing: Standing::INITIAL, epoch: 0 };
        Self {
            sets: (0..sets).map(empty).collect(),
            entries: entries.max(1),
            sketch: Sketch::for_capacity(entries),
            requests: 0,
            misses: 0,
        }
    }

    fn request(&mut self, hash: u64, tactic: Tactic) {
        self.requests += 1;
        if self.requests >= super::sketch::AGEING_PER_ENTRY * self.entries {
            self.requests = 0;
            self.sketch.age();
        }
        // A different placement from the table's: keys that collide there must not collide here.
        let hash = (hash ^ hash >> 32).wrapping_mul(0x9E6C_63D0_876A_9A69);
        let (key, sets) = (hash as u32 | 1, self.sets.len());
        let index = ((u128::from(hash) * sets as u128) >> 64) as usize;
        let usable = (index + 1) * self.entries / sets - index * self.entries / sets;
        let set = &mut self.sets[index];
        if let Some(way) = set.keys.iter().position(|&k| k == key) {
            set.standing.warm(way);
            return;
        }
        self.misses += 1;
        let epoch = self.sketch.epoch();
        set.standing.age(epoch.wrapping_sub(set.epoch));
        set.epoch = epoch;
        let heat = self.sketch.add(placed(index, key));
        let free = set.keys[..usable].iter().position(|&k| k == 0);
        let way = free.unwrap_or_else(|| {
            let window = tactic.window_of(usable, super::eviction::dither(index));
            let way = set.standing.displace(lowest(usable), window, tactic).way;
            self.sketch.raise(placed(index, set.keys[way]), set.standing.heat[way]);
            way
        });
        set.keys[way] = key;
        set.standing.seat(way, heat, free.is_some());
    }
}

/// A hash for the sketch from the shortened hash in a small set.
fn placed(set: usize, key: u32) -> u64 {
    (u64::from(key) | (set as u64) << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(not(miri))]
    fn hash(n: u64) -> u64 {
        let mixed = (n ^ n >> 31).wrapping_add(1).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ mixed >> 29).wrapping_mul(0x94D0_49BB_1331_11EB)
    }

    /// The tactic that a table of `capacity` entries ends up with.
    #[cfg(not(miri))]
    fn chosen(capacity: usize, requests: impl Iterator<Item = u64>) -> usize {
        let mut trials = Trials::for_capacity(capacity);
        requests.filter_map(|n| trials.request(hash(n))).last().unwrap_or(0)
    }

    // Learning takes 100,000 requests and more: hours under an interpreter.
    #[cfg(not(miri))]
    #[test]
    fn a_loop_longer_than_the_table_calls_for_a_small_window() {
        let loops = (0..200_000).map(|n| n % 900);
        let tactic = TACTICS[chosen(600, loops)];
        assert!(tactic.window <= 26 && !tactic.spares_recent, "{tactic:?}");
    }

    #[cfg(not(miri))]
    #[test]
    fn keys_that_are_asked_for_twice_in_short_order_call_for_a_large_window() {
        // Each key twice, 400 requests apart, and never again; a few stay popular.
        let requests = (0..400_000u64).map(|n| match n % 8 {
            0 => n / 8 % 40,
            _ if n / 400 % 2 == 0 => 1_000 + n,
            _ => 1_000 + n - 400,
        });
        assert!(TACTICS[chosen(600, requests)].window >= 128);
    }
}
