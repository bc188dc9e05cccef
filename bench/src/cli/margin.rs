//! Arguments of `margin`.

use clap::Args;
use trefoil_kernels::Tier;

use super::output::Output;
use crate::Failure;
use crate::Report;
use crate::margin::{Margin, margin};

#[derive(Debug, Args)]
pub(super) struct MarginArgs {
    /// Lanes with probes in the clear, for each key structure
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    lanes: u32,
    /// Lanes with shared probes
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    shared_lanes: u32,
    /// Fixes keys and probes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pub(super) output: Output,
}

impl MarginArgs {
    pub(super) fn run(&self, tier: Tier) -> Result<Report, Failure> {
        let (lanes, shared_lanes) = (self.lanes as usize, self.shared_lanes as usize);
        margin(&Margin { lanes, shared_lanes, seed: self.seed, tier })
    }
}
