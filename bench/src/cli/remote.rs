//! Arguments of `remote`.

use std::time::Duration;

use clap::Args;
use trefoil_kernels::Tier;

use super::numbers::{seconds, workers};
use super::output::{Output, cores, refuse_debug_build};
use crate::Failure;
use crate::Report;
use crate::remote::{RemoteRole, remote};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench remote
    trefoil-bench remote --seconds 5 --json

Key-holders are started as processes of their own and reached over mutual TLS on the loopback.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RemoteArgs {
    /// Timed rounds; in each, every key-holder decides two batches
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    iters: u32,
    /// Rounds before them
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    warmup: u32,
    /// Threads that call at the same time when throughput is measured [default: one per core]
    #[arg(long, value_parser = workers)]
    workers: Option<usize>,
    /// Length of one measurement of throughput
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,
    /// Measurements of throughput of each key-holder
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: u32,
    #[command(flatten)]
    pub(super) output: Output,
}

impl RemoteArgs {
    pub(super) fn run(&self, tier: Tier) -> Result<Report, Failure> {
        refuse_debug_build()?;
        remote(RemoteRole {
            iterations: self.iters as usize,
            warmup: self.warmup as usize,
            workers: self.workers.unwrap_or_else(|| cores().min(16)),
            phase: Duration::from_secs_f64(self.seconds),
            repeats: self.repeats as usize,
            tier,
        })
    }
}
