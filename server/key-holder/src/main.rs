//! The program `trefoil-key-holder`: `trefoil key-holder` without the rest of `trefoil`.

use clap::Parser;
use std::process::ExitCode;
use trefoil_host::arguments::hidden;

#[derive(Parser)]
#[command(name = "trefoil-key-holder", version)]
struct Cli {
    #[command(flatten)]
    arguments: trefoil_key_holder::cli::KeyHolderArgs,
}

fn main() -> ExitCode {
    trefoil_host::output::while_somebody_reads(|| {
        Cli::try_parse().unwrap_or_else(|cause| hidden(cause).exit()).arguments.run()
    })
}
