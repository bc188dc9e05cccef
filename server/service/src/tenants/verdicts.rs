//! The verdicts of one tenant's sessions: each tenant has a partition of the cache, whose largest size its policy sets. One tenant's
//! sessions evict no verdict of another tenant, and a withdrawn root is searched only in its tenant's partition.
//!
//! A partition begins small and grows, by four, up to its quota: a tenant without sessions costs little. It grows by another partition that takes
//! its place. A task looks five times a second which tenants need that ([`crate::tenants::directory::Directory::make_room`]), and no login waits for it. A partition
//! does not become smaller; the next start begins with a small one again, and makes room for the sessions that are open then.
//!
//! The pipeline's workers have sessions of their own with each partition ([`trefoil_pipeline`]). Handlers share one: they come here after
//! verifying a proof, reading a row or withdrawing a root, which takes a hundred times longer than the lock.

#![expect(clippy::disallowed_types, reason = "off the path of a login: workers have sessions of their own")]

use crate::tenants::wiring::{VerdictCache, VerdictCacheConfig, larger, move_into, verdict_cache};
use arc_swap::ArcSwap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use trefoil_cache::{Cache, Inserted, Session as _};
use trefoil_pipeline::{SessionId, Verdict};

type CacheSession = <VerdictCache as Cache<Verdict>>::Session;

/// See the module.
pub struct Verdicts {
    quota: usize,
    cache: ArcSwap<VerdictCache>,
    /// All that writes to the partition holds this.
    writer: Mutex<Writer>,
}

struct Writer {
    session: CacheSession,
    /// The verdicts at the last count, and those inserted since: so many are there at most.
    at_most: usize,
}

/// A partition becomes so many times as large.
const GROWTH: usize = 4;
/// It grows when more than one part in so many is taken. Its sets of 32 fill unequally: at a half one in ten thousand evicts, at a third one in fifty million.
const PART: usize = 3;

impl Verdicts {
    /// An empty partition.
    pub(crate) fn new(config: VerdictCacheConfig) -> Verdicts {
        let cache = Arc::new(verdict_cache(config));
        let writer = Mutex::new(Writer { session: cache.session(), at_most: 0 });
        Verdicts { quota: config.capacity, cache: ArcSwap::new(cache), writer }
    }

    /// The present partition, for the pipeline's workers.
    pub fn cache(&self) -> Arc<VerdictCache> {
        self.cache.load_full()
    }

    /// Verdicts that it may have room for.
    pub(crate) fn quota(&self) -> usize {
        self.quota
    }

    /// An empty partition that is large enough, if this one would be more than a third full with so many more verdicts and its quota allows a larger one.
    /// Drops expired verdicts before it counts.
    pub(crate) fn larger(&self, more: usize, now: u64) -> Option<Arc<VerdictCache>> {
        let cache = self.cache();
        let is_roomy = |verdicts: usize| PART * verdicts <= cache.capacity();
        let wanted = {
            let mut writer = self.writer();
            let wanted = writer.at_most + more;
            if cache.capacity() >= self.quota || is_roomy(wanted) {
                return None;
            }
            writer.session.sweep(now);
            writer.at_most = cache.len();
            if is_roomy(writer.at_most + more) {
                return None;
            }
            wanted
        };
        let mut capacity = cache.capacity();
        // Inserts that evicted count in `wanted`, so that many new sessions between two looks get room at once.
        while capacity < self.quota && PART * wanted > capacity {
            capacity = capacity.saturating_mul(GROWTH).min(self.quota);
        }
        larger(&cache, capacity).map(Arc::new)
    }

    /// Puts a larger partition in the place of the present one, with all its verdicts. `show` gives it to the workers.
    ///
    /// What was removed does not come back. Whatever removes a verdict, be it the end of a session, the revocation of a subject or the withdrawal of a root,
    /// holds the writer, as this does: it comes either before the copy, which then is without the verdict, or after all of this, and then it removes
    /// the verdict from the only partition that has it. A batch that still has the old partition finds nothing there, and the sessions' rows are read.
    pub(crate) fn grow(&self, next: &Arc<VerdictCache>, now: u64, show: impl FnOnce()) {
        let mut writer = self.writer();
        let cache = self.cache();
        // Another call made it as large.
        if next.capacity() <= cache.capacity() {
            return;
        }
        move_into(&cache, next, now, || {
            self.cache.store(Arc::clone(next));
            writer.session = next.session();
            show();
        });
    }

    /// The verdict of a session, if it is in the cache and has not expired.
    pub fn get(&self, id: &SessionId, now: u64) -> Option<Verdict> {
        self.writer().session.get(id.as_bytes(), now)
    }

    /// Adds a verdict, which stays until its own end at most.
    pub(crate) fn insert(&self, id: SessionId, verdict: Verdict, now: u64) {
        // If the cache does not take the verdict, a later look-up misses and reads the session's row.
        let mut writer = self.writer();
        let inserted = writer.session.insert(id.to_bytes(), verdict, verdict.not_after, now);
        writer.at_most += usize::from(inserted == Inserted::New);
    }

    /// Forgets the verdict of a session.
    pub(crate) fn remove(&self, id: &SessionId) {
        self.writer().session.remove(id.as_bytes());
    }

    /// Like [`Verdicts::insert`], after a look-up that missed at `missed_at`.
    pub fn fill(&self, id: SessionId, verdict: Verdict, now: u64, missed_at: Instant) {
        self.insert(id, verdict, now);
        self.writer().session.filled(missed_at);
    }

    /// Drops verdicts under withdrawn roots and returns how many there were. A verdict under such a root that is inserted meanwhile is not accepted either.
    pub(crate) fn withdraw(&self, is_live: impl Fn(u32) -> bool) -> usize {
        self.writer().session.retain(&|verdict| is_live(verdict.root_generation))
    }

    /// Drops expired verdicts, which bounds how long session keys stay in memory.
    pub fn sweep(&self, now: u64) -> usize {
        self.writer().session.sweep(now)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, feature = "cache-engine"))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use trefoil_cache::{Sampling, Value as _};

    const NOW: u64 = 1000;

    fn verdicts(quota: usize) -> Verdicts {
        Verdicts::new(VerdictCacheConfig { capacity: quota, sampling: Sampling::default() })
    }

    fn id(n: u64) -> SessionId {
        let mut id = [7; 32];
        id[..8].copy_from_slice(&n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes());
        SessionId::new(id)
    }

    /// Under root `generation`, until `not_after`.
    fn verdict(n: u64, generation: u32, not_after: u64) -> Verdict {
        let mut words = [n; size_of::<<Verdict as trefoil_cache::Value>::Words>() / 8];
        let at = words.len() - 4;
        words[at] = not_after;
        let mut verdict = Verdict::from_words(&words);
        verdict.root_generation = generation;
        assert_eq!(verdict.not_after, not_after);
        verdict
    }

    /// Grows it as the directory does; whether it grew.
    fn grow(verdicts: &Verdicts, more: usize) -> bool {
        let Some(next) = verdicts.larger(more, NOW) else { return false };
        let mut shown = None;
        verdicts.grow(&next, NOW, || {
            shown = Some(verdicts.cache());
            assert!(verdicts.writer.try_lock().is_err(), "a removal waits until the old partition is empty");
        });
        assert!(shown.is_some_and(|shown| Arc::ptr_eq(&shown, &next)), "the workers are shown the new one");
        true
    }

    fn held(verdicts: &Verdicts, ids: std::ops::Range<u64>) -> usize {
        ids.filter(|n| verdicts.get(&id(*n), NOW).is_some()).count()
    }

    #[test]
    fn many_new_sessions_get_room_at_once_and_those_that_are_over_get_none() {
        let crowded = verdicts(100_000);
        (0..3000).for_each(|n| crowded.insert(id(n), verdict(n, 1, NOW + 9), NOW));
        assert!(grow(&crowded, 0));
        assert_eq!(crowded.cache().capacity(), 32_768, "three times those that were opened");
        assert!(!grow(&crowded, 0));

        let warmed = verdicts(100_000);
        assert!(!grow(&warmed, 42) && grow(&warmed, 43));
        assert_eq!(warmed.cache().capacity(), 512);

        let over = verdicts(100_000);
        (0..60).for_each(|n| over.insert(id(n), verdict(n, 1, NOW + 9), NOW));
        assert!(over.larger(0, NOW + 9).is_none());
        assert_eq!(over.cache().len(), 0);
        let ended = verdicts(100_000);
        (0..60).for_each(|n| ended.insert(id(n), verdict(n, 1, NOW + 9), NOW));
        (0..30).for_each(|n| ended.remove(&id(n)));
        assert!(!grow(&ended, 0));
    }

    /// Claim V120.
    ///
    /// A batch that read its tenant before the growth has the old partition still.
    #[test]
    fn what_is_removed_after_the_growth_is_in_no_partition_that_a_batch_may_have() {
        let verdicts = verdicts(10_000);
        (0..44).for_each(|n| verdicts.insert(id(n), verdict(n, 1 + (n % 2) as u32, NOW + 9), NOW));
        let before = verdicts.cache();
        let mut batch = before.session();
        assert!(batch.get(id(0).as_bytes(), NOW).is_some());
        assert!(grow(&verdicts, 0));
        verdicts.remove(&id(0));
        verdicts.withdraw(|generation| generation == 2);
        assert_eq!(held(&verdicts, 0..44), 22);
        assert!((0..44).all(|n| batch.get(id(n).as_bytes(), NOW).is_none()), "it reads the rows");
        assert_eq!(before.len(), 0);
    }

    /// Each removal ends before or begins after the growth, whatever the schedule is.
    #[test]
    fn a_session_that_ends_and_a_root_that_is_withdrawn_during_the_growth_stay_away() {
        for round in 0..20 {
            let verdicts = verdicts(1 << 15);
            (0..40).for_each(|n| verdicts.insert(id(n), verdict(n, 1 + (n % 2) as u32, NOW + 9), NOW));
            let is_over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !is_over.load(Ordering::SeqCst) {
                        grow(&verdicts, verdicts.cache().capacity());
                    }
                });
                (0..40).step_by(4).for_each(|n| {
                    verdicts.remove(&id(n));
                    assert!(verdicts.get(&id(n), NOW).is_none(), "round {round}");
                });
                verdicts.withdraw(|generation| generation == 1);
                is_over.store(true, Ordering::SeqCst);
            });
            let stayed = (0..40).filter(|n| n % 2 == 0 && n % 4 != 0);
            assert!((0..40).step_by(4).all(|n| verdicts.get(&id(n), NOW).is_none()));
            assert!((1..40).step_by(2).all(|n| verdicts.get(&id(n), NOW).is_none()));
            assert!(stayed.clone().all(|n| verdicts.get(&id(n), NOW).is_some()), "round {round}");
            assert_eq!(verdicts.cache().len(), stayed.count());
        }
    }
}
