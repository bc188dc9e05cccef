//! A queue of requests from the thread that answered them to the thread that writes the file.
//!
//! One thread writes words and then stores its position (`written`, with release ordering). One other thread reads them and then stores its
//! position (`read`, with release ordering). Neither waits for the other. The two positions have cache lines of their own, so that these move
//! between cores when the ring is emptied, and not with each request.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Words of a ring, 128 KiB: logins of one thread for 50 ms at more than 50,000 a second.
const WORDS: usize = 1 << 14;
/// Words of a request before those of its subjects.
const FIXED: usize = 6;

/// See the module.
pub(super) struct Ring {
    words: Box<[AtomicU64]>,
    writer: Owned<Written>,
    read: Owned<AtomicU64>,
}

/// On a pair of cache lines of its own, since processors fetch two.
#[repr(align(128))]
#[derive(Default)]
struct Owned<T>(T);

/// What the writing thread owns.
#[derive(Default)]
struct Written {
    words: AtomicU64,
    lost: AtomicU64,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) began_us: u64,
    /// Below 2^32, which is an hour. Sizes have the same bound, and share a word.
    pub(super) took_us: u64,
    pub(super) route: u64,
    pub(super) status: u64,
    pub(super) request_bytes: u64,
    pub(super) answer_bytes: u64,
    pub(super) tenant: u64,
    /// The mark of its stream, 0 without one.
    pub(super) stream: u64,
    pub(super) subjects: Vec<u64>,
}

impl Ring {
    pub(super) fn new() -> Ring {
        let words = std::iter::repeat_with(AtomicU64::default).take(WORDS).collect();
        Ring { words, writer: Owned::default(), read: Owned::default() }
    }

    /// Called by the thread that owns the ring alone.
    pub(super) fn push(&self, entry: &Entry) {
        let Written { words, lost } = &self.writer.0;
        let (from, needed) = (words.load(Relaxed), (FIXED + entry.subjects.len()) as u64);
        if from + needed - self.read.0.load(Acquire) > WORDS as u64 {
            lost.store(lost.load(Relaxed) + 1, Relaxed);
            return;
        }
        let low = |word: u64| word.min(u32::MAX.into());
        let fixed = [
            entry.began_us,
            low(entry.took_us) << 32 | low(entry.route) << 16 | entry.status,
            low(entry.request_bytes) << 32 | low(entry.answer_bytes),
            entry.tenant,
            entry.stream,
            entry.subjects.len() as u64,
        ];
        for (at, word) in (from..).zip(fixed.iter().chain(&entry.subjects)) {
            self.at(at).store(*word, Relaxed);
        }
        words.store(from + needed, Release);
    }

    /// Called by one thread at a time.
    pub(super) fn take(&self) -> Vec<Entry> {
        let (mut at, until) = (self.read.0.load(Relaxed), self.writer.0.words.load(Acquire));
        let mut next = || {
            at += 1;
            self.at(at - 1).load(Relaxed)
        };
        let mut entries = Vec::new();
        let mut left = until - self.read.0.load(Relaxed);
        while left > 0 {
            let [began_us, packed, sizes, tenant, stream, subjects] = std::array::from_fn(|_| next());
            left -= FIXED as u64 + subjects;
            entries.push(Entry {
                began_us,
                took_us: packed >> 32,
                route: packed >> 16 & 0xffff,
                status: packed & 0xffff,
                request_bytes: sizes >> 32,
                answer_bytes: sizes & u64::from(u32::MAX),
                tenant,
                stream,
                subjects: (0..subjects).map(|_| next()).collect(),
            });
        }
        self.read.0.store(until, Release);
        entries
    }

    /// Requests for which there was no room.
    pub(super) fn lost(&self) -> u64 {
        self.writer.0.lost.load(Relaxed)
    }

    fn at(&self, position: u64) -> &AtomicU64 {
        &self.words[position as usize % WORDS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64, subjects: usize) -> Entry {
        Entry {
            began_us: number,
            took_us: number + 1,
            route: 3,
            status: 503,
            request_bytes: 5,
            answer_bytes: 6,
            tenant: 7,
            stream: number % 2,
            subjects: (0..subjects as u64).map(|subject| number + subject).collect(),
        }
    }

    #[test]
    fn what_was_pushed_is_taken_in_order_round_and_round() {
        let ring = Ring::new();
        let mut number = 0;
        for round in 0..50 {
            let pushed: Vec<Entry> = (0..97)
                .map(|at| {
                    number += 1;
                    entry(number, (round + at) % 33)
                })
                .collect();
            pushed.iter().for_each(|entry| ring.push(entry));
            assert_eq!(ring.take(), pushed);
        }
        assert!(ring.take().is_empty() && ring.lost() == 0);
    }

    #[test]
    fn a_full_ring_loses_what_comes_and_counts_it() {
        let ring = Ring::new();
        let fit = WORDS / (FIXED + 1);
        (0..fit as u64 + 3).for_each(|number| ring.push(&entry(number, 1)));
        assert_eq!((ring.take().len(), ring.lost()), (fit, 3));
        ring.push(&entry(1, 1));
        assert_eq!(ring.take().len(), 1, "there is room again");
    }

    #[test]
    fn a_reader_beside_the_writer_sees_whole_requests_only() {
        let ring = Ring::new();
        let count = 100_000u64;
        let taken = std::thread::scope(|scope| {
            let writer = scope.spawn(|| (0..count).for_each(|number| ring.push(&entry(number, 2))));
            let mut taken = Vec::new();
            while !writer.is_finished() {
                taken.extend(ring.take());
            }
            taken.extend(ring.take());
            taken
        });
        assert_eq!(taken.len() as u64 + ring.lost(), count);
        assert!(taken.iter().all(|of| *of == entry(of.began_us, 2)));
        assert!(taken.windows(2).all(|pair| pair[0].began_us < pair[1].began_us));
    }
}
