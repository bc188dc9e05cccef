//! Arguments of `fleet`.

use std::time::Duration;

use clap::Args;

use super::numbers::seconds;
use super::output::Output;
use crate::Failure;
use crate::Report;
use crate::fleet::{Fleet, fleet};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench fleet
    trefoil-bench fleet --in-flight 64,1024 --seconds 10 --rounds 5 --json
    trefoil-bench fleet --processors-per-node 2

Starts two installations from the installed programs of PostgreSQL: a database, a key-holder, and one node or three. Both get the same load in turn.
Every answer must be a match, and every attestation of the sample must verify offline, or the run fails.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct FleetArgs {
    /// Length of a phase
    #[arg(long, default_value_t = 5.0, value_parser = seconds)]
    seconds: f64,
    /// Rounds of all phases
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// People who log in, each with a session
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1024))]
    people: u32,
    /// Logins in flight together, spread over the nodes
    #[arg(long, default_values_t = [64, 256, 1024], value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096))]
    in_flight: Vec<u32>,
    /// Verify one login in this many offline
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    verify_every: u32,
    /// Give each node so many processors of its own, and the rest of the machine to everything else
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    processors_per_node: Option<u32>,
    #[command(flatten)]
    pub(super) output: Output,
}

impl FleetArgs {
    pub(super) fn run(&self) -> Result<Report, Failure> {
        super::output::refuse_debug_build()?;
        fleet(&Fleet {
            phase: Duration::from_secs_f64(self.seconds),
            rounds: self.rounds as usize,
            people: self.people as usize,
            in_flight: self.in_flight.iter().map(|&in_flight| in_flight as usize).collect(),
            verify_every: self.verify_every as usize,
            processors_per_node: self.processors_per_node.map(|each| each as usize),
        })
    }
}
