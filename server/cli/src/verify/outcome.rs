//! The outcome of a check, and its output.

use serde_json::Value;
use std::io::IsTerminal as _;
use std::path::Path;
use trefoil_attest::{DecodeError, PrunedSeal, Seal, VerifyError};

/// The contents of the file of `--seal`.
#[expect(clippy::large_enum_variant, reason = "there is one")]
pub(super) enum Given {
    Whole(Seal),
    Pruned(PrunedSeal),
}

impl Given {
    pub(super) fn decode(bytes: &[u8]) -> Result<Given, DecodeError> {
        match PrunedSeal::decode(bytes) {
            Ok(pruned) => Ok(Given::Pruned(pruned)),
            Err(_) => Seal::decode(bytes).map(Given::Whole),
        }
    }
}

/// The outcome.
pub(super) enum Outcome {
    Valid { text: String, json: Value },
    Invalid(String),
    Undecided(String),
}

pub(super) fn refused(cause: &VerifyError) -> Outcome {
    match cause {
        VerifyError::SealNeeded(_) | VerifyError::UnknownSuite(_) => {
            Outcome::Undecided(format!("{cause} (with --seal)"))
        }
        VerifyError::Decision(_) => {
            Outcome::Invalid(format!("{cause} (--any-decision accepts attested denials)"))
        }
        VerifyError::NoProof => {
            Outcome::Invalid(format!("{cause} (--accept-no-proof accepts statements without one)"))
        }
        _ => Outcome::Invalid(cause.to_string()),
    }
}

pub(crate) fn read(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    let unreadable =
        |cause: std::io::Error| named(path, &format_args!("cannot be read ({cause}); check the path"));
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > bytes_max {
        return Err(format!("{}: {size} bytes, at most {bytes_max} are read", path.display()));
    }
    std::fs::read(path).map_err(unreadable)
}

pub(crate) fn named(path: &Path, cause: &dyn std::fmt::Display) -> String {
    format!("{}: {cause}", path.display())
}

/// A check mark or cross, coloured on a terminal unless NO_COLOR is set (no-color.org).
pub(crate) fn mark(good: bool) -> &'static str {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match (good, std::io::stdout().is_terminal() && !plain) {
        (true, true) => "\u{1b}[32m✓\u{1b}[0m",
        (true, false) => "✓",
        (false, true) => "\u{1b}[31m✗\u{1b}[0m",
        (false, false) => "✗",
    }
}
