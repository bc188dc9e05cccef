//! How a command ends that did not succeed.

use std::process::ExitCode;

/// Exit code for what the caller typed; clap uses it too.
pub(super) const USAGE: u8 = 2;

/// Prints what went wrong and gives the exit code.
pub(super) fn fail(message: &dyn std::fmt::Display, code: u8) -> ExitCode {
    eprintln!("trefoil: {message}");
    ExitCode::from(code)
}

/// What a cause says.
pub(super) fn text(cause: impl std::fmt::Display) -> String {
    cause.to_string()
}
