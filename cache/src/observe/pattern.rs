//! What the sampled keys of one session say about its traffic.
//!
//! Keys are judged in windows of 256 samples, with one sample in 64 requests some 16,000 requests long. A sample is only
//! put down when it comes: what is done for one look-up in many finds neither its memory nor its code in the nearest
//! caches, and a branch upon such memory that is guessed wrong is found out late, with all the look-ups begun meanwhile to
//! begin again. At the end of a window the worker sorts its samples, walks once along them and the window before, and
//! publishes a [`Pattern`]: five microseconds, of which each request bears a third of a nanosecond.
//!
//! Readers get a pattern whole or not at all: it lies behind a [`Version`], whose only writer is the worker.

use crate::Key;
use crate::counter::bump;
use crate::value::{pack, unpack};
use crate::version::Version;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a recorder has made out in the traffic of its session, as far as the cache acts upon it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hint {
    /// Nothing.
    #[default]
    None,
    /// Keys pass by that are not held and do not come again: a key that nobody remembers is not to displace what somebody
    /// does, and nothing is fetched for keys that are announced.
    Scan,
}

/// Samples in a window: the standard error of a share is then at most 3 points.
const WINDOW: usize = 256;
/// Samples that make a key hot: a sixteenth of the traffic. A share of 1/16 is off by 1.5 points in one case of three.
const HOT: usize = WINDOW / 16;
/// In a scan at least 7/8 of the requests are for keys not seen lately, and as many miss.
const SCAN: usize = WINDOW / 8 * 7;
/// By how much the share of keys known from the window before must fall below its mean for a shift: five standard
/// errors.
const SHIFT: f32 = 5.0 * 0.031;
/// Weight of the newest window in that mean.
const MEAN_WEIGHT: f32 = 0.2;

/// How traffic changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// As before.
    #[default]
    Steady,
    /// Other keys than before are asked for.
    Shift,
    /// Nearly every request is for a key that was not seen lately, and is not held.
    Scan,
}

/// The last window of one session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pattern {
    /// How the window differs from the ones before.
    pub phase: Phase,
    /// The key asked for most often.
    pub hottest: Key,
    /// Its share of the requests.
    pub hottest_share: f64,
    /// Whether that share is at least a sixteenth, and twice what it was in the window before.
    pub hottest_emerged: bool,
    /// Share of the requests that were for keys seen neither before in this window nor in the one before.
    pub new_share: f64,
    /// Share of the requests that hit.
    pub hit_share: f64,
}

/// How often each was found, over all windows of all sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatternCounts {
    /// Windows that were judged.
    pub windows: u64,
    /// Windows in which a key became hot.
    pub hot_keys: u64,
    /// Windows that were unlike those before.
    pub shifts: u64,
    /// Windows of a scan.
    pub scans: u64,
}

/// The worker's side.
pub(super) struct Detector {
    samples: [Key; WINDOW],
    len: usize,
    hits: usize,
    /// The window before, [`sortable`] and in order.
    before: [u64; WINDOW],
    /// Mean share of keys known from the window before; none in the first two windows.
    known: Option<f32>,
    windows: usize,
    phase: Phase,
}

/// The readers' side.
#[derive(Default)]
pub(super) struct Published {
    version: Version,
    /// Phase and emergence, then the four figures of the pattern, then the key.
    pattern: [AtomicU64; 8],
    counts: [AtomicU64; 4],
}

impl Detector {
    pub(super) fn new() -> Self {
        Self {
            samples: [[0; 32]; WINDOW],
            len: 0,
            hits: 0,
            before: [0; WINDOW],
            known: None,
            windows: 0,
            phase: Phase::Steady,
        }
    }

    /// Takes one sample; publishes when the window is full.
    pub(super) fn saw(&mut self, key: &Key, hit: bool, published: &Published) {
        self.samples[self.len] = *key;
        self.len += 1;
        self.hits += usize::from(hit);
        if self.len == WINDOW {
            let pattern = self.judge();
            self.phase = pattern.phase;
            published.publish(&pattern);
        }
    }

    pub(super) fn hint(&self) -> Hint {
        if self.phase == Phase::Scan { Hint::Scan } else { Hint::None }
    }

    fn judge(&mut self) -> Pattern {
        let mut order: [u64; WINDOW] = std::array::from_fn(|i| sortable(&self.samples[i], i));
        order.sort_unstable();
        let first = self.windows == 0;
        let mut before =
            if first { &[] } else { self.before.as_slice() }.iter().copied().map(word).peekable();
        let (mut known, mut new, mut most, mut most_before, mut hottest) = (0, 0, 0, 0, 0);
        for run in order.chunk_by(|&a, &b| word(a) == word(b)) {
            // Both windows are in order, so one walk over either finds what is in both.
            while before.next_if(|&other| other < word(run[0])).is_some() {}
            let mut run_before = 0;
            while before.next_if_eq(&word(run[0])).is_some() {
                run_before += 1;
            }
            if run_before > 0 {
                known += run.len();
            } else {
                new += 1;
            }
            if run.len() > most {
                (most, most_before, hottest) = (run.len(), run_before, position(run[0]));
            }
        }
        let emerged = !first && most >= HOT && most >= 2 * most_before;
        let share = |n: usize| n as f64 / WINDOW as f64;
        let shifted = self.known.is_some_and(|mean| (share(known) as f32) < mean - SHIFT);
        let phase = match () {
            () if new >= SCAN && WINDOW - self.hits >= SCAN && !first => Phase::Scan,
            () if shifted => Phase::Shift,
            () => Phase::Steady,
        };
        let pattern = Pattern {
            phase,
            hottest: self.samples[hottest],
            hottest_share: share(most),
            hottest_emerged: emerged,
            new_share: share(new),
            hit_share: share(self.hits),
        };
        if !first {
            let mean = self.known.unwrap_or(share(known) as f32);
            self.known = Some(mean + MEAN_WEIGHT * (share(known) as f32 - mean));
        }
        self.before = order;
        self.windows += 1;
        (self.len, self.hits) = (0, 0);
        pattern
    }
}

/// What the samples of a window are put in order by: most of a key's first word, and below it where in the window it is. The
/// word is mixed before (the factor is odd, hence nothing is lost), so that keys which differ in one byte of it differ here too.
fn sortable(key: &Key, position: usize) -> u64 {
    let mixed = pack::<4>(key)[0].wrapping_mul(0xD6E8_FEB8_6659_FD93);
    mixed / WINDOW as u64 * WINDOW as u64 + position as u64
}

/// What two samples of one key have in common.
fn word(sortable: u64) -> u64 {
    sortable / WINDOW as u64
}

fn position(sortable: u64) -> usize {
    sortable as usize % WINDOW
}

impl Published {
    fn publish(&self, pattern: &Pattern) {
        let Pattern { phase, hottest, hottest_share, hottest_emerged, new_share, hit_share } = *pattern;
        let flags = phase as u64 | u64::from(hottest_emerged) << 8;
        let [a, b, c, d] = pack(&hottest);
        let words = [flags, hottest_share.to_bits(), new_share.to_bits(), hit_share.to_bits(), a, b, c, d];
        // Nobody else writes, so entering fails only spuriously.
        let version = loop {
            if let Some(version) = self.version.try_enter() {
                break version;
            }
        };
        for (cell, word) in self.pattern.iter().zip(words) {
            cell.store(word, Relaxed);
        }
        self.version.leave(version);
        let found = [true, hottest_emerged, phase == Phase::Shift, phase == Phase::Scan];
        for (count, found) in self.counts.iter().zip(found) {
            bump(count, u64::from(found));
        }
    }

    /// The last pattern; none before the first, or while a writer keeps coming between.
    pub(super) fn read(&self) -> Option<Pattern> {
        (0..READ_ATTEMPTS).find_map(|_| {
            let version = self.version.at_rest()?;
            let words: [u64; 8] = std::array::from_fn(|i| self.pattern[i].load(Relaxed));
            (version > 0 && self.version.is_still(version)).then(|| {
                let [flags, hottest_share, new_share, hit_share, key @ ..] = words;
                Pattern {
                    phase: [Phase::Steady, Phase::Shift, Phase::Scan][(flags & 0xFF) as usize % 3],
                    hottest: unpack(&key),
                    hottest_share: f64::from_bits(hottest_share),
                    hottest_emerged: flags >> 8 == 1,
                    new_share: f64::from_bits(new_share),
                    hit_share: f64::from_bits(hit_share),
                }
            })
        })
    }

    pub(super) fn add_to(&self, total: &mut PatternCounts) {
        let [windows, hot_keys, shifts, scans] = &self.counts;
        total.windows += windows.load(Relaxed);
        total.hot_keys += hot_keys.load(Relaxed);
        total.shifts += shifts.load(Relaxed);
        total.scans += scans.load(Relaxed);
    }
}

const READ_ATTEMPTS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Windows of a test.
    const WINDOWS: u64 = if cfg!(miri) { 4 } else { 20 };
    /// Samples of a test.
    const SAMPLES: u64 = WINDOWS * WINDOW as u64;

    fn key(n: u64) -> Key {
        unpack(&[n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15), n, 0, 0])
    }

    /// The patterns after each window of `samples`.
    fn patterns(samples: impl Iterator<Item = (u64, bool)>) -> Vec<Pattern> {
        let (mut detector, published) = (Detector::new(), Published::default());
        let mut patterns = Vec::new();
        for (i, (n, hit)) in samples.enumerate() {
            detector.saw(&key(n), hit, &published);
            if (i + 1) % WINDOW == 0 {
                patterns.push(published.read().expect("published"));
            }
        }
        let mut counts = PatternCounts::default();
        published.add_to(&mut counts);
        assert_eq!(counts.windows as usize, patterns.len());
        patterns
    }

    /// Evenly over 100 keys, in no order that repeats.
    fn even(n: u64, of: u64) -> u64 {
        (n.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 33) % of
    }

    #[test]
    fn windows_are_counted_as_a_map_counts_them() {
        // From two keys to more than a window has room for, some of them those of the window before.
        let samples: Vec<u64> = (0..SAMPLES).map(|n| even(n, 2 << (n / WINDOW as u64 % 10))).collect();
        let found = patterns(samples.iter().map(|&n| (n, true)));
        let mut before = HashMap::new();
        for (window, pattern) in samples.chunks(WINDOW).zip(found) {
            let mut now = HashMap::<Key, usize>::new();
            for &n in window {
                *now.entry(key(n)).or_default() += 1;
            }
            let new = now.keys().filter(|key| !before.contains_key(*key)).count();
            let most = now[&pattern.hottest];
            assert_eq!(Some(&most), now.values().max());
            let share = |n: usize| n as f64 / WINDOW as f64;
            assert_eq!((pattern.hottest_share, pattern.new_share), (share(most), share(new)));
            let grown = most >= 2 * before.get(&pattern.hottest).copied().unwrap_or(0);
            assert_eq!(pattern.hottest_emerged, !before.is_empty() && most >= HOT && grown);
            before = now;
        }
    }

    #[test]
    fn keys_that_differ_in_their_first_byte_only_are_different() {
        let (mut detector, published) = (Detector::new(), Published::default());
        for n in 0..WINDOW {
            let mut key = [0; 32];
            key[0] = n as u8;
            detector.saw(&key, true, &published);
        }
        assert_eq!(published.read().expect("published").hottest_share, 1.0 / WINDOW as f64);
    }

    #[test]
    fn steady_traffic_is_steady() {
        for pattern in patterns((0..SAMPLES).map(|n| (even(n, 100), true))) {
            assert_eq!((pattern.phase, pattern.hottest_emerged), (Phase::Steady, false));
            assert_eq!(pattern.hit_share, 1.0);
        }
        // Many keys, all held: new to the sample, but no scan.
        let many = patterns((0..SAMPLES).map(|n| (even(n, 1_000_000), true)));
        assert!(many.iter().all(|pattern| pattern.phase == Phase::Steady));
    }

    #[test]
    fn a_hot_key_emerges_once() {
        let quiet = (0..SAMPLES / 2).map(|n| (even(n, 1000), true));
        let hot = (0..SAMPLES / 2).map(|n| (if n % 4 == 0 { 5000 } else { even(n, 1000) }, true));
        let patterns = patterns(quiet.chain(hot));
        let first = WINDOWS as usize / 2;
        let emerged: Vec<usize> = (0..patterns.len()).filter(|&i| patterns[i].hottest_emerged).collect();
        assert_eq!(emerged, [first]);
        assert_eq!((patterns[first].hottest, patterns[first].hottest_share), (key(5000), 0.25));
    }

    #[test]
    fn other_keys_are_a_shift_and_then_the_new_normal() {
        let samples = (0..SAMPLES).map(|n| (even(n, 100) + 1000 * u64::from(n >= SAMPLES / 2), true));
        let phases: Vec<Phase> = patterns(samples).iter().map(|pattern| pattern.phase).collect();
        let shifts: Vec<u64> = (0..WINDOWS).filter(|&i| phases[i as usize] == Phase::Shift).collect();
        assert_eq!(shifts, [WINDOWS / 2]);
    }

    #[test]
    fn a_scan_is_recognised_and_ends() {
        let during = 2..WINDOWS - 1;
        let samples = (0..SAMPLES).map(|n| {
            if during.contains(&(n / WINDOW as u64)) { (10_000 + n, false) } else { (even(n, 100), true) }
        });
        let patterns = patterns(samples);
        let scans: Vec<u64> = (0..WINDOWS).filter(|&i| patterns[i as usize].phase == Phase::Scan).collect();
        assert_eq!(scans, during.collect::<Vec<u64>>());
        assert_eq!(patterns[2].new_share, 1.0);
    }
}
