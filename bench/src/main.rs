//! The program `trefoil-bench`.

use std::process::ExitCode;

fn main() -> ExitCode {
    trefoil_host::output::while_somebody_reads(trefoil_bench::cli::main)
}
