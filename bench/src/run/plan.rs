//! What to run, for how long, and how sessions behave meanwhile.

use std::sync::Arc;

use trefoil_matching::Tier;
use trefoil_pipeline::Cadence;

use crate::faces::FaceSource;
use crate::sessions::Rows;
use crate::warmup::Warmup;
use crate::wiring::CacheChoice;
use crate::workload::Popularity;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Pinned workers.
    pub workers: usize,
    /// Length of a window, seconds.
    pub seconds: f64,
    /// Time before the first window, seconds.
    pub warmup_s: f64,
    /// Windows.
    pub repeats: usize,
    /// Batches per seal.
    pub cadence: Cadence,
    /// The cache that verdicts are looked up in.
    pub cache: CacheChoice,
    /// Enrolled templates; a multiple of 32.
    pub users: usize,
    /// What people look like.
    pub faces: FaceSource,
    /// Distribution of requests over people.
    pub popularity: Popularity,
    /// Distinct batches that the workers cycle through.
    pub batches: usize,
    /// Fixes users, probes and impostors.
    pub seed: u64,
    /// Attestations to verify afterwards.
    pub samples: usize,
    /// Highest tier to compute on.
    pub tier: Tier,
}

/// How long to load.
pub(crate) struct Plan {
    pub(crate) warmup: Warmup,
    /// Lengths of the windows, seconds.
    pub(crate) windows: Vec<f64>,
}

/// How sessions behave.
#[derive(Clone)]
pub(crate) enum Proofs {
    /// All verdicts are cached and stay so.
    Cached,
    /// Sessions end, and verdicts are evicted.
    Ending(Arc<Rows>),
}
