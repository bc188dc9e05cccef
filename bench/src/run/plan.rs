//! What to run, for how long, and what becomes of sessions meanwhile.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

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
    /// Who asks how often.
    pub popularity: Popularity,
    /// Distinct batches that the workers go round.
    pub batches: usize,
    /// Fixes users, probes and impostors.
    pub seed: u64,
    /// Attestations to verify afterwards.
    pub samples: usize,
    /// How much slower each seal is made, to see whether a comparison finds it.
    pub slow_seals: Duration,
    /// Highest tier to compute on.
    pub tier: Tier,
}

/// How long to load.
pub(crate) struct Plan {
    pub(crate) warmup: Warmup,
    /// Lengths of the windows, seconds.
    pub(crate) windows: Vec<f64>,
    /// Where to draw what samples after the last window show.
    pub(crate) flame_graph: Option<PathBuf>,
    /// Authentications a second that arrive by themselves; none where workers take the next batch as soon as they are free.
    pub(crate) wanted_per_s: Option<f64>,
}

impl Plan {
    /// All of it, about.
    pub(super) fn seconds(&self) -> f64 {
        let warmup = match self.warmup {
            Warmup::Seconds(seconds) => seconds,
            Warmup::UntilFlat(rule) => rule.span_s * rule.spans_max as f64,
        };
        warmup + self.windows.iter().sum::<f64>()
    }
}

impl Default for Plan {
    fn default() -> Self {
        Plan { warmup: Warmup::Seconds(0.0), windows: Vec::new(), flame_graph: None, wanted_per_s: None }
    }
}

/// What becomes of sessions.
#[derive(Clone)]
pub(crate) enum Proofs {
    /// All verdicts are cached and stay so.
    Cached,
    /// A session's proof is verified again at every so manieth of its requests.
    Every(u32),
    /// Sessions end, and verdicts are evicted.
    Ending(Arc<Rows>),
}
