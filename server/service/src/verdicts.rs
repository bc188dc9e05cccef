//! The verdicts of one tenant's sessions: each tenant has a partition of the cache, whose size its policy sets. One tenant's
//! sessions evict no verdict of another tenant, and a withdrawn root is searched only in its tenant's partition.
//!
//! The pipeline's workers have sessions of their own with each partition ([`trefoil_pipeline`]). Handlers share one: they come here after
//! verifying a proof, reading a row or withdrawing a root, which takes a hundred times longer than the lock.

#![expect(clippy::disallowed_types, reason = "off the path of a login: workers have sessions of their own")]

use crate::wiring::{VerdictCache, VerdictCacheConfig, verdict_cache};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use trefoil_cache::{Cache, Session as _};
use trefoil_pipeline::{SessionId, Verdict};

type CacheSession = <VerdictCache as Cache<Verdict>>::Session;

/// See the module.
pub struct Verdicts {
    cache: Arc<VerdictCache>,
    session: Mutex<CacheSession>,
}

impl Verdicts {
    /// An empty partition.
    pub(crate) fn new(config: VerdictCacheConfig) -> Verdicts {
        let cache = Arc::new(verdict_cache(config));
        Verdicts { session: Mutex::new(cache.session()), cache }
    }

    /// The partition, for the pipeline's workers.
    pub fn cache(&self) -> Arc<VerdictCache> {
        Arc::clone(&self.cache)
    }

    /// Verdicts that it has room for.
    pub(crate) fn capacity(&self) -> usize {
        self.cache.capacity()
    }

    /// The verdict of a session, if it is in the cache and has not expired.
    pub fn get(&self, id: &SessionId, now: u64) -> Option<Verdict> {
        self.session().get(id.as_bytes(), now)
    }

    /// Adds a verdict, which stays until its own end at most.
    pub(crate) fn insert(&self, id: SessionId, verdict: Verdict, now: u64) {
        // If the cache does not take the verdict, a later look-up misses and reads the session's row.
        self.session().insert(id.to_bytes(), verdict, verdict.not_after, now);
    }

    /// Forgets the verdict of a session.
    pub(crate) fn remove(&self, id: &SessionId) {
        self.session().remove(id.as_bytes());
    }

    /// Like [`Verdicts::insert`], after a look-up that missed at `missed_at`.
    pub fn fill(&self, id: SessionId, verdict: Verdict, now: u64, missed_at: Instant) {
        self.insert(id, verdict, now);
        self.session().filled(missed_at);
    }

    /// Drops verdicts under withdrawn roots and returns how many there were. A verdict under such a root that is inserted meanwhile is not accepted either.
    pub(crate) fn withdraw(&self, is_live: impl Fn(u32) -> bool) -> usize {
        self.session().retain(&|verdict| is_live(verdict.root_generation))
    }

    /// Drops expired verdicts, which bounds how long session keys stay in memory.
    pub fn sweep(&self, now: u64) -> usize {
        self.session().sweep(now)
    }

    fn session(&self) -> MutexGuard<'_, CacheSession> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
