//! Arguments of `exact`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use trefoil_dataset::Protocol;
use trefoil_kernels::Tier;

use super::modes::Mode;
use super::numbers::workers;
use super::output::{Output, cores, in_source_tree};
use crate::Failure;
use crate::Report;
use crate::exact::{Exact, Source, exact};

#[derive(Debug, Args)]
#[command(after_help = "Without a reference for the set the scores are compared with plain arithmetic only.")]
pub(super) struct ExactArgs {
    /// Set to compare: a folder in --data with x.npy and y.npy, such as lfw_facenet128
    #[arg(long, value_name = "NAME", required_unless_present = "x", conflicts_with_all = ["x", "y"])]
    set: Option<String>,
    /// Embeddings: a .npy file of float32 rows of 128
    #[arg(long, value_name = "FILE", requires = "y")]
    x: Option<PathBuf>,
    /// People: a .npy file with one integer per row
    #[arg(long, value_name = "FILE", requires = "x")]
    y: Option<PathBuf>,
    /// How rows become templates and probes
    #[arg(long, value_enum, default_value_t = ProtocolName::Enrol1)]
    protocol: ProtocolName,
    /// How probes arrive
    #[arg(long, value_enum, default_value_t = Mode::Plain)]
    mode: Mode,
    /// Folder of the sets [default: bench/data of the source tree]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Threads [default: one per core]
    #[arg(long, value_parser = workers)]
    workers: Option<usize>,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProtocolName {
    /// A person's first row is the template
    Enrol1,
    /// The template is the mean of a person's first three rows
    Enrol3,
}

impl ExactArgs {
    pub(super) fn run(&self, tier: Tier) -> Result<Report, Failure> {
        let source = match (&self.set, &self.x, &self.y) {
            (None, Some(x), Some(y)) => Source::Files { x: x.clone(), y: y.clone() },
            (Some(name), None, None) => Source::Set {
                data: self.data.clone().unwrap_or_else(|| in_source_tree("data")),
                name: name.clone(),
            },
            _ => return Err(Failure::usage("give either --set, or both --x and --y")),
        };
        exact(&Exact {
            mode: self.mode.into(),
            source,
            protocol: match self.protocol {
                ProtocolName::Enrol1 => Protocol::Enrol1,
                ProtocolName::Enrol3 => Protocol::Enrol3,
            },
            workers: self.workers.unwrap_or_else(cores),
            tier,
        })
    }
}
