//! Arguments of `overhead`, and of the pipeline's part of `ladder`.

use clap::Args;
use trefoil_kernels::Tier;

use super::output::Output;
use super::world::WorldArgs;
use crate::Failure;
use crate::Report;
use crate::in_pipeline::PipelineLoad;
use crate::overhead::overhead;

const EXAMPLES: &str = "\
Examples:
    trefoil-bench overhead --seconds 1 --repeats 20
    trefoil-bench overhead --workers 1 --json

The interval is what a single comparison of two runs does not tell: on a machine that others use, differences of
several per cent between two runs mean nothing.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct OverheadArgs {
    /// Pinned workers [default: one per core]
    #[arg(long, value_parser = super::numbers::workers)]
    workers: Option<usize>,
    /// Length of one run
    #[arg(long, default_value_t = 1.0, value_parser = super::numbers::seconds)]
    seconds: f64,
    /// Rounds of raw, engine, engine, raw, all of which are kept
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeats: u32,
    #[command(flatten)]
    world: WorldArgs,
    #[command(flatten)]
    pub(super) output: Output,
}

/// The load on a pipeline over `world`.
pub(super) fn load(
    world: &WorldArgs,
    workers: usize,
    seconds: f64,
    repeats: usize,
    tier: Tier,
) -> PipelineLoad {
    PipelineLoad {
        workers,
        seconds,
        warmup_s: seconds / 5.0,
        repeats,
        users: world.users,
        batches: 256,
        seed: world.seed,
        samples: 16,
        tier,
    }
}

impl OverheadArgs {
    pub(super) fn run(&self, tier: Tier) -> Result<Report, Failure> {
        super::output::refuse_debug_build()?;
        let workers = self.workers.unwrap_or_else(super::output::cores);
        let load = load(&self.world, workers, self.seconds, self.repeats as usize, tier);
        overhead(load, self.world.population()?)
    }
}
