//! Arguments of `stages`.

use clap::Args;
use trefoil_kernels::{Cpu, Tier};

use super::output::{Output, refuse_debug_build};
use super::world::WorldArgs;
use crate::Failure;
use crate::Report;
use crate::limits::{self, Possible};
use crate::match_stages::{MatchStages, match_stages};
use crate::stages::{Stages, stages};
use crate::wiring::CacheChoice;

#[derive(Debug, Args)]
pub(super) struct StagesArgs {
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
        let arithmetic = match_stages(MatchStages {
            users: self.world.users,
            iterations: self.iters as usize,
            warmup: self.warmup as usize,
            seed: self.world.seed,
            tier,
        })?;
        let parameters = Stages {
            users: self.world.users,
            iterations: self.iters as usize,
            warmup: self.warmup as usize,
            seed: self.world.seed,
            cache: self.cache,
            tier,
        };
        let gb_per_s = arithmetic.result["sequential_read_gb_per_s"].as_f64().unwrap_or(f64::NAN);
        let mut report = stages(parameters, self.world.population()?)?.with_arithmetic(arithmetic);
        let possible = Possible::here(Cpu::at_most(tier), gb_per_s);
        let limits = limits::limits(&report.result["stages_us"], &possible, tier);
        report.result["limits"] = limits::json(&limits, &possible);
        report.summary += &limits::text(&limits);
        Ok(report)
    }
}
