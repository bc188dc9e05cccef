//! `trefoil-bench peers`.

use clap::Args;
use trefoil_kernels::Tier;

use super::output::{Output, refuse_debug_build};
use crate::Failure;
use crate::Report;
use crate::fhe_peers::{FhePeers, fhe_peers};

#[derive(Debug, Args)]
pub(super) struct PeersArgs {
    /// Rounds: one batch of each per round
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    iters: u32,
    /// Templates of ours, 48 KiB each, of which every batch sums 32; a multiple of 32
    #[arg(long, default_value_t = 4_096, value_parser = super::numbers::multiple_of_32)]
    users: usize,
    /// Fixes users and probes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pub(super) output: Output,
}

impl PeersArgs {
    pub(super) fn run(&self, tier: Tier) -> Result<Report, Failure> {
        refuse_debug_build()?;
        fhe_peers(&FhePeers { iterations: self.iters as usize, users: self.users, seed: self.seed, tier })
    }
}
