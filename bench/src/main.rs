//! The program `trefoil-bench`.

use std::process::ExitCode;

fn main() -> ExitCode {
    trefoil_server::cli::end_with_the_reader();
    trefoil_bench::cli::main()
}
