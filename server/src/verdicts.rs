//! The verdict cache as request handlers reach it: one cache session for each I/O thread.
//!
//! A session has one writer for its statistics, so each thread keeps its own in thread-local storage. The tag tells the
//! caches of one process apart (tests run several services); sessions of a stopped service end with their threads.

use crate::wiring::{VerdictCache, verdict_cache};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use trefoil_cache::{Cache, Exposition, Session as _};
use trefoil_pipeline::{SessionId, Verdict};

type CacheSession = <VerdictCache as Cache<Verdict>>::Session;

thread_local! {
    static SESSIONS: RefCell<Vec<(u64, CacheSession)>> = const { RefCell::new(Vec::new()) };
}

static CACHES: AtomicU64 = AtomicU64::new(0);

/// See the module.
pub(crate) struct Verdicts {
    cache: Arc<VerdictCache>,
    tag: u64,
}

impl Verdicts {
    /// An empty cache for `capacity` verdicts.
    pub(crate) fn new(capacity: usize) -> Verdicts {
        Verdicts { cache: Arc::new(verdict_cache(capacity)), tag: CACHES.fetch_add(1, Ordering::Relaxed) }
    }

    /// The cache, for the pipeline's workers.
    pub(crate) fn cache(&self) -> Arc<VerdictCache> {
        Arc::clone(&self.cache)
    }

    /// The verdict of a session that is held and has not expired.
    pub(crate) fn get(&self, id: &SessionId, now: u64) -> Option<Verdict> {
        self.with(|session| session.get(id, now))
    }

    /// Holds a verdict until its own end.
    pub(crate) fn insert(&self, id: SessionId, verdict: Verdict, now: u64) {
        // A verdict that is not stored is a miss later, which reads the session's row.
        self.with(|session| session.insert(id, verdict, verdict.not_after, now));
    }

    /// As [`Verdicts::insert`], after a look-up that missed at `missed_at`.
    pub(crate) fn fill(&self, id: SessionId, verdict: Verdict, now: u64, missed_at: Instant) {
        self.insert(id, verdict, now);
        self.with(|session| session.filled(missed_at));
    }

    /// Verdicts held and room for, expired ones included.
    pub(crate) fn occupancy(&self) -> [usize; 2] {
        [self.cache.len(), self.cache.capacity()]
    }

    /// Forgets verdicts that have expired, which bounds how long session keys stay in memory.
    pub(crate) fn sweep(&self, now: u64) -> usize {
        self.with(|session| session.sweep(now))
    }

    /// Durations, throughput and patterns of traffic, as Prometheus text: never a key.
    pub(crate) fn observations(&self) -> String {
        Exposition::Prometheus.render(self.cache.observer(), "trefoil_verdict_cache", Instant::now())
    }

    fn with<R>(&self, operate: impl FnOnce(&mut CacheSession) -> R) -> R {
        SESSIONS.with_borrow_mut(|sessions| {
            let at = sessions.iter().position(|(tag, _)| *tag == self.tag).unwrap_or_else(|| {
                sessions.push((self.tag, self.cache.session()));
                sessions.len() - 1
            });
            operate(&mut sessions[at].1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_see_durations_and_patterns_of_the_traffic() {
        let verdicts = Verdicts::new(64);
        // Enough look-ups for two windows of samples, all of them misses.
        for n in 0..40_000u32 {
            let mut id = [0; 32];
            id[..4].copy_from_slice(&n.to_le_bytes());
            assert!(verdicts.get(&id, 0).is_none());
        }
        let missed_at = Instant::now();
        assert!(verdicts.get(&[1; 32], 0).is_none());
        // Its task goes on on another thread, which has a session of its own.
        std::thread::scope(|scope| {
            scope.spawn(|| verdicts.with(|session| session.filled(missed_at))).join().unwrap()
        });
        let page = verdicts.observations();
        for line in [
            "trefoil_verdict_cache_operations_total{tenant=\"0\",outcome=\"absent\"} 40001\n",
            "trefoil_verdict_cache_duration_seconds_count{operation=\"miss\"} 1\n",
            "trefoil_verdict_cache_patterns_total{kind=\"window\"} 2\n",
            "trefoil_verdict_cache_sessions_in_scan 1\n",
            "# TYPE trefoil_verdict_cache_duration_seconds histogram\n",
        ] {
            assert!(page.contains(line), "{line}{page}");
        }
        assert_eq!(verdicts.occupancy(), [0, 64]);
    }
}
