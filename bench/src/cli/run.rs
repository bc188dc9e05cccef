//! Arguments of `run`.

use clap::{Args, ValueEnum};
use trefoil_kernels::Tier;
use trefoil_pipeline::Cadence;

use super::numbers::{seconds, workers};
use super::world::WorldArgs;
use super::{Output, cores, refuse_debug_build};
use crate::failure::Failure;
use crate::record::Report;
use crate::run::{Run, run};
use crate::sweep::{Sweep, sweep};
use crate::wiring::CacheChoice;

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// Pinned workers; more than cores is allowed and warned of [default: one per core]
    #[arg(long, value_parser = workers)]
    workers: Option<usize>,
    /// Length of a window
    #[arg(long, default_value_t = 5.0, value_parser = seconds)]
    seconds: f64,
    /// Windows, all of which are kept
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeats: u32,
    /// Seconds before the first window
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    warmup: f64,
    /// Batches per seal
    #[arg(long, value_enum, default_value_t = CadenceName::Group)]
    cadence: CadenceName,
    /// Cache to look verdicts up in
    #[arg(long, value_enum, default_value_t = CacheChoice::DEFAULT)]
    cache: CacheChoice,
    /// Distinct batches that workers go round
    #[arg(long, default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    batches: u32,
    /// Sweep: verify each session's proof again once per so many requests, then all cached; one result for each
    #[arg(long, value_name = "R,...", num_args = 0..=1, value_delimiter = ',',
          default_missing_values = ["1", "10", "100", "420", "1000"],
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    requests_per_proof: Option<Vec<u32>>,
    /// Attestations to verify after the run
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    verify: u32,
    #[command(flatten)]
    world: WorldArgs,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CadenceName {
    /// One seal over every batch that waits
    Group,
    /// One seal per batch
    PerBatch,
}

impl RunArgs {
    pub(super) fn run(&self, tier: Tier) -> Result<Report, Failure> {
        refuse_debug_build()?;
        let parameters = Run {
            workers: self.workers.unwrap_or_else(cores),
            seconds: self.seconds,
            warmup_s: self.warmup,
            repeats: self.repeats as usize,
            cadence: match self.cadence {
                CadenceName::Group => Cadence::Group,
                CadenceName::PerBatch => Cadence::PerBatch,
            },
            cache: self.cache,
            users: self.world.users,
            batches: self.batches as usize,
            seed: self.world.seed,
            samples: self.verify as usize,
            tier,
        };
        let population = self.world.population()?;
        match self.requests_per_proof.clone() {
            None => run(parameters, population),
            Some(requests_per_proof) => sweep(Sweep { run: parameters, requests_per_proof }, population),
        }
    }
}
