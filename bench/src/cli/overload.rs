//! Arguments of `overload`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::numbers::seconds;
use super::output::Output;
use crate::Failure;
use crate::Report;
use crate::apart::{Served, serve};
use crate::overload::{Overload, overload};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench overload
    trefoil-bench overload --seconds 10 --rounds 3 --json

A service with the embedded defaults runs in a process of its own, on half of the processors and slowed down. One tenant first shows what the service can answer, then asks for
2 and 10 times as much; another one logs in 20 times a second all the while. Every answer must be right, or the run fails.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct OverloadArgs {
    /// Length of a phase
    #[arg(long, default_value_t = 5.0, value_parser = seconds)]
    seconds: f64,
    /// Rounds of: quiet, capacity, twice, ten times
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// People of the overloading tenant, each with a session
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1024))]
    people: u32,
    /// Its connections, with a request in flight each
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=4000))]
    in_flight: u32,
    #[command(flatten)]
    pub(super) output: Output,
}

impl OverloadArgs {
    pub(super) fn run(&self) -> Result<Report, Failure> {
        super::output::refuse_debug_build()?;
        overload(Overload {
            phase: Duration::from_secs_f64(self.seconds),
            rounds: self.rounds as usize,
            people: self.people as usize,
            in_flight: self.in_flight as usize,
        })
    }
}

/// The service that the other commands start.
#[derive(Clone, Debug, Args)]
pub(super) struct ServiceArgs {
    /// Its data directory
    #[arg(long)]
    data_dir: PathBuf,
    /// Run at low priority
    #[arg(long)]
    slow: bool,
    /// Run on all processors
    #[arg(long)]
    on_all: bool,
    /// Keep tenants, templates and the log in this PostgreSQL database
    #[arg(long)]
    store: Option<String>,
    /// Be a node of a fleet, with the key-holder at this address
    #[arg(long, requires = "store")]
    key_holder: Option<String>,
}

impl ServiceArgs {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let ServiceArgs { data_dir, slow, on_all, store, key_holder } = self.clone();
        serve(Served { data_dir, is_slow: slow, on_all, store, key_holder })
    }
}
