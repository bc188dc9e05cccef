//! The program `trefoil`; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    trefoil_cli::main()
}
