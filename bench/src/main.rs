//! The program `trefoil-bench`.

use std::process::ExitCode;

fn main() -> ExitCode {
    trefoil_bench::cli::main()
}
