//! Arguments of `day`.

use std::path::PathBuf;

use clap::Args;

use super::output::Output;
use crate::Failure;
use crate::Report;
use crate::day::{Day, day};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench day --folder /dev/shm
    trefoil-bench day --seconds 600 --full-s 60

The store, its pruning, the audit and the proofs are the service's; the clock is virtual. It fails if the audit of the whole day or a
proof of any seal fails.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DayArgs {
    /// Length, seconds of the virtual clock
    #[arg(long, default_value_t = 86_400, value_parser = clap::value_parser!(u64).range(60..=604_800))]
    seconds: u64,
    /// Logins per second on average
    #[arg(long, default_value_t = 80, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    logins_per_s: u32,
    /// Pruned seals to verify offline
    #[arg(long, default_value_t = 1000)]
    checked: u64,
    /// Seconds for which seals stay whole [default: the service's]
    #[arg(long)]
    full_s: Option<u64>,
    /// Where the store is made; memory is faster than a disk, and bytes are bytes
    #[arg(long, default_value = ".")]
    folder: PathBuf,
    /// For arrivals
    #[arg(long, default_value_t = 5)]
    seed: u64,
    #[command(flatten)]
    pub(super) output: Output,
}

impl DayArgs {
    pub(super) fn run(&self) -> Result<Report, Failure> {
        day(&Day {
            seconds: self.seconds,
            logins_per_s: self.logins_per_s,
            checked: self.checked,
            folder: self.folder.clone(),
            seed: self.seed,
            full_s: self.full_s,
        })
    }
}
