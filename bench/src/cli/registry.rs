//! Arguments of `registry`.

use std::time::Duration;

use clap::Args;

use super::output::Output;
use crate::Failure;
use crate::Report;
use crate::registry::{RegistryTimes, registry};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench registry
    trefoil-bench registry --threads 1,2,96 --repeats 15 --json

All threads read the same entry; one more replaces it a thousand times a second. The record has reads per second and processor time of a read.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RegistryArgs {
    /// Numbers of threads, each timed on its own
    #[arg(long, value_name = "N,..", default_value = "1,2,96", value_delimiter = ',', value_parser = super::numbers::workers)]
    threads: Vec<usize>,
    /// Rounds over everything, all of which are kept
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeats: u32,
    /// Milliseconds of one run
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    millis: u32,
    #[command(flatten)]
    pub(super) output: Output,
}

impl RegistryArgs {
    pub(super) fn run(&self) -> Result<Report, Failure> {
        super::output::refuse_debug_build()?;
        registry(&RegistryTimes {
            threads: self.threads.clone(),
            repeats: self.repeats as usize,
            duration: Duration::from_millis(self.millis.into()),
        })
    }
}
