//! Caches and maps to compare with, behind one small interface, all with keys and values of one size.

mod hash;

use std::hint::black_box;
use std::sync::Arc;

use dashmap::DashMap;
use trefoil_cache::value::{pack, unpack};
use trefoil_cache::{Cache, Key, Session, Value};

use crate::timing::Tally;
use hash::DigestHash;

/// The cached value: 64 bytes that follow from the key, so that a wrong value is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload(pub [u64; 8]);

impl Payload {
    /// The value that belongs to `key`.
    pub fn of(key: &Key) -> Payload {
        let [a, b, c, d] = pack(key);
        Payload([!a, !b, !c, !d, a, b, c, d])
    }
}

impl Value for Payload {
    type Words = [u64; 8];

    fn to_words(&self) -> [u64; 8] {
        self.0
    }

    #[inline(always)]
    fn from_words(words: &[u64; 8]) -> Self {
        Payload(*words)
    }
}

/// The `n`th key: 32 bytes as evenly spread as a digest, at a fraction of its cost.
pub fn key(n: u64) -> Key {
    let word = |salt: u64| {
        let mut x = n ^ salt.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    };
    unpack(&[word(1), word(2), word(3), word(4)])
}

/// A cache or map that threads share.
pub trait Peer: Send + Sync {
    /// A handle for the calling thread.
    fn handle(&self) -> Box<dyn Handle + '_>;

    /// Most entries it will hold; none if it does not evict.
    fn capacity(&self) -> Option<usize> {
        None
    }

    /// Entries held, all postponed work done.
    fn held(&self) -> usize;

    /// Does postponed work now, so that it is not charged to what is timed next.
    fn settle(&self) {}
}

/// One thread's access.
pub trait Handle {
    /// The value under `key`.
    fn get(&mut self, key: &Key) -> Option<Payload>;

    /// Stores `value` under `key`, or decides not to.
    fn insert(&mut self, key: Key, value: Payload);

    /// Looks all these keys up, or stores them if `put`. Dispatch is per slice, not per key.
    fn all(&mut self, put: bool, keys: &[Key], tally: &mut Tally) {
        tally.requests += keys.len() as u64;
        if put {
            return keys.iter().for_each(|key| self.insert(*key, Payload::of(key)));
        }
        for key in keys {
            if let Some(value) = self.get(key) {
                tally.hits += 1;
                // The last word alone: comparing all would cost as much as the look-up.
                tally.wrong += u64::from(value.0[7] != last_word(key));
                black_box(&value);
            }
        }
    }
}

#[inline(always)]
fn last_word(key: &Key) -> u64 {
    let [.., a, b, c, d, e, f, g, h] = *key;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

impl dyn Peer + '_ {
    /// Stores the values of `keys`.
    pub fn fill(&self, keys: &[Key]) {
        self.handle().all(true, keys, &mut Tally::default());
        self.settle();
    }

    /// Requests the keys of a stream once, stores what is missing, and counts what was not.
    pub fn warm(&self, keys: &[Key]) -> usize {
        let mut handle = self.handle();
        let mut hits = 0;
        for key in keys {
            if handle.get(key).is_some() {
                hits += 1;
            } else {
                handle.insert(*key, Payload::of(key));
            }
        }
        self.settle();
        hits
    }

    /// Whether `key` is held, with its value.
    pub fn holds(&self, key: &Key) -> bool {
        self.handle().get(key) == Some(Payload::of(key))
    }
}

/// A cache of this project. Entries do not expire.
pub struct Ours<C> {
    cache: Arc<C>,
    evicts: bool,
}

/// A session of a cache of this project.
struct OurHandle<S>(S);

impl<C: Cache<Payload>> Ours<C> {
    /// A cache that evicts.
    pub fn evicting(cache: Arc<C>) -> Self {
        Ours { cache, evicts: true }
    }

    /// A map that keeps everything up to its capacity and then refuses.
    pub fn map(cache: Arc<C>) -> Self {
        Ours { cache, evicts: false }
    }
}

impl<C: Cache<Payload>> Peer for Ours<C> {
    fn handle(&self) -> Box<dyn Handle + '_> {
        Box::new(OurHandle(self.cache.session()))
    }

    fn capacity(&self) -> Option<usize> {
        self.evicts.then(|| self.cache.capacity())
    }

    fn held(&self) -> usize {
        self.cache.len()
    }
}

impl<S: Session<Payload>> Handle for OurHandle<S> {
    #[inline(always)]
    fn get(&mut self, key: &Key) -> Option<Payload> {
        self.0.get(key, NOW)
    }

    #[inline(always)]
    fn insert(&mut self, key: Key, value: Payload) {
        self.0.insert(key, value, NEVER, NOW);
    }
}

/// The only time in these benchmarks, and an expiry after it.
const NOW: u64 = 1_700_000_000;
const NEVER: u64 = NOW + 86_400;

/// Moka's synchronous cache with its default policy, TinyLFU.
pub struct Moka(moka::sync::Cache<Key, Payload, DigestHash>);

impl Moka {
    /// With room for this many entries.
    pub fn new(capacity: usize) -> Self {
        let builder = moka::sync::Cache::builder().max_capacity(capacity as u64);
        Moka(builder.build_with_hasher(DigestHash::random()))
    }
}

impl Peer for Moka {
    fn handle(&self) -> Box<dyn Handle + '_> {
        Box::new(self)
    }

    fn capacity(&self) -> Option<usize> {
        self.0.policy().max_capacity().and_then(|n| n.try_into().ok())
    }

    fn held(&self) -> usize {
        self.0.run_pending_tasks();
        usize::try_from(self.0.entry_count()).unwrap_or(usize::MAX)
    }

    fn settle(&self) {
        self.0.run_pending_tasks();
    }
}

impl Handle for &Moka {
    #[inline(always)]
    fn get(&mut self, key: &Key) -> Option<Payload> {
        self.0.get(key)
    }

    #[inline(always)]
    fn insert(&mut self, key: Key, value: Payload) {
        self.0.insert(key, value);
    }
}

/// Quick Cache's synchronous cache, without its optional statistics.
pub struct QuickCache(quick_cache::sync::Cache<Key, Payload, quick_cache::UnitWeighter, DigestHash>);

impl QuickCache {
    /// With room for this many entries.
    pub fn new(capacity: usize) -> Self {
        QuickCache(quick_cache::sync::Cache::with(
            capacity,
            capacity as u64,
            quick_cache::UnitWeighter,
            DigestHash::random(),
            Default::default(),
        ))
    }
}

impl Peer for QuickCache {
    fn handle(&self) -> Box<dyn Handle + '_> {
        Box::new(self)
    }

    fn capacity(&self) -> Option<usize> {
        self.0.capacity().try_into().ok()
    }

    fn held(&self) -> usize {
        self.0.len()
    }
}

impl Handle for &QuickCache {
    #[inline(always)]
    fn get(&mut self, key: &Key) -> Option<Payload> {
        self.0.get(key)
    }

    #[inline(always)]
    fn insert(&mut self, key: Key, value: Payload) {
        self.0.insert(key, value);
    }
}

/// A DashMap and nothing around it: no expiry, no capacity, no interface of ours.
pub struct RawDashMap(DashMap<Key, Payload, DigestHash>);

impl RawDashMap {
    /// An empty map, which grows as the baseline does: of two tables of different sizes one fits a cache better.
    pub fn empty() -> Self {
        RawDashMap(DashMap::with_hasher(DigestHash::random()))
    }
}

impl Peer for RawDashMap {
    fn handle(&self) -> Box<dyn Handle + '_> {
        Box::new(self)
    }

    fn held(&self) -> usize {
        self.0.len()
    }
}

impl Handle for &RawDashMap {
    #[inline(always)]
    fn get(&mut self, key: &Key) -> Option<Payload> {
        self.0.get(key).map(|held| *held)
    }

    #[inline(always)]
    fn insert(&mut self, key: Key, value: Payload) {
        self.0.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps_what_it_is_given(peer: &dyn Peer) {
        let mut handle = peer.handle();
        for n in 0..100 {
            handle.insert(key(n), Payload::of(&key(n)));
        }
        peer.settle();
        assert_eq!(peer.held(), 100);
        for n in 0..100 {
            assert_eq!(handle.get(&key(n)), Some(Payload::of(&key(n))));
        }
        assert_eq!(handle.get(&key(100)), None);
    }

    #[test]
    fn every_peer_returns_what_was_stored() {
        keeps_what_it_is_given(&Moka::new(2_000));
        keeps_what_it_is_given(&QuickCache::new(2_000));
        keeps_what_it_is_given(&RawDashMap::empty());
        assert_eq!(Moka::new(2_000).capacity(), Some(2_000));
    }

    #[test]
    fn keys_and_values_are_all_different() {
        let keys: std::collections::HashSet<Key> = (0..10_000).map(key).collect();
        assert_eq!(keys.len(), 10_000);
        assert_ne!(Payload::of(&key(1)), Payload::of(&key(2)));
    }
}
