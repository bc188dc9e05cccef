//! The verdicts of one tenant's sessions: a partition of the cache for each tenant, of the size that its policy says. What one tenant's
//! holders do displaces nothing of another's, and one tenant's withdrawn roots are looked for among its own.
//!
//! The pipeline's workers have sessions of their own with each partition ([`trefoil_pipeline`]). Handlers share one: they come here with a
//! proof that was verified, a row that was read, or a root that was withdrawn, which take a hundred times longer than its lock.

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

    /// The verdict of a session that is held and has not expired.
    pub fn get(&self, id: &SessionId, now: u64) -> Option<Verdict> {
        self.session().get(id.as_bytes(), now)
    }

    /// Holds a verdict until its own end.
    pub(crate) fn insert(&self, id: SessionId, verdict: Verdict, now: u64) {
        // A verdict that is not stored is a miss later, which reads the session's row.
        self.session().insert(id.to_bytes(), verdict, verdict.not_after, now);
    }

    /// Forgets the verdict of a session.
    pub(crate) fn remove(&self, id: &SessionId) {
        self.session().remove(id.as_bytes());
    }

    /// As [`Verdicts::insert`], after a look-up that missed at `missed_at`.
    pub fn fill(&self, id: SessionId, verdict: Verdict, now: u64, missed_at: Instant) {
        self.insert(id, verdict, now);
        self.session().filled(missed_at);
    }

    /// Forgets verdicts under withdrawn roots; returns how many there were. What is stored of one meanwhile carries no request either.
    pub(crate) fn withdraw(&self, is_live: impl Fn(u32) -> bool) -> usize {
        self.session().retain(&|verdict| is_live(verdict.root_generation))
    }

    /// Forgets verdicts that have expired, which bounds how long session keys stay in memory.
    pub fn sweep(&self, now: u64) -> usize {
        self.session().sweep(now)
    }

    fn session(&self) -> MutexGuard<'_, CacheSession> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
