//! Arguments of `sign`.

use std::time::Duration;

use clap::Args;
use trefoil_kernels::Tier;
use trefoil_sign::Extent;

use super::numbers::seconds;
use super::output::Output;
use crate::Failure;
use crate::Report;
use crate::sign::{Sign, sign};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench sign
    trefoil-bench sign --alone --falcon-salts 1000000 --record falcon-salts
    trefoil-bench sign --alone --timing 20000 --json

Signing alone is processor time of one thread; the sealer under load is wall time from the hand-over of a batch, which
comes on a schedule, to its release.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SignArgs {
    /// Signatures of each kind, all of whose times are kept
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rounds: u32,
    /// Length of the load at each rate
    #[arg(long, default_value_t = 3.0, value_parser = seconds)]
    seconds: f64,
    /// Also make N Falcon signatures and look for a salt that repeats (a million take minutes)
    #[arg(long, value_name = "N", default_value_t = 0)]
    falcon_salts: u32,
    /// Also compare the times of N signatures under one key and under others, by dudect's test
    #[arg(long, value_name = "N", default_value_t = 0)]
    timing: u32,
    /// Time nothing: only what --falcon-salts and --timing ask for
    #[arg(long)]
    alone: bool,
    /// How much of SLH-DSA is computed once: brief, usual (what a service does) or large, which takes most of a minute
    #[arg(long, default_value = "usual", value_parser = extent)]
    extent: Extent,
    #[command(flatten)]
    pub(super) output: Output,
}

impl SignArgs {
    pub(super) fn run(&self, tier: Tier) -> Result<Report, Failure> {
        super::output::refuse_debug_build()?;
        if self.alone && self.falcon_salts == 0 && self.timing == 0 {
            return Err(Failure::usage("--alone leaves nothing to do; add --falcon-salts N or --timing N"));
        }
        sign(Sign {
            times: !self.alone,
            rounds: self.rounds as usize,
            load: Duration::from_secs_f64(self.seconds),
            falcon_salts: self.falcon_salts as usize,
            timing: self.timing as usize,
            extent: self.extent,
            tier,
        })
    }
}

fn extent(name: &str) -> Result<Extent, String> {
    let known = Extent::ALL.into_iter().find(|extent| extent.name() == name);
    known.ok_or_else(|| "use brief, usual or large".to_owned())
}
