//! Arguments of `hit-ratio`.

use std::path::PathBuf;

use clap::Args;

use super::output::Output;
use crate::Failure;
use crate::Report;
use crate::hit_ratio::{CAPACITY_MIN, HitRatio, LOOP, Requests, Table, hit_ratio, table};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench hit-ratio --trace bench/data/traces/web12.u64.zst --capacity 300
    trefoil-bench hit-ratio --trace bench/data/traces/orm_busy.u64.zst --capacity 2500 --json
    trefoil-bench hit-ratio --synthetic loop --capacity 1000
    trefoil-bench hit-ratio --table bench/data/traces

A trace is a zstd file of little-endian u64 keys, one per request. null stands for a cache that this build does not contain.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct HitRatioArgs {
    /// Recorded requests: a zstd file of little-endian u64 keys
    #[arg(long, value_name = "FILE", required_unless_present_any = ["synthetic", "table"], conflicts_with = "synthetic")]
    trace: Option<PathBuf>,
    /// Synthetic requests in place of a trace
    #[arg(long, value_enum)]
    synthetic: Option<Synthetic>,
    /// All of these traces, or all in these folders, and the synthetic requests, at several sizes each
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with_all = ["trace", "synthetic", "capacity"])]
    table: Vec<PathBuf>,
    /// Entries that each cache may hold
    #[arg(long, value_name = "N", value_parser = capacity, required_unless_present = "table")]
    capacity: Option<usize>,
    /// Runs of the caches that place keys at random, all of which are kept
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeats: u32,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Synthetic {
    /// A million keys whose popularity falls with exponent 0.99
    Zipf,
    /// A loop over half as many keys again as there are entries
    Loop,
}

impl HitRatioArgs {
    fn requests(&self) -> Requests {
        match (&self.trace, self.synthetic) {
            (Some(path), _) => Requests::Recorded(path.clone()),
            (None, Some(Synthetic::Loop)) => Requests::Loop(LOOP),
            (None, _) => Requests::Zipf,
        }
    }

    pub(super) fn run(&self) -> Result<Report, Failure> {
        let repeats = self.repeats as usize;
        match self.capacity {
            Some(capacity) => hit_ratio(&HitRatio { requests: self.requests(), capacity, repeats }),
            None => table(&Table { traces: self.table.clone(), repeats }),
        }
    }
}

/// Most entries: a hundred times the largest trace we compare on, and a few gibibytes.
const CAPACITY_MAX: usize = 1 << 24;

fn capacity(text: &str) -> Result<usize, String> {
    let capacity = text.parse().map_err(|_| "not a number".to_owned())?;
    if (CAPACITY_MIN..=CAPACITY_MAX).contains(&capacity) {
        Ok(capacity)
    } else {
        Err(format!("give {CAPACITY_MIN} to {CAPACITY_MAX} entries"))
    }
}
