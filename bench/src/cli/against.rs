//! Arguments of `against`.

use std::path::PathBuf;

use clap::Args;

use super::output::{Output, refuse_debug_build};
use crate::Failure;
use crate::Report;
use crate::against::{Against, against};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench against --other ../before/target/release/trefoil-bench -- stages --iters 200
    trefoil-bench against --other /tmp/before --other-is 'revision e61ece0' --rounds 10 -- remote
  What does the cache change, and where?
    trefoil-bench against --other-is 'the raw map' --other-arguments '--cache dashmap' -- run --seconds 2

Both run the command after `--` in turn (other, this, this, other). Every median and rate that both print is compared.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct AgainstArgs {
    /// Program of the other build [default: this one]
    #[arg(long, value_name = "PROGRAM", required_unless_present = "other_arguments")]
    other: Option<PathBuf>,
    /// Arguments of the other program after the command
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true)]
    other_arguments: Option<String>,
    /// Description of the other build, for the record
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
            other_arguments: words(self.other_arguments.as_deref()),
        })
    }
}

fn words(text: Option<&str>) -> Vec<String> {
    text.into_iter().flat_map(str::split_whitespace).map(str::to_owned).collect()
}
