//! Where a record goes, and what else the commands have in common.

use std::path::PathBuf;

use clap::Args;
use trefoil_pipeline::affinity::{Pin, Placement};

use crate::{Failure, record};

/// Lets a debug build run all the same, for tests of the program itself.
const ANY_BUILD: &str = "TREFOIL_TEST_ANY_BUILD";

#[derive(Debug, Args)]
pub(super) struct Output {
    /// Print the record as JSON instead of a summary
    #[arg(long)]
    pub(super) json: bool,
    /// Also write it to bench/records/NAME.json; NAME may be FOLDER/NAME
    #[arg(long, value_name = "NAME", value_parser = record::check_name)]
    pub(super) record: Option<String>,
    /// Words that name this machine in the record
    #[arg(long, value_name = "TEXT")]
    pub(super) label: Option<String>,
}

/// Workers that fit this machine.
pub(super) fn cores() -> usize {
    Placement::new(None, Pin::Auto).workers()
}

/// A time without optimisation says nothing about the program.
pub(super) fn refuse_debug_build() -> Result<(), Failure> {
    if cfg!(debug_assertions) && std::env::var_os(ANY_BUILD).is_none() {
        return Err(Failure::usage(
            "this is a debug build: its times mean nothing. Use cargo run --release -p trefoil-bench -- ...",
        ));
    }
    Ok(())
}

/// A path below the folder of this crate.
pub(super) fn in_source_tree(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}
