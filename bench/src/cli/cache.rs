//! Arguments of `cache`.

use std::time::Duration;

use clap::Args;

use super::output::Output;
use crate::Failure;
use crate::Report;
use crate::cache::{CacheTimes, cache_times};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench cache
    trefoil-bench cache --threads 1,2,96 --repeats 15 --json

Times are processor time of the threads, so that neither other programs nor more threads than cores distort them;
million_per_s is by the wall clock.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CacheArgs {
    /// Numbers of threads, each timed on its own
    #[arg(long, value_name = "N,..", default_value = "1,2,96", value_delimiter = ',', value_parser = super::numbers::workers)]
    threads: Vec<usize>,
    /// Rounds over everything, all of which are kept
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeats: u32,
    /// Milliseconds of one timing
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    millis: u32,
    /// Seed of the requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pub(super) output: Output,
}

impl CacheArgs {
    pub(super) fn run(&self) -> Result<Report, Failure> {
        super::output::refuse_debug_build()?;
        cache_times(&CacheTimes {
            keys: 1_000_000,
            capacity: 100_000,
            threads: self.threads.clone(),
            repeats: self.repeats as usize,
            duration: Duration::from_millis(self.millis.into()),
            seed: self.seed,
        })
    }
}
