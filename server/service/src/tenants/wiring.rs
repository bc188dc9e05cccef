//! The verdict cache of this build. The only file that looks at `cache-engine` and `cache-dashmap`: each feature makes
//! one implementation available. The engine wins when both are on, so adding a feature never changes behaviour.

use trefoil_cache::{PerWorker, Sampling};
use trefoil_pipeline::Verdict;

/// Of one tenant's partition.
#[derive(Clone, Copy, Debug)]
pub struct VerdictCacheConfig {
    /// Verdicts that it holds at most.
    pub capacity: usize,
    /// The share of its operations that is timed and watched for patterns.
    pub sampling: Sampling,
}

#[cfg(feature = "cache-engine")]
pub use engine::{VerdictCache, observer};
#[cfg(feature = "cache-engine")]
pub(crate) use engine::{larger, move_into, verdict_cache};

#[cfg(feature = "cache-engine")]
mod engine {
    use super::{PerWorker, Verdict, VerdictCacheConfig};
    use trefoil_cache::{Engine, EngineConfig};

    /// The bounded engine.
    pub type VerdictCache = Engine<Verdict>;

    /// Verdicts that a partition has room for at first: with all that belongs to it some 50 KiB, whatever the tenant's quota is. It grows while
    /// sessions are opened, so more would only be paid for by tenants without sessions.
    const FIRST: usize = 128;

    /// An empty cache that can grow.
    pub(crate) fn verdict_cache(config: VerdictCacheConfig) -> VerdictCache {
        let VerdictCacheConfig { capacity, sampling } = config;
        Engine::observed(EngineConfig { capacity: capacity.min(FIRST) }, PerWorker::new(sampling))
    }

    /// An empty cache of another capacity with the counts of this one. An engine's memory is fixed, so this is how one grows.
    pub(crate) fn larger(cache: &VerdictCache, capacity: usize) -> Option<VerdictCache> {
        Some(cache.another(EngineConfig { capacity }))
    }

    /// Copies all verdicts from one cache into another, calls `show`, and empties the first.
    pub(crate) fn move_into(from: &VerdictCache, to: &VerdictCache, now: u64, show: impl FnOnce()) {
        to.adopt(from, now);
        show();
        from.clear();
    }

    /// The counts of its sessions.
    pub fn observer(cache: &VerdictCache) -> Option<&PerWorker> {
        Some(cache.observer())
    }
}

#[cfg(all(feature = "cache-dashmap", not(feature = "cache-engine")))]
pub use dashmap::{VerdictCache, observer};
#[cfg(all(feature = "cache-dashmap", not(feature = "cache-engine")))]
pub(crate) use dashmap::{larger, move_into, verdict_cache};

#[cfg(all(feature = "cache-dashmap", not(feature = "cache-engine")))]
mod dashmap {
    use super::{PerWorker, Verdict, VerdictCacheConfig};
    use trefoil_cache::{Baseline, Off};

    /// The plain map, without observation.
    pub type VerdictCache = Baseline<Verdict, Off>;

    /// An empty cache. The map takes memory as it fills.
    pub(crate) fn verdict_cache(config: VerdictCacheConfig) -> VerdictCache {
        Baseline::new(config.capacity)
    }

    /// This cache has its quota from the start.
    pub(crate) fn larger(_: &VerdictCache, _: usize) -> Option<VerdictCache> {
        None
    }

    /// Nothing, for there is no larger one.
    pub(crate) fn move_into(_: &VerdictCache, _: &VerdictCache, _: u64, _: impl FnOnce()) {}

    /// This cache counts nothing.
    pub fn observer(_: &VerdictCache) -> Option<&PerWorker> {
        None
    }
}

#[cfg(not(any(feature = "cache-engine", feature = "cache-dashmap")))]
compile_error!("choose a verdict cache: build with the feature `cache-engine` (default) or `cache-dashmap`");
