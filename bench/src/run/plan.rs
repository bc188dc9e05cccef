//! How a loop is loaded.

use trefoil_matching::Tier;
use trefoil_pipeline::Cadence;

use crate::wiring::CacheChoice;
use crate::workload::Popularity;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Pinned workers.
    pub(crate) workers: usize,
    pub(crate) cadence: Cadence,
    /// The cache that verdicts are looked up in.
    pub(crate) cache: CacheChoice,
    /// Enrolled templates; a multiple of 32.
    pub(crate) users: usize,
    pub(crate) popularity: Popularity,
    /// Distinct batches that the workers cycle through.
    pub(crate) batches: usize,
    /// Fixes users, probes and impostors.
    pub(crate) seed: u64,
    /// Attestations to verify afterwards.
    pub(crate) samples: usize,
    /// Highest tier to compute on.
    pub(crate) tier: Tier,
}
