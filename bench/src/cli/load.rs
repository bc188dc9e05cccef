//! Arguments of `load`.

use std::time::Duration;

use clap::Args;
use trefoil_api::BATCH_MAX;

use super::numbers::seconds;
use super::output::Output;
use crate::Failure;
use crate::Report;
use crate::load::{Load, load};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench load
    trefoil-bench load --connections 1,16,64,256,1024 --seconds 10 --rounds 5 --json
    trefoil-bench load --batch 32 --connections 8,16,32

A service with the embedded defaults runs in a process of its own and shares all processors with the generator. Logins go over TLS and
HTTP/1.1, one in flight on each connection. Then half of the best rate arrives at random times, and a login counts from the time at which
it was to begin. Every answer must be a match, and every attestation of the sample must verify offline, or the run fails.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct LoadArgs {
    /// Length of a phase
    #[arg(long, default_value_t = 5.0, value_parser = seconds)]
    seconds: f64,
    /// Rounds of all phases
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// People who log in, each with a session
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1024))]
    people: u32,
    /// Connections of the closed loops
    #[arg(long, default_values_t = [1, 8, 64, 256], value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024))]
    connections: Vec<u32>,
    /// Logins of a request; times are then those of requests
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=BATCH_MAX as i64))]
    batch: u32,
    /// One login in so many is verified offline
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    verify_every: u32,
    /// Seed of the arrivals at random times
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pub(super) output: Output,
}

impl LoadArgs {
    pub(super) fn run(&self) -> Result<Report, Failure> {
        super::output::refuse_debug_build()?;
        load(&Load {
            phase: Duration::from_secs_f64(self.seconds),
            rounds: self.rounds as usize,
            people: self.people as usize,
            connections: self.connections.iter().map(|&connections| connections as usize).collect(),
            batch: self.batch as usize,
            verify_every: self.verify_every as usize,
            seed: self.seed,
        })
    }
}
