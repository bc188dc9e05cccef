//! Whether two seals are of one log: what a client that keeps the seals it has seen asks about them.
//!
//! A seal of number `n` signs the log of the `n` seals before it, and is itself entry `n`. Two seals are of one log if the
//! later one's log extends the earlier one's (a consistency proof) and holds the earlier seal (an inclusion proof). The
//! consistency proof alone would miss histories that part at the earlier seal itself.
//!
//! A log that goes on from a backup says so in every seal ([`Restoration`]). A seal of the part that was lost is of no log any more, which
//! is told apart from a fork.

use crate::restoration::Restoration;
use crate::seal::SealHeader;
use crate::tree::{Hash, verify_consistency, verify_inclusion};

/// Why two seals are not shown to be of one log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// They are of different issuers, and so of different logs.
    #[error("the seals are of different issuers; nothing can be said about them")]
    Issuer,
    /// The log has forked: two seals of one number, or neighbours of which the later does not name the earlier. The two
    /// seals alone prove it to anybody, once their signatures are verified.
    #[error("the log has forked: these seals cannot be of one history; keep both as evidence")]
    Forked,
    /// One of them is of the part of the log that was lost when the other's service went on from a backup, and says so. It is no
    /// evidence of a fork; whether a restoration is acceptable is the reader's to decide.
    #[error(
        "the log was restored from a backup at {} (Unix seconds) and went on at seal {}; the seal without that \
         restoration is of the part that was lost", .0.time, .0.first
    )]
    Restored(Restoration),
    /// The consistency proof does not connect their logs.
    #[error(
        "the log of the later seal is not shown to extend that of the earlier; ask for another proof, and take the log \
         for forked if there is none"
    )]
    Consistency,
    /// The inclusion proof does not lead from the earlier seal to the later one's log.
    #[error(
        "the earlier seal is not shown to be in the log of the later; ask for another proof, and take the log for forked \
         if there is none"
    )]
    Inclusion,
}

impl LogError {
    /// A stable name for programs, the same in every verifier of these formats.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Issuer => "issuer",
            Self::Forked => "forked",
            Self::Restored(_) => "restored",
            Self::Consistency => "consistency",
            Self::Inclusion => "inclusion",
        }
    }
}

/// Checks that two seals, in any order, are of one log. The issuer gives the proofs, with `old` and `new` the numbers of the
/// earlier and the later seal: `consistency` at `/v1/log/consistency/{old}/{new}` and `inclusion` at
/// `/v1/log/inclusion/{old}/{new}`. There is no consistency proof from seal 0, which signs the empty log, and no proof at
/// all between seals of one number: what does not exist must be empty here.
///
/// Signatures are not verified here: see [`verify_seal`](crate::verify_seal).
///
/// # Errors
/// The first reason to doubt it.
pub fn verify_same_log(
    one: &SealHeader,
    other: &SealHeader,
    consistency: &[Hash],
    inclusion: &[Hash],
) -> Result<(), LogError> {
    if one.issuer != other.issuer {
        return Err(LogError::Issuer);
    }
    let (old, new) = if one.seal_number <= other.seal_number { (one, other) } else { (other, one) };
    for (lost, kept) in [(old, new), (new, old)] {
        if let Some(restored) = kept.restored.filter(|restored| restored.lost(lost)) {
            return Err(LogError::Restored(restored));
        }
    }
    let (old_size, size, digest) = (old.seal_number, new.seal_number, old.digest());
    let forked = match size - old_size {
        0 => new.digest() != digest,
        1 => new.previous != digest,
        _ => false,
    };
    if forked {
        return Err(LogError::Forked);
    }
    let extends = match old_size {
        0 => consistency.is_empty(),
        _ => verify_consistency(old_size, &old.log_root, size, &new.log_root, consistency),
    };
    if !extends {
        return Err(LogError::Consistency);
    }
    let holds = match size - old_size {
        0 => inclusion.is_empty(),
        _ => verify_inclusion(&digest, old_size, size, inclusion, &new.log_root),
    };
    if holds { Ok(()) } else { Err(LogError::Inclusion) }
}
