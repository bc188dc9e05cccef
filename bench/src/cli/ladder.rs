//! Arguments of `ladder`.

use std::time::Duration;

use clap::Args;
use trefoil_kernels::Tier;

use super::output::Output;
use super::overhead;
use super::world::SmallWorldArgs;
use crate::Failure;
use crate::Report;
use crate::ladder::{Contention, KeyHolderLoad, Ladder, ladder};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench ladder --workers 96 --seconds 0.25
    trefoil-bench ladder --workers 2 --pipeline-repeats 0 --json
    trefoil-bench ladder --contenders 1,2,4,8,16,32,64,96

The observers with locks and shared counters are exhibits: they exist in this program alone.";

/// Batches that the key-holder decides in turn, each with subjects of its own.
const KEY_HOLDER_BATCHES: usize = 96;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct LadderArgs {
    /// Workers; more workers than processors also measures time slicing [default: one per core]
    #[arg(long, value_parser = super::numbers::workers)]
    workers: Option<usize>,
    /// Length of one run
    #[arg(long, default_value_t = 0.25, value_parser = super::numbers::seconds)]
    seconds: f64,
    /// Rounds of raw, rung, rung, raw, all of which are kept
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeats: u32,
    /// Rounds in the whole pipeline; 0 leaves it out
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    pipeline_repeats: u32,
    /// Length of one run of the pipeline
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = super::numbers::seconds)]
    pipeline_seconds: f64,
    /// Rounds of the key-holder with and without locks; 0 leaves it out
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    key_holder_repeats: u32,
    /// Workers that call the key-holder, one number after another
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,2,96", value_parser = super::numbers::workers)]
    key_holder_workers: Vec<usize>,
    /// Threads that want each lock and each shared counter, one number after another
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,2,4,8,16,32,64,96", value_parser = super::numbers::workers)]
    contenders: Vec<usize>,
    /// Rounds of the contenders; 0 leaves them out
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    contender_repeats: u32,
    #[command(flatten)]
    small: SmallWorldArgs,
    #[command(flatten)]
    pub(super) output: Output,
}

impl LadderArgs {
    pub(super) fn run(&self, tier: Tier) -> Result<Report, Failure> {
        super::output::refuse_debug_build()?;
        let workers = self.workers.unwrap_or_else(super::output::cores);
        let pipeline = match self.pipeline_repeats as usize {
            0 => None,
            repeats => {
                let world = self.small.world();
                let load = overhead::load(&world, workers, self.pipeline_seconds, repeats, tier);
                Some((load, world.population()?))
            }
        };
        let duration = Duration::from_secs_f64(self.seconds);
        let key_holder = (self.key_holder_repeats > 0).then(|| KeyHolderLoad {
            workers: self.key_holder_workers.clone(),
            batches: KEY_HOLDER_BATCHES,
            duration,
            repeats: self.key_holder_repeats as usize,
            tier,
        });
        let contention = (self.contender_repeats > 0).then(|| Contention {
            contenders: self.contenders.clone(),
            duration,
            repeats: self.contender_repeats as usize,
        });
        ladder(&Ladder {
            workers,
            duration,
            repeats: self.repeats as usize,
            seed: self.small.seed,
            pipeline,
            key_holder,
            contention,
        })
    }
}
