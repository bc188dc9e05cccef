//! Arguments of `compare`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::numbers::{level, percent};
use super::output::{Output, in_source_tree};
use crate::Failure;
use crate::Report;
use crate::attribution::Bar;
use crate::compare::{Compare, compare};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench compare 2026-11-23-epyc-2vcpu 2026-12-01-epyc-2vcpu
    trefoil-bench compare before/run-engine.json after/run-engine.json

Records made minutes or days apart also differ by what else the machine did. To compare two builds closely, run them in turn:
trefoil-bench against.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CompareArgs {
    /// A record of `run` or `stages`, or a folder of records; also below bench/records
    a: PathBuf,
    /// The one to be compared with it
    b: PathBuf,
    #[command(flatten)]
    bar: BarArgs,
    #[command(flatten)]
    pub(super) output: Output,
}

/// What counts as a difference.
#[derive(Debug, Args)]
pub(super) struct BarArgs {
    /// How sure all intervals together must be, per cent
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = level)]
    confidence: f64,
    /// The least difference of interest, per cent of the time for one authentication
    #[arg(long, value_name = "PERCENT", default_value = "2", value_parser = percent)]
    least: f64,
}

impl BarArgs {
    pub(super) fn bar(&self) -> Bar {
        Bar { level: self.confidence / 100.0, least: self.least / 100.0 }
    }
}

impl CompareArgs {
    pub(super) fn run(&self) -> Result<Report, Failure> {
        let [a, b] = [&self.a, &self.b].map(|path| found(path));
        compare(&Compare { a, b, bar: self.bar.bar() })
    }
}

/// The path as it is, or below the records of the source tree.
fn found(path: &Path) -> PathBuf {
    let among_records = in_source_tree("records").join(path);
    if !path.exists() && among_records.exists() { among_records } else { path.to_owned() }
}
