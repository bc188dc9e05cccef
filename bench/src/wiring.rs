//! Which caches this build contains. The only file of the crate with a `cfg` on a cache.

use clap::ValueEnum;
use trefoil_cache::{Cache, Observer};
use trefoil_pipeline::Verdict;

use crate::Failure;
pub(crate) use trefoil_lab::wiring::{HAS_ENGINE, dashmap, engine};

#[cfg(not(any(feature = "cache-engine", feature = "cache-dashmap")))]
compile_error!("build trefoil-bench with at least one of the features cache-engine and cache-dashmap");

/// The cache features of this build.
pub(crate) const FEATURES: &[&str] = &[
    #[cfg(feature = "cache-engine")]
    "cache-engine",
    #[cfg(feature = "cache-dashmap")]
    "cache-dashmap",
];

/// A cache, chosen at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheChoice {
    /// The set-associative engine with all its instrumentation.
    Engine,
    /// A raw DashMap without instrumentation.
    Dashmap,
}

impl CacheChoice {
    /// The default of this build.
    pub(crate) const DEFAULT: CacheChoice =
        if cfg!(feature = "cache-engine") { CacheChoice::Engine } else { CacheChoice::Dashmap };

    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CacheChoice::Engine => "engine",
            CacheChoice::Dashmap => "dashmap",
        }
    }
}

/// Work that can be done over any cache.
pub(crate) trait OverCache {
    /// What it gives.
    type Output;

    /// Does it over `cache`, which is empty.
    fn over<C: Cache<Verdict>>(self, cache: C) -> Self::Output;
}

/// Does `work` over a new cache of the chosen kind with room for `capacity` verdicts.
///
/// # Errors
/// [`Failure::Usage`] if this build does not contain the cache.
pub(crate) fn over_cache<W: OverCache>(
    choice: CacheChoice,
    capacity: usize,
    work: W,
) -> Result<W::Output, Failure> {
    match choice {
        #[cfg(feature = "cache-engine")]
        CacheChoice::Engine => {
            Ok(work.over(trefoil_cache::Engine::<Verdict>::new(trefoil_cache::EngineConfig { capacity })))
        }
        #[cfg(feature = "cache-dashmap")]
        CacheChoice::Dashmap => Ok(work.over(trefoil_cache::Baseline::<Verdict>::new(capacity))),
        #[allow(unreachable_patterns, reason = "reached where a feature is off")]
        absent => {
            let _ = (capacity, work);
            Err(Failure::usage(format!(
                "this build has no {name} cache: build with --features cache-{name}",
                name = absent.name()
            )))
        }
    }
}

/// Does `work` over a new DashMap under the observer `O` with room for `capacity` verdicts.
///
/// # Errors
/// [`Failure::Usage`] if this build does not contain it.
pub(crate) fn over_dashmap<O: Observer, W: OverCache>(
    capacity: usize,
    work: W,
) -> Result<W::Output, Failure> {
    #[cfg(feature = "cache-dashmap")]
    return Ok(work.over(trefoil_cache::Baseline::<Verdict, O>::new(capacity)));
    #[cfg(not(feature = "cache-dashmap"))]
    {
        let _ = (capacity, work, std::marker::PhantomData::<O>);
        Err(Failure::usage("this build has no dashmap cache: build with --features cache-dashmap"))
    }
}
