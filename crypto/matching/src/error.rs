//! Errors of a key-holder.

use crate::{LaneSet, VaultError};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Why the key-holder did not execute a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum KeyHolderError {
    /// The tenant does not exist.
    #[error("the key-holder does not know this tenant")]
    UnknownTenant,
    /// The tenant exists already.
    #[error("the key-holder knows this tenant already")]
    TenantExists,
    /// The tenant is frozen after malformed jobs, until an operator resets their count.
    #[error(
        "the tenant is frozen after malformed jobs: find out which gateway sent them (the key-holder's job log names it), then reset \
         the count with `trefoil key-holder reset-malformed`"
    )]
    Frozen,
    /// The job cannot have come from an honest matcher. It is counted, and its subjects are charged.
    #[error("the job is malformed: an honest gateway never sends such a job")]
    Malformed,
    /// The job names no subject, one template twice, or lanes that it has no ciphertext for. Nothing was decided or counted.
    #[error("the job names no subject, one template twice, or lanes that it has no ciphertext for")]
    Subjects,
    /// The batch is tagged for an earlier tag key of this key-holder. Nothing was decided, and nothing counted unless the key changed while the
    /// batch was in flight; fetch the public key and mask the batch again.
    #[error("the batch is tagged for an earlier tag key: fetch the tenant's public key")]
    TagKey,
    /// These lanes name subjects that have no attempt left, today or until they enrol again. Nothing was decided or counted; mask the
    /// other lanes again.
    #[error("{} lanes name subjects that have no attempt left", .0.len())]
    NoAttempts(LaneSet),
    /// These lanes name subjects that were never enrolled or have been shredded, or name them in the wrong lane.
    /// Nothing was decided or counted; mask the other lanes again.
    #[error("{} lanes name subjects that are not enrolled there", .0.len())]
    UnknownSubjects(LaneSet),
    /// The key-holders of a quorum count differently for the subjects in these lanes, and no two decide this batch. Mask the other
    /// lanes again; these can be asked about without each other.
    #[error("the key-holders disagree about the attempts of the subjects in {} lanes", .0.len())]
    Contested(LaneSet),
    /// The subject has a template of this generation.
    #[error("the subject has a template of this generation: use the next generation, or shred it first")]
    SubjectExists,
    /// The shares in these lanes were not sealed to this key-holder for what they are used for, were sealed too long ago, or were used
    /// before. Nothing was decided or counted; gather the other lanes again.
    #[error("{} lanes have shares that were not sealed for them, are too old, or were used before", .0.len())]
    SealedShares(LaneSet),
    /// The batch's probe mode differs from the tenant's.
    #[error("the batch's probe mode differs from the tenant's")]
    Structure,
    /// The request belongs to no rotation in progress, or the generation is not above every other of the subject.
    #[error("the request belongs to no rotation of the tenant's keys that is in progress")]
    Rotation,
    /// The threshold is not a possible score.
    #[error("the threshold {0} is not within -32768..=32768")]
    Threshold(i32),
    /// The tenant does not use the model of the vectors, or their width is not the model's. Nothing was decided or counted.
    #[error(
        "the tenant does not use the model of these vectors, or their width is not the model's: set the tenant's policy again"
    )]
    Model,
    /// The job's threshold differs from the tenant's, which is this one. Nothing was decided or counted.
    #[error("the tenant's threshold at the key-holder is {0}, which differs from the batch's")]
    OtherThreshold(i32),
    /// A remote key-holder cannot be reached, or gave no answer in time. Nothing was accepted; attempts may have been
    /// counted.
    #[error("the key-holder gives no answer: {0}")]
    Unavailable(String),
    /// One of three key-holders, by its seat from 1, is unreachable, and only decisions can do without it. Nothing was done.
    #[error(
        "key-holder {0} of 3 is away; everything except decisions needs all three. Retry when it is back"
    )]
    OneAway(usize),
    /// A remote key-holder does not allow this caller to do this.
    #[error("the key-holder refuses: {0}")]
    Forbidden(Cow<'static, str>),
    /// The vault failed. Travels as [`KeyHolderError::Unavailable`]: how it failed is for the key-holder's own log. The last
    /// variant, so that those that travel are counted alike when they are written and read.
    #[error(transparent)]
    #[serde(skip)]
    Vault(#[from] VaultError),
}

impl KeyHolderError {
    /// [`KeyHolderError::Forbidden`], with the reason.
    pub const fn forbidden(why: &'static str) -> KeyHolderError {
        KeyHolderError::Forbidden(Cow::Borrowed(why))
    }
}
