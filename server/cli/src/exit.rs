//! The exit of a command that failed.

use std::process::ExitCode;

/// Exit code for a wrong command line; clap uses it too.
pub(super) const USAGE: u8 = 2;

/// Prints the error and returns the exit code.
pub(super) fn fail(message: &dyn std::fmt::Display, code: u8) -> ExitCode {
    eprintln!("trefoil: {message}");
    ExitCode::from(code)
}

/// The text of a cause.
pub(super) fn text(cause: impl std::fmt::Display) -> String {
    cause.to_string()
}
