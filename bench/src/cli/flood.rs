//! Arguments of `flood`.

use std::time::Duration;

use clap::Args;

use super::numbers::seconds;
use super::output::Output;
use crate::Failure;
use crate::Report;
use crate::flood::{Flood, flood};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench flood
    trefoil-bench flood --uploads 256 --rounds 8 --json

A service with the embedded defaults runs in this process; logins and invalid proofs reach it over TLS on the loopback.
Quiet and flooded phases alternate. Every honest login must match, or the run fails.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct FloodArgs {
    /// Length of a phase
    #[arg(long, default_value_t = 3.0, value_parser = seconds)]
    seconds: f64,
    /// Quiet phases, and as many flooded ones
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Invalid uploads in flight
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    uploads: u32,
    /// Honest logins in flight, each of a person of its own
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
    logins: u32,
    #[command(flatten)]
    pub(super) output: Output,
}

impl FloodArgs {
    pub(super) fn run(&self) -> Result<Report, Failure> {
        super::output::refuse_debug_build()?;
        flood(Flood {
            phase: Duration::from_secs_f64(self.seconds),
            rounds: self.rounds as usize,
            uploads: self.uploads as usize,
            logins: self.logins as usize,
        })
    }
}
