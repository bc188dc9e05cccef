//! Ways of keeping a registry.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
#[expect(clippy::disallowed_types, reason = "this file compares locks")]
use std::sync::{Mutex, RwLock};

use arc_swap::{ArcSwap, Cache as Snapshot};
use dashmap::DashMap;
use flashmap::{ReadHandle, WriteHandle};
use papaya::HashMap as Papaya;

/// Entries by number, read by many, replaced rarely.
pub(super) trait Registry: Sync {
    /// The name in records.
    fn name(&self) -> &'static str;

    /// The difference from the previous one.
    fn change(&self) -> &'static str;

    /// The reason for the cost of a read.
    fn why(&self) -> &'static str;

    /// One thread's access.
    fn reader(&self) -> Box<dyn Reader + '_>;

    /// Replaces an entry.
    fn replace(&self, key: u64, entry: u64);
}

/// One thread's access to a registry.
pub(super) trait Reader {
    /// Reads `key` `times` times, each time afresh, and sums the verdicts of `judge` on the entries found.
    fn read_many(&mut self, key: u64, times: u64, judge: &mut dyn FnMut(Option<u64>) -> u64) -> u64;
}

/// A reader that is a function.
struct ByFunction<F>(F);

impl<F: FnMut(u64) -> Option<u64>> Reader for ByFunction<F> {
    fn read_many(&mut self, key: u64, times: u64, judge: &mut dyn FnMut(Option<u64>) -> u64) -> u64 {
        let mut sum = 0;
        let mut last = None;
        for _ in 0..times {
            let found = std::hint::black_box((self.0)(key));
            // A judgement per change is enough: equal entries are equally right.
            if found != last || found.is_none() {
                sum += judge(found);
                last = found;
            }
        }
        sum
    }
}

fn reader<'a>(read: impl FnMut(u64) -> Option<u64> + 'a) -> Box<dyn Reader + 'a> {
    Box::new(ByFunction(read))
}

/// The map behind a lock and all others, each with `entries` entries whose upper half is their number.
pub(super) fn all(entries: u64) -> (Box<dyn Registry>, Vec<Box<dyn Registry>>) {
    let filled = || (0..entries).map(|key| (key, key << 32));
    let others: Vec<Box<dyn Registry>> = vec![
        Box::new(Sharded(filled().collect())),
        Box::new(Counted::new(filled(), true)),
        Box::new(Counted::new(filled(), false)),
        Box::new(LockFree(filled().collect())),
        Box::new(Swapped { map: Arc::new(ArcSwap::from_pointee(filled().collect())), cached: false }),
        Box::new(Swapped { map: Arc::new(ArcSwap::from_pointee(filled().collect())), cached: true }),
    ];
    (Box::new(Locked::new(filled())), others)
}

#[expect(clippy::disallowed_types, reason = "the lock is the exhibit")]
struct Locked(RwLock<HashMap<u64, u64>>);

impl Locked {
    fn new(entries: impl Iterator<Item = (u64, u64)>) -> Self {
        #[expect(clippy::disallowed_types, reason = "the lock is the exhibit")]
        Locked(RwLock::new(entries.collect()))
    }
}

impl Registry for Locked {
    fn name(&self) -> &'static str {
        "rwlock"
    }

    fn change(&self) -> &'static str {
        "one map behind one RwLock, taken for reading"
    }

    fn why(&self) -> &'static str {
        "nobody ever waits for a writer, but taking and leaving the read lock writes the lock's word, one line that the cores pull from each other once or twice per read"
    }

    fn reader(&self) -> Box<dyn Reader + '_> {
        reader(|key| self.0.read().unwrap_or_else(PoisonError::into_inner).get(&key).copied())
    }

    fn replace(&self, key: u64, entry: u64) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(key, entry);
    }
}

struct Sharded(DashMap<u64, u64>);

impl Registry for Sharded {
    fn name(&self) -> &'static str {
        "dashmap"
    }

    fn change(&self) -> &'static str {
        "DashMap: a lock for each of many shards instead of one"
    }

    fn why(&self) -> &'static str {
        "many locks help those who want different entries; here everybody wants the same one, so it is one lock again"
    }

    fn reader(&self) -> Box<dyn Reader + '_> {
        reader(|key| self.0.get(&key).map(|entry| *entry))
    }

    fn replace(&self, key: u64, entry: u64) {
        self.0.insert(key, entry);
    }
}

/// Flashmap: reads take no lock, but each opens a guard that its handle counts.
#[expect(clippy::disallowed_types, reason = "taken by the one writer; readers do not know it")]
struct Counted {
    read: ReadHandle<u64, u64>,
    write: Mutex<WriteHandle<u64, u64>>,
    /// Whether all threads read through one handle, as through one in a static.
    shared: bool,
}

impl Counted {
    fn new(entries: impl Iterator<Item = (u64, u64)>, shared: bool) -> Self {
        let (mut write, read) = flashmap::new::<u64, u64>();
        let mut guard = write.guard();
        for (key, entry) in entries {
            guard.insert(key, entry);
        }
        guard.publish();
        #[expect(clippy::disallowed_types, reason = "see the type")]
        Counted { read, write: Mutex::new(write), shared }
    }
}

impl Registry for Counted {
    fn name(&self) -> &'static str {
        if self.shared { "counted_guard" } else { "counted_guard_own" }
    }

    fn change(&self) -> &'static str {
        if self.shared {
            "flashmap, all threads through one handle: no lock, but a guard for each read, counted up and down"
        } else {
            "flashmap, a handle for each thread: the same guards, counted in a word of the handle's own"
        }
    }

    fn why(&self) -> &'static str {
        if self.shared {
            "readers do not exclude each other, and yet all of them write one word: the line travels as a lock's does, which is what stalled the published pipeline"
        } else {
            "as many atomic writes as before, each to a line that stays with its core: what stalled was the sharing, not the counting"
        }
    }

    fn reader(&self) -> Box<dyn Reader + '_> {
        if self.shared {
            reader(|key| self.read.guard().get(&key).copied())
        } else {
            let own = self.read.clone();
            reader(move |key| own.guard().get(&key).copied())
        }
    }

    fn replace(&self, key: u64, entry: u64) {
        let mut write = self.write.lock().unwrap_or_else(PoisonError::into_inner);
        let mut guard = write.guard();
        guard.insert(key, entry);
        guard.publish();
    }
}

struct LockFree(Papaya<u64, u64>);

impl Registry for LockFree {
    fn name(&self) -> &'static str {
        "papaya"
    }

    fn change(&self) -> &'static str {
        "papaya: no lock; a read announces itself in a slot that belongs to its thread"
    }

    fn why(&self) -> &'static str {
        "the announcement is a write, but to a line that no other core writes, so a read costs the same however many threads there are"
    }

    fn reader(&self) -> Box<dyn Reader + '_> {
        reader(|key| self.0.pin().get(&key).copied())
    }

    fn replace(&self, key: u64, entry: u64) {
        self.0.pin().insert(key, entry);
    }
}

/// A snapshot behind one pointer; a writer publishes a whole new map.
struct Swapped {
    map: Arc<ArcSwap<HashMap<u64, u64>>>,
    /// Whether a thread keeps its snapshot and looks only whether it is still the newest.
    cached: bool,
}

impl Registry for Swapped {
    fn name(&self) -> &'static str {
        if self.cached { "arc_swap_cached" } else { "arc_swap" }
    }

    fn change(&self) -> &'static str {
        if self.cached {
            "the same, and each thread keeps the snapshot that it has while it is the newest"
        } else {
            "ArcSwap: a whole map behind one pointer; a read borrows it in a slot of its thread's own"
        }
    }

    fn why(&self) -> &'static str {
        if self.cached {
            "a read compares one pointer that is only read, and writes nothing: all cores keep their copies until somebody replaces the map"
        } else {
            "the borrow is two writes to a line of one's own; the pointer's line is only read, and is everybody's until the next replacement"
        }
    }

    fn reader(&self) -> Box<dyn Reader + '_> {
        if self.cached {
            let mut snapshot = Snapshot::new(Arc::clone(&self.map));
            reader(move |key| snapshot.load().get(&key).copied())
        } else {
            reader(|key| self.map.load().get(&key).copied())
        }
    }

    fn replace(&self, key: u64, entry: u64) {
        let mut map = HashMap::clone(&self.map.load());
        map.insert(key, entry);
        self.map.store(Arc::new(map));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_registry_returns_the_newest_entry_to_old_and_new_readers() {
        let (locked, others) = all(4);
        let names: std::collections::BTreeSet<_> = std::iter::once(&locked)
            .chain(&others)
            .map(|registry| {
                let sum =
                    |reader: &mut dyn Reader, key: u64| reader.read_many(key, 1, &mut |e| e.unwrap_or(9));
                let mut old = registry.reader();
                assert_eq!(sum(old.as_mut(), 3), 3 << 32, "{}", registry.name());
                registry.replace(3, 5);
                assert_eq!(sum(old.as_mut(), 3), 5, "{}", registry.name());
                assert_eq!(sum(registry.reader().as_mut(), 3), 5, "{}", registry.name());
                assert_eq!(sum(old.as_mut(), 4), 9, "{}", registry.name());
                assert!(!registry.change().is_empty() && !registry.why().is_empty());
                registry.name()
            })
            .collect();
        assert_eq!(names.len(), 7);
    }

    #[test]
    fn a_reader_judges_each_change_once_and_each_absence() {
        let mut entries = [Some(1), Some(1), Some(2), None, None].into_iter();
        let mut judged = Vec::new();
        let mut read = reader(|_| entries.next().flatten());
        read.read_many(0, 5, &mut |entry| {
            judged.push(entry);
            0
        });
        assert_eq!(judged, [Some(1), Some(2), None, None]);
    }
}
