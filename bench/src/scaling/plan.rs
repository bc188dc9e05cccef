//! What to measure and to draw.

use std::time::Duration;

use trefoil_kernels::Tier;
use trefoil_pipeline::Cadence;

use crate::faces::FaceSource;
use crate::run::Run;
use crate::wiring::CacheChoice;
use crate::workload::Popularity;

/// What to measure and to draw.
#[derive(Clone, Debug)]
pub struct Scaling {
    /// Numbers of workers to measure.
    pub workers: Vec<usize>,
    /// Over which caches.
    pub caches: Vec<CacheChoice>,
    /// Rounds over costs and points, all of which are kept.
    pub rounds: usize,
    /// Length of a window; a third of it goes before.
    pub seconds: f64,
    /// Length of one measurement of a batch's cost.
    pub cost_seconds: f64,
    /// Numbers of workers to draw, each with a core of its own.
    pub drawn: Vec<usize>,
    /// Memory bandwidth of the machine that is drawn, GB/s.
    pub memory_gb_per_s: f64,
    /// Price of this machine for an hour, in any currency.
    pub price_per_hour: Option<f64>,
    /// Enrolled templates.
    pub users: usize,
    /// Distinct batches that workers cycle through.
    pub batches: usize,
    /// Bytes that each thread reads to measure memory.
    pub memory_bytes: usize,
    /// Seed of workload and model.
    pub seed: u64,
    /// Highest tier to compute on.
    pub tier: Tier,
}

pub(super) const CADENCES: [Cadence; 2] = [Cadence::Group, Cadence::PerBatch];

impl Scaling {
    pub(super) fn run(&self, workers: usize, cadence: Cadence) -> Run {
        Run {
            workers,
            seconds: self.seconds,
            warmup_s: self.seconds / 3.0,
            repeats: 1,
            cadence,
            cache: CacheChoice::DEFAULT,
            users: self.users,
            faces: FaceSource::Bundled,
            popularity: Popularity::Zipf,
            batches: self.batches,
            seed: self.seed,
            samples: 16,
            slow_seals: Duration::ZERO,
            tier: self.tier,
        }
    }
}
