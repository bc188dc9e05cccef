//! Arguments of `history`.

use std::fs;
use std::path::PathBuf;

use clap::Args;

use super::output::in_source_tree;
use crate::Failure;
use crate::chart;
use crate::history::History;

const EXAMPLES: &str = "\
Examples:
    trefoil-bench history
    trefoil-bench history run-engine run-dashmap --svg /tmp
    trefoil-bench history stages --figure /stages_us/match

Reads bench/records/DATE-MACHINE. Each kind of machine has a table of its own, and with --svg a plot, FOLDER/history-MACHINE.svg.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct HistoryArgs {
    /// Names of records [default: all that have the figure]
    names: Vec<String>,
    /// Where in a record the number is
    #[arg(long, value_name = "POINTER", default_value = "/auth_per_s", value_parser = pointer)]
    figure: String,
    /// Draw plots into this folder
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
}

impl HistoryArgs {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let all = History::all(&in_source_tree("records"), &self.figure, &self.names)?;
        if all.is_empty() {
            return Err(Failure::usage(format!("no record has a number at {}", self.figure)));
        }
        if let Some(folder) = &self.svg {
            fs::create_dir_all(folder).map_err(Failure::in_step(folder.display()))?;
        }
        for history in &all {
            println!("{}\n\n{}", history.machine, history.table());
            if let Some(folder) = &self.svg {
                chart::write(&folder.join(format!("history-{}.svg", history.machine)), &history.svg())?;
            }
        }
        Ok(())
    }
}

fn pointer(text: &str) -> Result<String, String> {
    if text.starts_with('/') { Ok(text.to_owned()) } else { Err("a JSON pointer begins with /".to_owned()) }
}
