//! Arguments of `simulate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::numbers::Spread;
use super::output::Output;
use crate::Failure;
use crate::Report;
use crate::simulate::{Simulate, simulate};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench simulate
    trefoil-bench simulate --workers 1..192 --svg bench/records --json
    trefoil-bench simulate --workers 1,16,96 --think-us 56.2

Everything about machines other than this one is a model's output and says so. Without an undisturbed calibration, or
where the model misses the ladder of this machine, nothing is said about others.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SimulateArgs {
    /// Numbers of workers to predict; A..B stands for A, B and the powers of two and half ways between
    #[arg(long, value_name = "N,A..B", default_value = "1..192", value_parser = super::numbers::spread)]
    workers: Spread,
    /// Microseconds of other work per look-up in the pipeline's curves; 56.2 is what the published raw map had
    #[arg(long, default_value_t = 56.2)]
    think_us: f64,
    /// Places in memory at which everything is measured, because lines differ
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    instances: u32,
    /// Runs tried for each measured value at each place until enough were undisturbed
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    tries: u32,
    /// Milliseconds of one run
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    millis: u32,
    /// Fixes the model's course
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Draw the curves into files of this folder, if they may be shown
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    pub(super) output: Output,
}

impl SimulateArgs {
    pub(super) fn run(&self) -> Result<Report, Failure> {
        super::output::refuse_debug_build()?;
        if !(0.0..=1e6).contains(&self.think_us) {
            return Err(Failure::usage("give --think-us 0 to 1000000"));
        }
        simulate(&Simulate {
            workers: self.workers.0.clone(),
            think_ns: 1e3 * self.think_us,
            instances: self.instances as usize,
            tries: self.tries as usize,
            duration: Duration::from_millis(self.millis.into()),
            seed: self.seed,
            svg: self.svg.clone(),
        })
    }
}
