//! Every interleaving and every reordering that the memory model allows, of what this crate publishes without a lock:
//! the source files are compiled here against the atomics of the model checker.
//!
//! Preemptions are bounded at three where a model has three threads; the others are exhaustive. All of them together
//! take a few seconds.

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
}

#[path = "../src/counter.rs"]
mod counter;
#[path = "../src/inbox.rs"]
mod inbox;
#[path = "../src/version.rs"]
mod version;

use counter::bump;
use inbox::Inbox;
use loom::sync::Arc;
use loom::thread;
use sync::AtomicU64;
use sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use version::Version;

/// A set with one entry of two words and its generation.
#[derive(Default)]
struct Entry {
    version: Version,
    words: [AtomicU64; 2],
    generation: AtomicU64,
}

impl Entry {
    /// As a writer in the table does it, but giving up at once; whether it entered.
    fn write(&self, value: u64, generation: u64) -> bool {
        let Some(version) = self.version.try_enter() else { return false };
        self.words[0].store(value, Relaxed);
        self.words[1].store(value, Relaxed);
        self.generation.store(generation, Relaxed);
        self.version.leave(version);
        true
    }

    /// As a look-up in the table does it, with one attempt.
    fn read(&self) -> Option<(u64, u64, u64)> {
        let version = self.version.at_rest()?;
        let words = (self.words[0].load(Relaxed), self.words[1].load(Relaxed));
        let generation = self.generation.load(Relaxed);
        self.version.is_still(version).then_some((words.0, words.1, generation))
    }
}

fn bounded(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

#[test]
fn a_reader_sees_what_one_writer_left() {
    loom::model(|| {
        let entry = Arc::new(Entry::default());
        let writer = {
            let entry = entry.clone();
            thread::spawn(move || {
                entry.write(1, 0);
                entry.write(2, 0);
            })
        };
        if let Some((a, b, _)) = entry.read() {
            assert_eq!(a, b, "torn");
        }
        writer.join().unwrap();
    });
}

#[test]
fn two_writers_and_a_reader() {
    bounded(3, || {
        let entry = Arc::new(Entry::default());
        let writers: Vec<_> = [1, 2]
            .map(|value| {
                let entry = entry.clone();
                thread::spawn(move || u64::from(entry.write(value, 0)))
            })
            .into();
        if let Some((a, b, _)) = entry.read() {
            assert_eq!(a, b, "torn");
        }
        let entered: u64 = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
        assert!(
            entered >= 1 || entry.read() == Some((0, 0, 0)),
            "weak exchanges may fail, but change nothing"
        );
        let (a, b, _) = entry.read().expect("at rest");
        assert_eq!(a, b);
    });
}

/// One thread stores under the generation it knows, another invalidates and then says so; who has heard of it does not
/// accept what was stored before.
#[test]
fn an_invalidation_holds_for_whoever_knows_of_it() {
    bounded(3, || {
        let shared = Arc::new((Entry::default(), AtomicU64::new(0), AtomicU64::new(0)));
        let writer = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (entry, generation, _) = &*shared;
                let of_ticket = generation.load(Acquire);
                entry.write(7, of_ticket);
            })
        };
        let revoker = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (_, generation, told) = &*shared;
                generation.fetch_add(1, AcqRel);
                told.store(1, Release);
            })
        };
        let (entry, generation, told) = &*shared;
        if told.load(Acquire) == 1
            && let Some((value, _, stored_in)) = entry.read()
            && stored_in == generation.load(Acquire)
        {
            assert_eq!((value, stored_in), (7, 1), "stored after the invalidation");
        }
        writer.join().unwrap();
        revoker.join().unwrap();
    });
}

#[test]
fn counters_rise_for_every_reader_and_lose_nothing() {
    loom::model(|| {
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

/// Whoever finds an empty inbox leaves two numbers; what is taken was left, each place at most once, and what one thread
/// left alone is taken whole.
#[test]
fn what_is_taken_was_left() {
    bounded(3, || {
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
