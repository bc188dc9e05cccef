//! Arguments of `size`.

use std::time::Duration;

use clap::Args;

use super::numbers::seconds;
use super::output::Output;
use crate::Failure;
use crate::Report;
use crate::size::{Size, size};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench size
    trefoil-bench size --subjects 10000 --vault-subjects 1000000 --json

Starts a PostgreSQL server of its own from the installed programs, and a service on it. Every login must be a match. server/SIZING.md says what the
figures mean for an installation.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SizeArgs {
    /// Subjects to enrol while the database counts
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    subjects: u32,
    /// Sessions to open while it counts, each with a proof
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    sessions: u32,
    /// Subjects whose first login after a start is timed
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    cold: u32,
    /// Length of the phase of concurrent logins
    #[arg(long, default_value_t = 5.0, value_parser = seconds)]
    seconds: f64,
    /// Subjects of the vault that shows the memory of a key-holder
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    vault_subjects: u32,
    #[command(flatten)]
    pub(super) output: Output,
}

impl SizeArgs {
    pub(super) fn run(&self) -> Result<Report, Failure> {
        super::output::refuse_debug_build()?;
        size(&Size {
            subjects: self.subjects as usize,
            sessions: self.sessions as usize,
            cold: self.cold as usize,
            load: Duration::from_secs_f64(self.seconds),
            vault_subjects: self.vault_subjects as usize,
        })
    }
}
