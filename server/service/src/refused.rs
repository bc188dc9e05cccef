//! Why the service does not do what it is asked, in its own words. How a caller reads it is for the layer that speaks to callers.

use std::time::Duration;
use thiserror::Error;
use trefoil_api::OutOfRange;
use trefoil_matching::KeyHolderError;
use trefoil_pipeline::LIVE_ROOTS_MAX;
use trefoil_storage::store::StoreError;
use trefoil_wallet::credentials::ChainError;
use trefoil_zkp::ProofError;

/// A refusal or a fault. Holds no secret and no score, so it may be logged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// The API key is one of those that speak for nobody: the reason is not told.
    #[error("the API key does not exist, or it expired or was revoked")]
    Caller,
    /// The token is none of an operator that may act: the reason is not told.
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
    /// A key of a request that came with another request.
    #[error("this Idempotency-Key was used with another request; use a fresh one")]
    KeyReused,
    /// The operator has two tokens that are taken.
    #[error("two tokens of this operator are taken already; revoke one of them first")]
    TwoTokens,
    /// Nobody would be left who manages operators.
    #[error(
        "no other owner has a token that is taken, so nobody could manage operators; create another owner first"
    )]
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
    /// The identifier that was drawn is taken.
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
    /// Attestations for this audience are not made.
    #[error(
        "the tenant's policy allows the audiences {allowed}; use one of them as it is written, or have the operator add the other one \
         to the policy"
    )]
    Audience {
        /// Some that are made.
        allowed: String,
    },
    /// The tenant has no such API key.
    #[error("this tenant has no API key with this id")]
    ApiKeyUnknown,
    /// An API key that may do nothing.
    #[error("expected at least one of enrol, authenticate, issue")]
    NoScope,
    /// An API key that would never be taken.
    #[error("{end} is over: the service's clock says {now}, in Unix seconds")]
    Over {
        /// When the key was to end, Unix seconds.
        end: u64,
        /// The service's time.
        now: u64,
    },
    /// An issuer key that is none.
    #[error("expected 1952 bytes, an ML-DSA-65 public key")]
    IssuerKey,
    /// The tenant has no issuer key under which a root could verify.
    #[error("register the tenant's issuer key first")]
    IssuerKeyMissing,
    /// A credential root that is not the next of its chain.
    #[error(transparent)]
    Root(ChainError),
    /// A credential root of a clock that is ahead.
    #[error("issued in the future: check the issuer's clock")]
    RootEarly,
    /// A credential root that another one overtook.
    #[error("a root of this or a later generation is published")]
    RootOvertaken,
    /// A credential root that would leave too many accepted.
    #[error("at most {LIVE_ROOTS_MAX} generations are accepted at once; raise generation_min")]
    TooManyRoots,
    /// The tenant has no such session, or it ended.
    #[error("no session with this identifier goes on")]
    SessionUnknown,
    /// The session carries no requests any more.
    #[error("the session has ended or its credential root was withdrawn; prove again")]
    SessionEnded,
    /// The API key has failed for too many different subjects that did not match since.
    #[error(
        "logins with this API key failed for too many different subjects; subjects that matched lately are taken, and others within {window_s} s"
    )]
    DistinctFailures {
        /// How long it lasts at most, seconds.
        window_s: u64,
    },
    /// No hash chain more can be open.
    #[error("too many sessions with a hash chain are open; retry later")]
    TooManyChains,
    /// A proof that does not verify.
    #[error(transparent)]
    Proof(ProofError),
    /// A proof that waited for too long, and was not looked at.
    #[error("the proof waited longer than {} ms; retry after a second", .0.as_millis())]
    ProofLate(Duration),
    /// Too many proofs wait: whose.
    #[error("too many {0} wait; retry after a second")]
    TooManyProofs(&'static str),
    /// The store has too much to write.
    #[error("too many writes wait; retry after a second")]
    StoreBusy,
    /// What is stored is damaged.
    #[error(
        "stored data is damaged, so the service ends; its operator finds the file and the cure in the log"
    )]
    StoreDamaged,
    /// There is too little room on the disk.
    #[error("the service has no room for new records; nothing was attempted: retry later")]
    NoRoom,
    /// The key-holder is away.
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
    /// The key-holder, which somebody else operates, does not do this for this service.
    #[error(
        "{0} (a key-holder's limits are in its configuration; `trefoil key-holder reset-malformed` and `set-policy` are its operator's)"
    )]
    KeyHolderForbids(String),
    /// A fault of ours. The log has the cause.
    #[error("internal error")]
    Fault,
}

impl Refused {
    /// A fault of ours: `cause` goes to the log, and no further.
    pub fn fault(cause: impl std::fmt::Display) -> Refused {
        tracing::error!(%cause, "internal error");
        Refused::Fault
    }

    /// Whether the same may be done in a moment, without anybody's help.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            self,
            Refused::KeyHolderAway | Refused::SeatAway(_) | Refused::OlderVault(_) | Refused::StoreBusy
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
            StoreError::Conflict | StoreError::Fault(_) | StoreError::Schema { .. } => Refused::fault(cause),
            StoreError::Altered(_)
            | StoreError::Damaged(_)
            | StoreError::Emptied
            | StoreError::Older { .. } => Refused::StoreDamaged,
        }
    }
}
