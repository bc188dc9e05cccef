//! Arguments of `registry`, which the laboratory measures.

use std::time::Duration;

use clap::Args;
use trefoil_lab::registry as lab;

use crate::Report;
use crate::args::{count, workers};

/// All threads read the same entry; one more replaces it a thousand times a second.
#[derive(Debug, Args)]
pub(crate) struct RegistryArgs {
    /// Numbers of threads, each timed on its own
    #[arg(long, value_name = "N,..", default_value = "1,2,96", value_delimiter = ',', value_parser = workers)]
    threads: Vec<usize>,
    /// Rounds over everything, all of which are kept
    #[arg(long, default_value_t = 9, value_parser = count::<1, 1_000>)]
    repeats: usize,
    /// Milliseconds of one run
    #[arg(long, default_value_t = 60, value_parser = count::<1, 10_000>)]
    millis: usize,
}

pub(crate) fn registry(args: &RegistryArgs) -> Report {
    lab::registry(&args.threads, args.repeats, Duration::from_millis(args.millis as u64))
}
