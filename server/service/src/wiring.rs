//! The verdict cache of this build. The only file that looks at `cache-engine` and `cache-dashmap`: each feature makes
//! one implementation available. The engine wins when both are on, so adding a feature never changes behaviour.

use trefoil_cache::{PerWorker, Sampling};
use trefoil_pipeline::Verdict;

/// Of one partition.
#[derive(Clone, Copy, Debug)]
pub struct VerdictCacheConfig {
    /// Verdicts that it holds.
    pub capacity: usize,
    /// The share of its operations that is timed and watched for patterns.
    pub sampling: Sampling,
}

#[cfg(feature = "cache-engine")]
pub(crate) use engine::verdict_cache;
#[cfg(feature = "cache-engine")]
pub use engine::{VerdictCache, observer};

#[cfg(feature = "cache-engine")]
mod engine {
    use super::{PerWorker, Verdict, VerdictCacheConfig};
    use trefoil_cache::{Engine, EngineConfig};

    /// The bounded engine.
    pub type VerdictCache = Engine<Verdict>;

    /// An empty cache.
    pub(crate) fn verdict_cache(config: VerdictCacheConfig) -> VerdictCache {
        let VerdictCacheConfig { capacity, sampling } = config;
        Engine::observed(EngineConfig { capacity }, PerWorker::new(sampling))
    }

    /// The counts of its sessions.
    pub fn observer(cache: &VerdictCache) -> Option<&PerWorker> {
        Some(cache.observer())
    }
}

#[cfg(all(feature = "cache-dashmap", not(feature = "cache-engine")))]
pub(crate) use dashmap::verdict_cache;
#[cfg(all(feature = "cache-dashmap", not(feature = "cache-engine")))]
pub use dashmap::{VerdictCache, observer};

#[cfg(all(feature = "cache-dashmap", not(feature = "cache-engine")))]
mod dashmap {
    use super::{PerWorker, Verdict, VerdictCacheConfig};
    use trefoil_cache::{Baseline, Off};

    /// The plain map, without observation.
    pub type VerdictCache = Baseline<Verdict, Off>;

    /// An empty cache.
    pub(crate) fn verdict_cache(config: VerdictCacheConfig) -> VerdictCache {
        Baseline::new(config.capacity)
    }

    /// This cache counts nothing.
    pub fn observer(_: &VerdictCache) -> Option<&PerWorker> {
        None
    }
}

#[cfg(not(any(feature = "cache-engine", feature = "cache-dashmap")))]
compile_error!("choose a verdict cache: build with the feature `cache-engine` (default) or `cache-dashmap`");
