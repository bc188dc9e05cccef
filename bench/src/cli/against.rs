//! Arguments of `against`.

use std::path::PathBuf;

use clap::Args;

use super::{Output, refuse_debug_build};
use crate::against::{Against, against};
use crate::failure::Failure;
use crate::record::Report;

const EXAMPLES: &str = "\
Examples:
    trefoil-bench against --other ../before/target/release/trefoil-bench -- stages --iters 200
    trefoil-bench against --other /tmp/before --other-is 'revision e61ece0' --rounds 10 -- remote

Both programs run the command after `--` in turn (other, this, this, other), and every median and rate that both print is compared.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct AgainstArgs {
    /// Program of the other build
    #[arg(long, value_name = "PROGRAM")]
    other: PathBuf,
    /// What the other build is, for the record
    #[arg(long, value_name = "TEXT", default_value = "the other build")]
    other_is: String,
    /// Rounds of four runs
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(2..=1000))]
    rounds: u32,
    #[command(flatten)]
    pub(super) output: Output,
    /// A command of trefoil-bench, with its arguments
    #[arg(last = true, required = true)]
    arguments: Vec<String>,
}

impl AgainstArgs {
    pub(super) fn run(&self) -> Result<Report, Failure> {
        refuse_debug_build()?;
        against(&Against {
            other: self.other.clone(),
            other_is: self.other_is.clone(),
            rounds: self.rounds as usize,
            arguments: self.arguments.clone(),
        })
    }
}
