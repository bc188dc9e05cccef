//! Arguments of `stages`.

use clap::Args;
use trefoil_kernels::Tier;

use super::modes::Mode;
use super::world::WorldArgs;
use super::{Output, refuse_debug_build};
use crate::failure::Failure;
use crate::match_stages::{MatchStages, match_stages};
use crate::record::Report;
use crate::roles::ProbeMode;
use crate::stages::{Stages, stages};
use crate::wiring::CacheChoice;

#[derive(Debug, Args)]
pub(super) struct StagesArgs {
    /// How probes arrive
    #[arg(long, value_enum, default_value_t = Mode::Plain)]
    mode: Mode,
    /// Timed batches
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    iters: u32,
    /// Batches before them
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    warmup: u32,
    /// Cache to look verdicts up in
    #[arg(long, value_enum, default_value_t = CacheChoice::DEFAULT)]
    cache: CacheChoice,
    #[command(flatten)]
    world: WorldArgs,
    #[command(flatten)]
    pub(super) output: Output,
}

impl StagesArgs {
    pub(super) fn run(&self, tier: Tier) -> Result<Report, Failure> {
        refuse_debug_build()?;
        let mode = self.mode.into();
        let arithmetic = match_stages(MatchStages {
            mode,
            users: self.world.users,
            iterations: self.iters as usize,
            warmup: self.warmup as usize,
            seed: self.world.seed,
            tier,
        })?;
        if mode == ProbeMode::Shared {
            // The benchmark's world has plain probes; the remaining stages do not depend on them.
            return Ok(arithmetic);
        }
        let parameters = Stages {
            users: self.world.users,
            iterations: self.iters as usize,
            warmup: self.warmup as usize,
            seed: self.world.seed,
            cache: self.cache,
            tier,
        };
        Ok(stages(parameters, self.world.population()?)?.with_arithmetic(arithmetic))
    }
}
