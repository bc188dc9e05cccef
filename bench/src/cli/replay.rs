//! Arguments of `replay`.

use std::path::PathBuf;

use clap::Args;

use super::output::Output;
use crate::Failure;
use crate::Report;
use crate::replay::{Replay, replay};

const EXAMPLES: &str = "\
Examples:
    trefoil serve --data-dir trefoil-data --capture monday.capture
    trefoil-bench replay monday.capture
    trefoil-bench replay monday.capture --speed 1,2,4,8

A service with the embedded defaults runs in a process of its own and shares all processors with the generator. Logins, batches and public
reads begin at the captured distances, divided by the speed, and count from the time at which they were to begin. Logins of a
stream are sent as single ones, at the captured distances too. What needs a proof or changes something else is left out and counted. What was
answered with 200 must be again, or the run fails.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ReplayArgs {
    /// The file that `trefoil serve --capture` wrote
    file: PathBuf,
    /// Speed-up; one replay for each
    #[arg(long, value_name = "X,...", default_values_t = [1.0], value_delimiter = ',', value_parser = speed)]
    speed: Vec<f64>,
    /// Most people to make, each with a session; subjects beyond share them
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1024))]
    people: u32,
    /// Connections, with a request in flight each
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1024))]
    connections: u32,
    /// Capture the replay as well, to compare the shapes
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,
    #[command(flatten)]
    pub(super) output: Output,
}

impl ReplayArgs {
    pub(super) fn run(&self) -> Result<Report, Failure> {
        super::output::refuse_debug_build()?;
        replay(&Replay {
            file: self.file.clone(),
            speeds: self.speed.clone(),
            people: self.people as usize,
            connections: self.connections as usize,
            capture: self.capture.clone(),
        })
    }
}

fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.01..=1000.0).contains(&speed) { Ok(speed) } else { Err("give 0.01 to 1000".to_owned()) }
}
