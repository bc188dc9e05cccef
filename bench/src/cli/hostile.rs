//! Arguments of `hostile`.

use std::time::Duration;

use clap::Args;

use super::numbers::seconds;
use super::output::Output;
use crate::Failure;
use crate::Report;
use crate::hostile::{Hostile, hostile};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench hostile
    trefoil-bench hostile --seconds 10 --rounds 5 --json

A service with the embedded defaults runs in a process of its own, on half of the processors. A tenant logs in 20 times a second, with and without
each attack in turn: idle connections before and after TLS, HTTP/2 with window zero, HTTP/1.1 that never reads, requests that are always refused.
Then the service gets SIGTERM under the attack. Every answer must be right and every exit code 0, or the run fails.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct HostileArgs {
    /// Length of a phase
    #[arg(long, default_value_t = 4.0, value_parser = seconds)]
    seconds: f64,
    /// Rounds, for each attack, of a phase without and one with it
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Connections of the attacks that only hold them
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(8..=65536))]
    connections: u32,
    #[command(flatten)]
    pub(super) output: Output,
}

impl HostileArgs {
    pub(super) fn run(&self) -> Result<Report, Failure> {
        super::output::refuse_debug_build()?;
        hostile(Hostile {
            phase: Duration::from_secs_f64(self.seconds),
            rounds: self.rounds as usize,
            connections: self.connections as usize,
        })
    }
}
