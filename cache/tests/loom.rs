//! Every interleaving and every reordering that the memory model allows, of what this crate publishes without a lock:
//! the source files are compiled here against the atomics of the model checker.
//!
//! Of the kernels it is the portable twins, which say what the vectors do: four words at a time, in no particular order.
//!
//! Preemptions are bounded at three where a model has three threads or two rounds of writing; the others are exhaustive. That is
//! `cargo xtask soak`; at every smaller scale preemptions are bounded at two in all of them.

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
}

#[path = "../../crypto/kernels/src/cells/portable.rs"]
#[expect(dead_code, reason = "tags are read as keys are")]
mod cells;
#[path = "../src/counter.rs"]
mod counter;
#[path = "../../crypto/kernels/src/counters/portable.rs"]
mod counters;
#[path = "../src/inbox.rs"]
mod inbox;
#[path = "../src/version.rs"]
mod version;

use counter::bump;
use inbox::Inbox;
use loom::sync::Arc;
use loom::thread;
use sync::AtomicU64;
use sync::Ordering::Relaxed;
use trefoil_kernels::cells::WORDS;
use trefoil_kernels::counters::{COUNTERS, MAX_COUNT, ROWS};
use trefoil_testing::Scale;
use version::Version;

/// A set with one entry of as many words as are read together.
#[derive(Default)]
struct Entry {
    version: Version,
    words: [AtomicU64; WORDS],
}

impl Entry {
    /// As a writer in the table does it, but giving up at once; whether it entered.
    fn write(&self, value: u64) -> bool {
        let Some(version) = self.version.try_enter() else { return false };
        cells::store(&self.words, &[value; WORDS]);
        self.version.leave(version);
        true
    }

    /// As a look-up in the table does it, with one attempt.
    fn read(&self) -> Option<[u64; WORDS]> {
        let version = self.version.at_rest()?;
        let words = cells::load(&self.words);
        self.version.is_still(version).then_some(words)
    }

    /// As a look-up compares a key, with one attempt.
    fn has(&self, key: &[u64; WORDS]) -> Option<bool> {
        let version = self.version.at_rest()?;
        let has = cells::are(&self.words, key);
        self.version.is_still(version).then_some(has)
    }
}

/// A line of the sketch.
struct Line([[AtomicU64; ROWS]; 2]);

fn bounded(preemptions: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = if Scale::of_this_run() == Scale::Soak { preemptions } else { Some(2) };
    builder.check(model);
}

/// Claim O3.
#[test]
fn a_reader_sees_what_one_writer_left() {
    bounded(Some(3), || {
        let entry = Arc::new(Entry::default());
        let writer = {
            let entry = entry.clone();
            thread::spawn(move || {
                entry.write(1);
                entry.write(2);
            })
        };
        if let Some(words) = entry.read() {
            assert_eq!(words, [words[0]; WORDS], "torn");
        }
        writer.join().unwrap();
    });
}

#[test]
fn two_writers_and_a_reader() {
    bounded(Some(3), || {
        let entry = Arc::new(Entry::default());
        let writers: Vec<_> = [1, 2]
            .map(|value| {
                let entry = entry.clone();
                thread::spawn(move || u64::from(entry.write(value)))
            })
            .into();
        if let Some(words) = entry.read() {
            assert_eq!(words, [words[0]; WORDS], "torn");
        }
        let entered: u64 = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
        assert!(
            entered >= 1 || entry.read() == Some([0; WORDS]),
            "weak exchanges may fail, but change nothing"
        );
        let words = entry.read().expect("at rest");
        assert_eq!(words, [words[0]; WORDS]);
    });
}

/// A key is never found that nobody stored: the first word of one and the others of the one before it.
#[test]
fn no_key_is_found_in_the_words_of_two() {
    bounded(None, || {
        let entry = Arc::new(Entry::default());
        entry.write(1);
        let writer = {
            let entry = entry.clone();
            thread::spawn(move || entry.write(2))
        };
        assert_ne!(entry.has(&[2, 1, 1, 1]), Some(true), "torn");
        // The exchange may fail for nothing, and then nothing was written.
        let written = if writer.join().unwrap() { 2 } else { 1 };
        assert_eq!(entry.has(&[written; WORDS]), Some(true));
    });
}

/// Two threads raise counters of one line, of one key or of two that share words. No counter passes its limit or runs into
/// its neighbour, none is higher than it was raised, and the caller's bits are as they were.
#[test]
fn counters_of_the_sketch_never_count_too_much() {
    let line = |word: u64| Line(std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(word))));
    let count =
        |line: &Line, counter: u64| line.0[0].each_ref().map(|word| word.load(Relaxed) >> (4 * counter) & 15);
    for other in [0, 1] {
        bounded(None, move || {
            // Counter 0 of each row is one below its limit, its neighbour at one.
            let line = Arc::new(line(0xABCD_0000_0000_001E));
            let raisers = [0, other].map(|counter: u8| {
                let line = line.clone();
                // The pick for a counter of the first eight, in rows of 32 as in the one of 28.
                let picks = u32::from_le_bytes([counter * 10; ROWS]);
                thread::spawn(move || counters::raise(&line, picks, 1, 0))
            });
            let [first, second] = raisers.map(|raiser| raiser.join().unwrap());
            assert_eq!(first, MAX_COUNT);
            assert_eq!(second, if other == 0 { MAX_COUNT } else { 2 });
            assert!(count(&line, 0).iter().all(|count| [14, 15].contains(count)));
            let neighbours = if other == 0 { [1, 1] } else { [1, 2] };
            assert!(count(&line, 1).iter().all(|count| neighbours.contains(count)));
            let rest = |word: &AtomicU64| word.load(Relaxed) >> 8;
            assert!(line.0.iter().flatten().all(|word| rest(word) == 0xAB_CD00_0000_0000));
        });
    }
}

#[test]
fn counters_rise_for_every_reader_and_lose_nothing() {
    bounded(None, || {
        let counter = Arc::new(AtomicU64::new(0));
        let owner = {
            let counter = counter.clone();
            thread::spawn(move || {
                bump(&counter, 1);
                bump(&counter, 2);
            })
        };
        let (first, second) = (counter.load(Relaxed), counter.load(Relaxed));
        assert!(first <= second && [0, 1, 3].contains(&first));
        owner.join().unwrap();
        assert_eq!(counter.load(Relaxed), 3);
    });
}

/// Who sees that something lies there sees what it is.
#[test]
fn what_one_left_is_taken_whole() {
    bounded(None, || {
        let inbox = Arc::new(Inbox::<3>::empty());
        let leaver = {
            let inbox = inbox.clone();
            thread::spawn(move || inbox.leave([1, 2].into_iter()))
        };
        let mut taken = Vec::new();
        inbox.take(|number| taken.push(number));
        assert!(taken.is_empty() || taken == [1, 2], "{taken:?}");
        leaver.join().unwrap();
        inbox.take(|number| taken.push(number));
        assert!(taken == [1, 2] && inbox.is_empty(), "once: {taken:?}");
    });
}

/// A session that finds an empty inbox leaves two numbers; what is taken was left, each place at most once, and what one thread
/// left alone is taken whole.
#[test]
fn what_is_taken_was_left() {
    bounded(Some(3), || {
        let inbox = Arc::new(Inbox::<2>::empty());
        let leavers: Vec<_> = [[1, 2], [3, 4]]
            .map(|numbers| {
                let inbox = inbox.clone();
                thread::spawn(move || {
                    let empty = inbox.is_empty();
                    if empty {
                        inbox.leave(numbers.into_iter());
                    }
                    empty
                })
            })
            .into();
        let take = || {
            let mut taken = Vec::new();
            inbox.take(|number| taken.push(number));
            taken
        };
        let is_left = |taken: &[u64]| matches!(taken, [] | [1 | 3, 2 | 4]);
        let first = take();
        assert!(is_left(&first), "{first:?}");
        let left: Vec<bool> = leavers.into_iter().map(|leaver| leaver.join().unwrap()).collect();
        let second = take();
        assert!(is_left(&second) && inbox.is_empty(), "{second:?}");
        if left != [true, true] {
            assert!([&first[..], &second[..]].contains(&if left[0] { &[1, 2][..] } else { &[3, 4][..] }));
        }
    });
}
