//! Why the service refuses a request. The layer above turns a refusal into a problem for the caller.

use crate::{AHEAD_S, FRESHNESS_S, time};
use std::time::Duration;
use thiserror::Error;
use trefoil_attest::witness::WitnessError;
use trefoil_matching::{AverageError, KeyHolderError, QuantiseError, ShareError};
use trefoil_pipeline::{LIVE_ROOTS_MAX, Refusal};
use trefoil_storage::store::StoreError;
use trefoil_types::{OutOfRange, ProbeMode};
use trefoil_wallet::credentials::ChainError;
use trefoil_zkp::ProofError;

/// A refusal or a fault. Holds no secret and no score, so it may be logged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// The API key is unknown, expired or revoked: the refusal does not say which.
    #[error("the API key does not exist, or it expired or was revoked")]
    Caller,
    /// The token is unknown, expired or revoked: the refusal does not say which.
    #[error("the token is no operator's, or it expired or was revoked")]
    OperatorToken,
    /// No such operator.
    #[error("no operator has this identifier")]
    OperatorUnknown,
    /// The operator has no such token.
    #[error("this operator has no token with this number")]
    OperatorTokenUnknown,
    /// The operator of the token in the data directory has no other token.
    #[error(
        "the token of this operator is the file admin.token of the data directory, and it has no other; to replace it, stop the service, \
         remove the file and start"
    )]
    BootstrapToken,
    /// An operator that was revoked gets no token.
    #[error("this operator was revoked; create another one")]
    OperatorRevoked,
    /// The operator has two valid tokens.
    #[error("this operator has two valid tokens already; revoke one of them first")]
    TwoTokens,
    /// No owner would be left to manage operators.
    #[error("no other owner has a valid token, so nobody could manage operators; create another owner first")]
    LastOwner,
    /// The operator disabled the tenant.
    #[error("the service's operator disabled this tenant; ask the operator to enable it")]
    TenantDisabled,
    /// A tenant that is to be deleted and is not disabled.
    #[error("the tenant is enabled; disable it first, so that nobody uses what is destroyed")]
    TenantEnabled,
    /// A tenant that is to be deleted and whose keys are being rotated.
    #[error(
        "the keys of the tenant's templates are being rotated; wait for the end, or go on with a rotation that stopped"
    )]
    TenantRotates,
    /// No such tenant.
    #[error("no tenant has this identifier")]
    TenantUnknown,
    /// The drawn identifier is in use.
    #[error("the tenant exists; retry for another identifier")]
    TenantExists,
    /// A field of a policy is out of its range.
    #[error(transparent)]
    Policy(OutOfRange),
    /// A policy that was to follow another version than the present one.
    #[error(
        "version {present} of the policy is in force; read it, and send yours again if it is still what you want"
    )]
    PolicyOvertaken {
        /// The version in force.
        present: u32,
    },
    /// The tenant's policy does not allow this audience.
    #[error(
        "the tenant's policy allows the audiences {allowed}; use one of them as it is written, or have the operator add the other one \
         to the policy"
    )]
    Audience {
        /// Some that are allowed.
        allowed: String,
    },
    /// The tenant has no such API key.
    #[error("this tenant has no API key with this id")]
    ApiKeyUnknown,
    /// An API key that may do nothing.
    #[error("expected at least one of enrol, authenticate, issue")]
    NoScope,
    /// An API key that would be expired from the start.
    #[error("{end} is over: it is {}", from_clock(*end, *now))]
    Over {
        /// When the key was to end, Unix seconds.
        end: u64,
        /// The service's time.
        now: u64,
    },
    /// A malformed issuer key.
    #[error("expected 1952 bytes, an ML-DSA-65 public key")]
    IssuerKey,
    /// The tenant has no issuer key under which a root could verify.
    #[error("register the tenant's issuer key first")]
    IssuerKeyMissing,
    /// A credential root that is not the next of its chain.
    #[error(transparent)]
    Root(ChainError),
    /// A credential root from an issuer whose clock is ahead.
    #[error("issued in the future: check the issuer's clock")]
    RootEarly,
    /// A credential root whose generation is not above the newest one.
    #[error("a root of this or a later generation is published")]
    RootOvertaken,
    /// A credential root that would leave too many accepted.
    #[error("at most {LIVE_ROOTS_MAX} generations are accepted at once; raise generation_min")]
    TooManyRoots,
    /// The request is about credentials, and the tenant has none.
    #[error(
        "the tenant's policy asks for no proof, and this cannot change, so it has no credentials, roots or sessions; send logins without `session_id` \
         and `mac`, or make another tenant"
    )]
    NoProofs,
    /// The tenant has no such session, or it ended.
    #[error("no open session has this identifier")]
    SessionUnknown,
    /// The session has ended.
    #[error("the session has ended or its credential root was withdrawn; prove again")]
    SessionEnded,
    /// The API key has failed for too many different subjects that did not match since.
    #[error(
        "logins with this API key failed for too many different subjects; subjects that matched recently are still accepted, and others again within {window_s} s"
    )]
    DistinctFailures {
        /// How long it lasts at most, seconds.
        window_s: u64,
    },
    /// Too many different subjects failed from this source.
    #[error(
        "logins from this source failed for too many different subjects; subjects that matched recently from it are still accepted, and others again within {window_s} s"
    )]
    SourceFailures {
        /// How long it lasts at most, seconds.
        window_s: u64,
    },
    /// A proof that does not verify.
    #[error(transparent)]
    Proof(ProofError),
    /// A proof that waited too long and was not verified.
    #[error("the proof waited longer than {} ms; retry after a second", .0.as_millis())]
    ProofLate(Duration),
    /// Too many proofs wait; the text says whose.
    #[error("too many {0} wait; retry after a second")]
    TooManyProofs(&'static str),
    /// The store has too much to write.
    #[error("too many writes wait; retry after a second")]
    StoreBusy,
    /// The database of the store is away.
    #[error("the service cannot reach its database; what was asked for may have been stored: repeat it")]
    StoreAway,
    /// What is stored is damaged.
    #[error(
        "stored data is damaged, so the service ends; its operator finds the file and the cure in the log"
    )]
    StoreDamaged,
    /// There is too little room on the disk.
    #[error("the service has no room for new records; nothing was attempted: retry later")]
    NoRoom,
    /// The key-holder cannot be reached.
    #[error("the key-holder cannot be reached, and nothing is accepted without it; retry after a second")]
    KeyHolderAway,
    /// One of three key-holders is away, and this needs all of them.
    #[error("{0}")]
    SeatAway(String),
    /// The key-holder decides under another threshold than the tenant's policy.
    #[error(
        "the key-holder decides under another threshold than the tenant's policy, so nothing was decided and no attempt was counted; \
         the operator sets the policy again (`trefoil admin policy set`), or the key-holder's operator sets its threshold back \
         (`trefoil key-holder set-policy`)"
    )]
    OtherThreshold,
    /// A vault is an older copy than one that was seen.
    #[error("{0}")]
    OlderVault(String),
    /// The key-holder, which has another operator, does not do this for this service.
    #[error(
        "{0} (a key-holder's limits are in its configuration; `trefoil key-holder reset-malformed`, `reset-attempts` and `set-policy` are its operator's)"
    )]
    KeyHolderForbids(String),
    /// A request that is too old or from the future.
    #[error(transparent)]
    NotFresh(NotFresh),
    /// The clock is behind what was sealed.
    #[error(
        "the service's clock is {behind_s} s behind its newest seal, and no login is accepted meanwhile; nothing was attempted, and its operator \
         sets the clock"
    )]
    ClockBehind {
        /// So many seconds.
        behind_s: u64,
    },
    /// A request that the process before this one may have answered.
    #[error(
        "the service was restarted and takes requests issued after {}; nothing was attempted, so sign it again with a later issued_at in \
         {wait_s} s", time::format(*attested_until)
    )]
    BeforeRestart {
        /// Time up to which requests may have been answered, Unix seconds.
        attested_until: u64,
        /// Seconds until that is over.
        wait_s: u64,
    },
    /// The face is not in the tenant's probe mode.
    #[error("the face does not come in the tenant's probe mode")]
    ProbeMode {
        /// The policy's mode.
        expected: ProbeMode,
    },
    /// A vector that is no face of the tenant's model.
    #[error(transparent)]
    Embedding(NoFace),
    /// A malformed share for this service.
    #[error(transparent)]
    OpenShare(ShareError),
    /// A malformed share for the key-holder.
    #[error("expected {expected} bytes")]
    SealedShareLength {
        /// Of a share of the model's width.
        expected: usize,
    },
    /// A share that the key-holder cannot open for this request.
    #[error(
        "the share was not sealed to this key-holder for this request, or not lately, or was used before"
    )]
    SealedForAnother,
    /// The subject has no template, or is revoked.
    #[error("no template is active under this handle: nothing was enrolled, or it was deleted or revoked")]
    SubjectUnknown,
    /// The subject has a template already.
    #[error("the subject has a template, active or revoked; replace it, or delete it to enrol again")]
    TemplateExists,
    /// Another request changed the template that was to be replaced.
    #[error(
        "the subject's template was renewed, replaced, revoked or erased meanwhile, and this request changed nothing; retry after a second"
    )]
    TemplateOvertaken,
    /// The key-holder has a template of the generation that the store gave, from before the store was restored.
    #[error(
        "the key-holder knew a template of this subject from before the service was restored, and has forgotten it now; nothing was stored: retry after \
         a second"
    )]
    GenerationTaken,
    /// A rotation of the tenant's keys began after the template was encrypted.
    #[error(
        "the keys of the tenant's templates were replaced meanwhile, and this request stored nothing; retry after a second"
    )]
    KeysReplaced,
    /// A request with the same idempotency key runs.
    #[error("a request with this Idempotency-Key is still running; retry after a second")]
    IdempotencyInFlight,
    /// The idempotency key is another request's.
    #[error("this Idempotency-Key was used with another request; use a fresh one")]
    IdempotencyKeyReused,
    /// A login of a session that was never opened.
    #[error("open a proof session first")]
    SessionNotOpened,
    /// The nonce was used for this subject, whose logins are in no session.
    #[error("this nonce was used for this subject; get a new one")]
    NonceUsedBySubject,
    /// The pipeline did not decide a login.
    #[error(transparent)]
    Login(Refusal),
    /// The decision was made, and its seal cannot be stored.
    #[error(
        "decided, and the attempt counted, but the store does not take the seal now; make a new request later"
    )]
    Unsealed,
    /// The template was renewed at each submission of the login.
    #[error("the template changed again and again while the request waited; retry after a second")]
    TemplateChanging,
    /// The intake is full.
    #[error("too many requests wait; retry after a second")]
    TooManyRequests,
    /// The service takes no more requests.
    #[error("retry at another instance")]
    Draining,
    /// A proof of another tenant, policy, level, epoch or root.
    #[error("{0}")]
    ProofStale(&'static str),
    /// The caller may not upload a proof now.
    #[error(transparent)]
    Upload(Denied),
    /// A checkpoint that no witness of this service has cosigned.
    #[error(transparent)]
    Checkpoint(WitnessError),
    /// A checkpoint of a log that is longer than this one.
    #[error("no seal signs a log of {size} yet")]
    LogShorter {
        /// Seals of that log.
        size: u64,
    },
    /// A checkpoint of another log.
    #[error("the seals of this service lead to another root, or have another issuer")]
    OtherLog,
    /// The signatures of a seal are gone.
    #[error("the signatures of seal {number} were pruned")]
    SealPruned {
        /// The seal.
        number: u64,
    },
    /// A head of the log without any signature.
    #[error(
        "no seal signs this head of the log, or its signatures were pruned and no witness has cosigned it"
    )]
    NoHead,
    /// An internal error. The log has the cause.
    #[error("internal error")]
    Fault,
}

/// Why vectors are no face of the tenant's model.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoFace {
    /// Another number of numbers than the model gives.
    #[error(
        "expected {expected} numbers, which model {model} gives, got {given}; base64 has 4 bytes for a number, as `int8` 1"
    )]
    Length {
        /// Which photograph of an enrolment.
        photograph: Option<usize>,
        /// The policy's dimension.
        expected: usize,
        /// The policy's embedder.
        model: String,
        /// Numbers of the vector.
        given: usize,
    },
    /// A login that does not say of which model its vector is where another gives as many numbers, or names another than that of its template.
    #[error("the subject is enrolled with model {expected}: send a vector of it and name it in `embedder`")]
    OtherModel {
        /// The model of the template.
        expected: String,
    },
    /// The vector of a login has no direction, or is none that a model gives.
    #[error(transparent)]
    Login(QuantiseError),
    /// The vectors of an enrolment.
    #[error(transparent)]
    Photographs(AverageError),
}

impl From<NoFace> for Refused {
    fn from(cause: NoFace) -> Refused {
        Refused::Embedding(cause)
    }
}

/// Why an upload is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Denied {
    /// The credit is used up; it is positive again after this time.
    #[error("too many uploads of this API key were refused or too many came; its credit is back in {} s", .0.as_secs() + 1)]
    Exhausted(Duration),
    /// Too many uploads of the caller are open.
    #[error("too many uploads of this API key are open; retry after a second")]
    Busy,
}

/// Why the time of a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotFresh {
    /// The client's clock and the service's differ too much, or the request was delayed.
    #[error(
        "issued_at {issued_at} is {}, and at most {FRESHNESS_S} s before it and {AHEAD_S} s after it are accepted; set the clock, then \
         issue a new request", from_clock(*issued_at, *now)
    )]
    OutsideWindow {
        /// When it was issued, Unix seconds.
        issued_at: u64,
        /// The service's time.
        now: u64,
    },
    /// At a node of a fleet, where such requests wait.
    #[error(
        "issued_at {issued_at} is {}, and as many requests of this tenant as may do so wait for their time; \
         set the clock, then issue a new request", from_clock(*issued_at, *now)
    )]
    Ahead {
        /// When it was issued, Unix seconds.
        issued_at: u64,
        /// The service's time.
        now: u64,
    },
    /// The service's clock was wrong at the time in which it is dated.
    #[error(
        "the service's clock was wrong when it showed this time, and requests dated until {} are refused for good; issue a new request after \
         that", time::format(*until)
    )]
    WrongClock {
        /// The end of that time, Unix seconds.
        until: u64,
    },
    /// It is older than this process.
    #[error("issued before this process started, which cannot know its nonce; issue a new request")]
    BeforeStart,
    /// The request does not show that a template's share was sealed recently.
    #[error(
        "send the second at which the device sealed its share, within {FRESHNESS_S} s of the service's clock"
    )]
    SealedShare,
}

/// Where a time is from the service's clock, in words.
pub(crate) fn from_clock(at: u64, now: u64) -> String {
    let now_text = time::format(now);
    match at.checked_sub(now) {
        Some(after) => format!("{after} s after the service's clock, {now_text}"),
        None => format!("{} s before the service's clock, {now_text}", now - at),
    }
}

impl Refused {
    /// An internal error: `cause` goes to the log, and no further.
    pub fn fault(cause: impl std::fmt::Display) -> Refused {
        tracing::error!(%cause, "internal error");
        Refused::Fault
    }

    /// Whether the same request may succeed in a moment, without intervention.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            self,
            Refused::KeyHolderAway
                | Refused::SeatAway(_)
                | Refused::OlderVault(_)
                | Refused::StoreBusy
                | Refused::StoreAway
        )
    }
}

impl From<KeyHolderError> for Refused {
    /// For calls about tenants and subjects that exist.
    fn from(cause: KeyHolderError) -> Refused {
        match cause {
            KeyHolderError::Unavailable(why) => {
                tracing::warn!(why, "the key-holder cannot be reached");
                Refused::KeyHolderAway
            }
            KeyHolderError::OneAway(_) => Refused::SeatAway(cause.to_string()),
            KeyHolderError::Forbidden(why) => Refused::KeyHolderForbids(why.to_string()),
            other => Refused::fault(other),
        }
    }
}

impl From<StoreError> for Refused {
    /// For calls that cannot conflict.
    fn from(cause: StoreError) -> Refused {
        match cause {
            StoreError::Busy => Refused::StoreBusy,
            StoreError::Unreachable(why) => {
                tracing::warn!(why, "the store's database cannot be reached");
                Refused::StoreAway
            }
            StoreError::Locked(why) => {
                tracing::warn!(why, "the store cannot be written");
                Refused::StoreAway
            }
            StoreError::Full(why) => {
                tracing::warn!(why, "the disk is full");
                Refused::NoRoom
            }
            // The process ends, or has no hold on the database at the moment.
            StoreError::InUse(_) | StoreError::Unusable(_) => Refused::StoreAway,
            StoreError::OldKeys => Refused::KeysReplaced,
            StoreError::Conflict | StoreError::Fault(_) => Refused::fault(cause),
            StoreError::Altered(_)
            | StoreError::Damaged(_)
            | StoreError::Emptied
            | StoreError::Older { .. }
            | StoreError::Forged(_) => Refused::StoreDamaged,
        }
    }
}
