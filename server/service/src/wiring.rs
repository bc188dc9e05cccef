//! The verdict cache of this build. The only file that looks at `cache-engine` and `cache-dashmap`: each feature makes
//! one implementation available, and the engine wins when both are on, so adding a feature never changes behaviour.

use trefoil_pipeline::Verdict;

#[cfg(feature = "cache-engine")]
pub use engine::VerdictCache;
#[cfg(feature = "cache-engine")]
pub(crate) use engine::verdict_cache;

#[cfg(feature = "cache-engine")]
mod engine {
    use super::Verdict;
    use trefoil_cache::{Engine, EngineConfig};

    /// The bounded engine.
    pub type VerdictCache = Engine<Verdict>;

    /// An empty cache for `capacity` verdicts.
    pub(crate) fn verdict_cache(capacity: usize) -> VerdictCache {
        Engine::new(EngineConfig { capacity })
    }
}

#[cfg(all(feature = "cache-dashmap", not(feature = "cache-engine")))]
pub use dashmap::VerdictCache;
#[cfg(all(feature = "cache-dashmap", not(feature = "cache-engine")))]
pub(crate) use dashmap::verdict_cache;

#[cfg(all(feature = "cache-dashmap", not(feature = "cache-engine")))]
mod dashmap {
    use super::Verdict;
    use trefoil_cache::{Baseline, PerWorker};

    /// The raw map.
    pub type VerdictCache = Baseline<Verdict, PerWorker>;

    /// An empty cache for `capacity` verdicts.
    pub(crate) fn verdict_cache(capacity: usize) -> VerdictCache {
        Baseline::new(capacity)
    }
}

#[cfg(not(any(feature = "cache-engine", feature = "cache-dashmap")))]
compile_error!("choose a verdict cache: build with the feature `cache-engine` (default) or `cache-dashmap`");
