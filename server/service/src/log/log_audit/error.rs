//! Why an audit of the log fails.

use super::restorations;
use thiserror::Error;
use trefoil_attest::VaultState;

/// Why a log did not pass, or could not be audited.
#[derive(Debug, Error)]
pub enum AuditError {
    /// The source does not answer.
    #[error("{0}")]
    Source(String),
    /// Fewer seals than were seen before.
    #[error(
        "the log was cut: {seen} seals were seen before, and now there are {found}. A service that was restored from a backup says so in its \
         next seal: audit again after that"
    )]
    Truncated {
        /// Seals seen before.
        seen: u64,
        /// Seals found.
        found: u64,
    },
    /// Another seal under a number that was seen before.
    #[error("the log has forked: seal {0} is not the one that was seen before")]
    Forked(u64),
    /// A seal is missing in the middle.
    #[error("seal {0} is missing although later ones exist")]
    Missing(u64),
    /// A seal is malformed, has another number, or does not verify.
    #[error("seal {number}: {cause}")]
    Seal {
        /// The seal.
        number: u64,
        /// Reason.
        cause: String,
    },
    /// A seal does not follow the one before.
    #[error("the chain is broken at seal {0}: it does not name the seal before it")]
    Chain(u64),
    /// A seal commits to another tree than the one over the seals before it.
    #[error("seal {0} commits to another log than the seals before it")]
    LogRoot(u64),
    /// A seal shows an older copy of a vault than seals before it.
    #[error(
        "seal {seal} shows an older vault of key-holder {seat} than seals before it: {} transactions and {} restorations, after {} and {}. \
         The service went on with old attempt budgets and with templates that were deleted",
        now.generation, now.restored, before.generation, before.restored
    )]
    OlderVault {
        /// The seal.
        seal: u64,
        /// Which key-holder's, from 1.
        seat: usize,
        /// The state seen before.
        before: Box<VaultState>,
        /// The state in this seal.
        now: Box<VaultState>,
    },
    /// A seal shows fewer lines of a job log than seals before it, others, or none.
    #[error(
        "seal {seal} shows {now} lines of the job log of key-holder {seat}, and seals before it {before} lines, of which these are no continuation. Its vault was not \
         restored: the log was cut or replaced, or the service says what it likes"
    )]
    JobsHead {
        /// The seal.
        seal: u64,
        /// Which key-holder's, from 1.
        seat: usize,
        /// Lines seen before.
        before: u64,
        /// Lines in this seal; 0 if it shows no log.
        now: u64,
    },
    /// An attestation or a job log does not belong to this log of seals.
    #[error("{name}: {cause}")]
    Other {
        /// The file or directory.
        name: String,
        /// Reason.
        cause: String,
    },
    /// No later seal signs for a seal whose signatures were pruned.
    #[error(
        "seal {0} was pruned and no later seal of the same keys is signed, so nothing shows that they sealed it; ask the operator for the \
         archive, or for the backup that has the last seal of these keys"
    )]
    Unsigned(u64),
    /// A seal omits a restoration, or dates one wrongly.
    #[error(
        "seal {0} says otherwise than the seals before it when the log was restored: a restoration begins with its own seal, is later than \
         every seal before it, and is never forgotten"
    )]
    Restoration(u64),
    /// More restorations than any plausible use of backups.
    #[error("the log was restored more than {} times", restorations::RESTORATIONS_MAX)]
    TooOften,
    /// Witnesses cosigned a head that this log never had, or no longer has.
    #[error(
        "witnesses have cosigned a head of {size} seals that is not of this log. It may be of the part that was lost when the log was restored \
         at {time} and went on at seal {first}: ask a witness for a newer one. A head that they saw after that time shows a fork"
    )]
    WitnessedLost {
        /// Size of the checkpoint.
        size: u64,
        /// Where the log went on.
        first: u64,
        /// When it was restored.
        time: u64,
    },
    /// The source's consistency proof does not verify.
    #[error("the consistency proof from {old_size} to {size} seals does not verify")]
    Consistency {
        /// Size seen before.
        old_size: u64,
        /// Size signed now.
        size: u64,
    },
    /// A cosigned checkpoint is of another log.
    #[error("witnesses have cosigned another log: at {0} seals their root is not that of these seals")]
    Witnessed(u64),
    /// A cosigned checkpoint cannot be compared.
    #[error(
        "the cosigned checkpoint of {size} seals is not between those seen before ({seen}) and those signed now ({signed}); \
         ask a witness for a newer one"
    )]
    CheckpointAge {
        /// Size of the checkpoint.
        size: u64,
        /// Seals seen before.
        seen: u64,
        /// Seals signed now.
        signed: u64,
    },
    /// The checkpoint is of another issuer.
    #[error("the cosigned checkpoint is of the log {0}, another issuer")]
    CheckpointOrigin(String),
}
