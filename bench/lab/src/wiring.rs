//! Which caches this build contains. The only file of the crate with a `cfg` on a cache.

use std::sync::Arc;

use trefoil_cache::{Cache, Observer, Value};

#[cfg(not(any(feature = "cache-engine", feature = "cache-dashmap")))]
compile_error!("build trefoil-lab with at least one of the features cache-engine and cache-dashmap");

/// Whether the engine is in this build.
pub const HAS_ENGINE: bool = cfg!(feature = "cache-engine");

/// An empty engine under the observer `O`, if this build contains the engine.
#[cfg(feature = "cache-engine")]
pub fn engine<V: Value, O: Observer>(capacity: usize) -> Option<Arc<impl Cache<V>>> {
    let config = trefoil_cache::EngineConfig { capacity };
    Some(Arc::new(trefoil_cache::Engine::<V, O>::new(config)))
}

/// An empty DashMap under the observer `O`, if this build contains it.
#[cfg(feature = "cache-dashmap")]
pub fn dashmap<V: Value, O: Observer>(capacity: usize) -> Option<Arc<impl Cache<V>>> {
    Some(Arc::new(trefoil_cache::Baseline::<V, O>::new(capacity)))
}

/// An empty DashMap under the observer `O`, if this build contains it.
#[cfg(all(not(feature = "cache-dashmap"), feature = "cache-engine"))]
pub fn dashmap<V: Value, O: Observer>(_: usize) -> Option<Arc<impl Cache<V>>> {
    None::<Arc<trefoil_cache::Engine<V, O>>>
}

/// An empty engine under the observer `O`, if this build contains the engine.
#[cfg(all(not(feature = "cache-engine"), feature = "cache-dashmap"))]
pub fn engine<V: Value, O: Observer>(_: usize) -> Option<Arc<impl Cache<V>>> {
    None::<Arc<trefoil_cache::Baseline<V, O>>>
}
