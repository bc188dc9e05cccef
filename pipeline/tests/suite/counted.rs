//! A cache and tenants that count how often they are asked.

#![expect(clippy::disallowed_methods, reason = "counts in a test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use trefoil_cache::{Cache, Inserted, Key, Session, Stats};
use trefoil_matching::PublicKey;
use trefoil_pipeline::{Registry, Served, TenantId, Tenants, Verdict};

/// Look-ups of one kind.
pub(crate) type Count = Arc<AtomicUsize>;

/// What was counted since the last call.
pub(crate) fn taken(count: &Count) -> usize {
    count.swap(0, Ordering::SeqCst)
}

/// A cache whose look-ups are counted.
pub(crate) struct CountedCache<C> {
    inner: Arc<C>,
    pub(crate) look_ups: Count,
}

pub(crate) struct CountedSession<S> {
    inner: S,
    look_ups: Count,
}

impl<C> CountedCache<C> {
    pub(crate) fn new(inner: C) -> Self {
        CountedCache { inner: Arc::new(inner), look_ups: Count::default() }
    }
}

impl<C: Cache<Verdict>> Cache<Verdict> for CountedCache<C> {
    type Session = CountedSession<C::Session>;

    fn session(self: &Arc<Self>) -> Self::Session {
        CountedSession { inner: self.inner.session(), look_ups: Arc::clone(&self.look_ups) }
    }

    fn stats(&self) -> Stats {
        self.inner.stats()
    }

    fn capacity(&self) -> usize {
        self.inner.capacity()
    }

    fn len(&self) -> usize {
        self.inner.len()
    }
}

impl<S: Session<Verdict>> Session<Verdict> for CountedSession<S> {
    fn get(&mut self, key: &Key, now: u64) -> Option<Verdict> {
        self.look_ups.fetch_add(1, Ordering::SeqCst);
        self.inner.get(key, now)
    }

    fn insert(&mut self, key: Key, value: Verdict, expires_at: u64, now: u64) -> Inserted {
        self.inner.insert(key, value, expires_at, now)
    }

    fn remove(&mut self, key: &Key) -> bool {
        self.inner.remove(key)
    }

    fn retain(&mut self, keep: &dyn Fn(&Verdict) -> bool) -> usize {
        self.inner.retain(keep)
    }

    fn sweep(&mut self, now: u64) -> usize {
        self.inner.sweep(now)
    }
}

/// Tenants whose snapshots are counted.
pub(crate) struct CountedTenants<C> {
    pub(crate) inner: Registry<C>,
    pub(crate) snapshots: Count,
}

impl<C: Send + Sync> Tenants<C> for CountedTenants<C> {
    fn get(&self, id: &TenantId) -> Option<Arc<Served<C>>> {
        self.snapshots.fetch_add(1, Ordering::SeqCst);
        self.inner.get(id)
    }

    fn renew_keys(&self, id: &TenantId, keys: &[PublicKey]) {
        self.inner.renew_keys(id, keys);
    }
}
