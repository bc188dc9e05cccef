//! Arguments of `ladder`.

use std::time::Duration;

use clap::Args;

use super::Output;
use crate::failure::Failure;
use crate::ladder::{Ladder, ladder};
use crate::record::Report;

const EXAMPLES: &str = "\
Examples:
    trefoil-bench ladder --workers 96 --seconds 0.25
    trefoil-bench ladder --workers 2 --parts --json

The observers with locks and shared counters are exhibits: they exist in this program alone.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct LadderArgs {
    /// Workers; more than processors measures time slicing too [default: one per core]
    #[arg(long, value_parser = super::numbers::workers)]
    workers: Option<usize>,
    /// Length of one run
    #[arg(long, default_value_t = 0.25, value_parser = super::numbers::seconds)]
    seconds: f64,
    /// Rounds of raw, rung, rung, raw, all of which are kept
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeats: u32,
    /// Measure each part alone as well
    #[arg(long)]
    parts: bool,
    /// Fixes the requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pub(super) output: Output,
}

impl LadderArgs {
    pub(super) fn run(&self) -> Result<Report, Failure> {
        super::refuse_debug_build()?;
        ladder(&Ladder {
            workers: self.workers.unwrap_or_else(super::cores),
            duration: Duration::from_secs_f64(self.seconds),
            repeats: self.repeats as usize,
            parts: self.parts,
            seed: self.seed,
        })
    }
}
