//! Many threads on few entries: four times as many as cores, so that writers are preempted inside
//! their sets.

#![expect(clippy::disallowed_methods, reason = "tests count what several threads do")]

use super::checked::{Checked, key};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use trefoil_cache::{Cache, Inserted, Session};

const OPERATIONS: u64 = if cfg!(miri) { 60 } else { 60_000 };

fn threads() -> u64 {
    if cfg!(miri) { 3 } else { 4 * thread::available_parallelism().map_or(2, |n| n.get() as u64) }
}

/// A small fixed-seed generator (xorshift64*): different per thread, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % bound
    }
}

pub(crate) fn no_torn_or_foreign_value<C: Cache<Checked>>(make: impl Fn(usize) -> C) {
    let cache = Arc::new(make(32));
    let gets: u64 = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads())
            .map(|worker| {
                let mut session = cache.session();
                scope.spawn(move || {
                    let mut random = Random(worker + 1);
                    let mut gets = 0;
                    for i in 0..OPERATIONS {
                        let k = random.below(60);
                        match random.below(10) {
                            0..6 => {
                                gets += 1;
                                if let Some(value) = session.get(&key(k), i / 100) {
                                    value.assert_whole(k);
                                }
                            }
                            6..9 => {
                                let value = Checked::new(k, worker << 32 | i);
                                session.insert(key(k), value, i / 100 + 3, i / 100);
                            }
                            _ => drop(session.remove(&key(k))),
                        }
                    }
                    gets
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    let stats = cache.stats();
    assert_eq!(stats.hits + stats.misses, gets);
    assert!(cache.len() <= cache.capacity());
    let left = stats.evictions + stats.expirations + stats.removals;
    assert_eq!(stats.insertions - left, cache.len() as u64);
    assert!(stats.hits > 0);
}

/// Half the threads rewrite two values without pause while the other half read them: a reader that
/// did not notice a writer beside it would return parts of two values within milliseconds.
///
/// Once with as many threads of each kind as can overlap on two cores, once with writers that are
/// preempted halfway.
pub(crate) fn no_torn_value_beside_busy_writers<C: Cache<Checked>>(make: impl Fn(usize) -> C) {
    for pairs in [1, threads() / 2] {
        rewrite_and_read(&Arc::new(make(16)), pairs);
    }
}

fn rewrite_and_read<C: Cache<Checked>>(cache: &Arc<C>, pairs: u64) {
    let writing = AtomicU64::new(pairs);
    let whole: u64 = thread::scope(|scope| {
        for worker in 0..pairs {
            let (mut session, writing) = (cache.session(), &writing);
            scope.spawn(move || {
                for i in 0..10 * OPERATIONS {
                    session.insert(key(i % 2), Checked::new(i % 2, worker << 32 | i), 100, 0);
                }
                writing.fetch_sub(1, SeqCst);
            });
        }
        let readers: Vec<_> = (0..pairs)
            .map(|_| {
                let (mut session, writing) = (cache.session(), &writing);
                scope.spawn(move || {
                    let mut whole = 0;
                    while writing.load(SeqCst) > 0 {
                        for k in [0, 1] {
                            if let Some(value) = session.get(&key(k), 0) {
                                value.assert_whole(k);
                                whole += 1;
                            }
                        }
                    }
                    whole
                })
            })
            .collect();
        readers.into_iter().map(|reader| reader.join().unwrap()).sum()
    });
    assert!(whole > 0);
    assert_eq!(cache.stats().hits, whole);
}

/// One thread per key writes rising versions and removes them; the others must never see a version
/// from before a removal that they know has finished.
pub(crate) fn a_removed_value_stays_away<C: Cache<Checked>>(make: impl Fn(usize) -> C) {
    const KEYS: u64 = if cfg!(miri) { 2 } else { 4 };
    let cache = Arc::new(make(32));
    let removed: Arc<[AtomicU64]> = (0..KEYS).map(|_| AtomicU64::new(0)).collect();
    let running = AtomicU64::new(KEYS);
    thread::scope(|scope| {
        for k in 0..KEYS {
            let (mut session, removed, running) = (cache.session(), removed.clone(), &running);
            scope.spawn(move || {
                for version in 1..=OPERATIONS / 4 {
                    if session.insert(key(k), Checked::new(k, version), 100, 0) != Inserted::Contended
                        && version % 3 == 0
                    {
                        session.remove(&key(k));
                        removed[k as usize].store(version, SeqCst);
                    }
                }
                running.fetch_sub(1, SeqCst);
            });
        }
        for reader in 0..threads() - KEYS.min(threads() - 1) {
            let (mut session, removed, running) = (cache.session(), removed.clone(), &running);
            scope.spawn(move || {
                let mut random = Random(reader + 99);
                while running.load(SeqCst) > 0 {
                    let k = random.below(KEYS);
                    let gone = removed[k as usize].load(SeqCst);
                    if let Some(value) = session.get(&key(k), 0) {
                        value.assert_whole(k);
                        assert!(
                            value.version() > gone,
                            "version {} after removal of {gone}",
                            value.version()
                        );
                    }
                }
            });
        }
    });
    assert!(cache.len() <= KEYS as usize);
}
