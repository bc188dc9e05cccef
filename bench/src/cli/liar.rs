//! Arguments of `liar`.

use clap::Args;

use super::output::{Output, refuse_debug_build};
use crate::Failure;
use crate::Report;
use crate::liar::{Liar, liar};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench liar --jobs 14000
    trefoil-bench liar --record lying-gateway

A key-holder is started as a process of its own and reached over mutual TLS. Seven strategies lie to it: first under the default
policy, of which one day passes at most, then without its daily limits. It fails if anything is told that the ledger does not allow.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct LiarArgs {
    /// Jobs in all
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(14..=100_000_000))]
    jobs: u32,
    #[command(flatten)]
    pub(super) output: Output,
}

impl LiarArgs {
    pub(super) fn run(&self) -> Result<Report, Failure> {
        refuse_debug_build()?;
        liar(Liar { jobs: self.jobs as usize })
    }
}
