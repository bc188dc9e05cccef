//! The outcome of a check, and its output.

use serde_json::Value;
use std::io::IsTerminal as _;
use std::path::Path;
use trefoil_attest::{DecodeError, PrunedSeal, Seal, VerifyError};
use trefoil_service::time;

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
    Valid {
        text: String,
        json: Value,
    },
    Invalid(Refusal),
    Undecided(Refusal),
    /// The command line does not say what is needed.
    Usage(String),
}

/// Why nothing is valid.
pub(super) struct Refusal {
    /// The name of the failed check of an attestation or receipt, the same as in every verifier.
    pub(super) code: Option<&'static str>,
    pub(super) reason: String,
}

impl From<String> for Refusal {
    fn from(reason: String) -> Refusal {
        Refusal { code: None, reason }
    }
}

/// The time of a check.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) unix_s: u64,
    /// Whether `--at` gave it; else it is now.
    pub(super) is_given: bool,
}

pub(super) fn refused(cause: &VerifyError, at: At) -> Outcome {
    let reason = reason(cause, at);
    let refusal = |hint: &str| Refusal { code: Some(cause.code()), reason: format!("{reason}{hint}") };
    match cause {
        VerifyError::SealNeeded(_) | VerifyError::UnknownSuite(_) => {
            Outcome::Undecided(refusal(" (with --seal)"))
        }
        VerifyError::Decision(_) => Outcome::Invalid(refusal(" (--any-decision accepts attested denials)")),
        VerifyError::NoProof => {
            Outcome::Invalid(refusal(" (--accept-no-proof accepts statements without one)"))
        }
        _ => Outcome::Invalid(refusal("")),
    }
}

/// The cause in words, with how far the clock is off.
fn reason(cause: &VerifyError, at: At) -> String {
    match cause {
        VerifyError::NotYetValid { issued_at } => {
            let ahead = issued_at.saturating_sub(at.unix_s);
            let when = if at.is_given { "after --at" } else { "ahead of this clock" };
            format!("issued at {}, {ahead} s {when}; check the clocks", time::format(*issued_at))
        }
        VerifyError::Expired { expires_at } => {
            let past = at.unix_s.saturating_sub(*expires_at);
            let when = if at.is_given { "before --at" } else { "ago" };
            format!("expired at {}, {past} s {when}; authenticate again", time::format(*expires_at))
        }
        _ => cause.to_string(),
    }
}

pub(crate) fn read(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    crate::remote::read_at_most(path, bytes_max)
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

#[cfg(test)]
mod tests {
    use super::*;
    use trefoil_types::KeySetId;

    #[test]
    fn reasons_have_times_that_people_read() {
        const TIME: u64 = 1_795_168_060;
        let id = KeySetId::new([5; 32]);
        let causes = [
            VerifyError::NotYetValid { issued_at: TIME },
            VerifyError::Expired { expires_at: TIME },
            VerifyError::SealTime { time: TIME },
            VerifyError::RevokedKeySet { id, since: TIME },
            VerifyError::RetiredKeySet { id, since: TIME },
            VerifyError::KeySetValidity { id, time: TIME },
        ];
        for cause in causes {
            // The texts are those of the library, but for how far the clock is off.
            let own = cause.to_string();
            let (before, after) = own.split_once("2026-11-20T09:47:40Z").unwrap();
            let said = reason(&cause, At { unix_s: TIME, is_given: false });
            assert!(said.starts_with(&format!("{before}2026-11-20T09:47:40Z")), "{said}");
            assert!(!after.contains(';') || said.ends_with(after.rsplit(';').next().unwrap()), "{said}");
        }
        let said = |cause, unix_s, is_given| reason(&cause, At { unix_s, is_given });
        let expired = || VerifyError::Expired { expires_at: TIME };
        assert!(said(expired(), TIME + 43, false).contains("Z, 43 s ago; "));
        assert!(said(expired(), TIME + 43, true).contains("Z, 43 s before --at; "));
        let early = || VerifyError::NotYetValid { issued_at: TIME };
        assert!(said(early(), TIME - 90, false).contains("Z, 90 s ahead of this clock; "));
        assert!(said(early(), TIME - 90, true).contains("Z, 90 s after --at; "));
    }
}
