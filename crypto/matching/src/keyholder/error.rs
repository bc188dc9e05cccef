//! Why a key-holder refuses.

use crate::{LaneSet, VaultError};

/// Why the key-holder did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum KeyHolderError {
    /// The tenant does not exist.
    #[error("the key-holder does not know this tenant")]
    UnknownTenant,
    /// The tenant exists already.
    #[error("the key-holder knows this tenant already")]
    TenantExists,
    /// The key is frozen after malformed jobs, until an operator lifts it.
    #[error("the tenant's key is frozen after malformed jobs: find the cause, then lift the freeze")]
    Frozen,
    /// The job cannot have come from an honest matcher. It is counted.
    #[error("the job is malformed")]
    Malformed,
    /// These lanes name subjects that were never enrolled or have been shredded, or name them in the wrong lane.
    /// Nothing was decided or counted; mask the other lanes again.
    #[error("{} lanes name subjects that are not enrolled there", .0.len())]
    UnknownSubjects(LaneSet),
    /// The subject has a template of this generation.
    #[error("the subject has a template of this generation: use the next generation, or shred it first")]
    SubjectExists,
    /// The shares in these lanes were not sealed to this key-holder for what they are used for. Nothing was decided or counted;
    /// gather the other lanes again.
    #[error("{} lanes have shares that were not sealed for them", .0.len())]
    SealedShares(LaneSet),
    /// The tenant's key structure does not do this.
    #[error("the tenant has a key per subject: shared probes need one key per tenant")]
    Structure,
    /// No rotation is under way that this belongs to, or the generation is not above every other of the subject.
    #[error("no rotation of the tenant's keys is under way that this belongs to")]
    Rotation,
    /// The threshold is not a possible score.
    #[error("the threshold {0} is not within -32768..=32768")]
    Threshold(i32),
    /// The vault failed.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// A key-holder elsewhere cannot be reached, or gave no answer in time. Nothing was accepted; attempts may have been
    /// counted.
    #[error("the key-holder gives no answer: {0}")]
    Unavailable(String),
    /// One of three key-holders, by its seat from 1, is away, and only decisions do without it. Nothing was done.
    #[error(
        "key-holder {0} of 3 is away, and all but decisions needs all three: repeat this when it is back"
    )]
    OneAway(usize),
    /// A key-holder elsewhere does not do this for this caller.
    #[error("the key-holder refuses: {0}")]
    Forbidden(&'static str),
}
