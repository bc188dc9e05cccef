//! A request in its lane, and what can become of it.

use std::sync::Arc;

use trefoil_attest::{Decision, ProbeMode, Reveal, statement_digest};
use trefoil_matching::{Embedding, SharedProbe, Template};
use trefoil_zkp::chain::ChainError;

use crate::verdict::{Stale, Verdict};
use crate::{Account, SessionId, TenantId};

/// One well-formed authentication, before it is known whether it is backed. `R` is where its answer goes, and what the service's
/// [`Door`](crate::Door) checks it by.
pub struct LaneRequest<R> {
    /// What stands for the request being the subject's.
    pub backing: Backing,
    /// The subject's encrypted template; its lane is the request's lane.
    pub template: Template,
    /// The probe.
    pub probe: Probe,
    /// Relying party that the attestation is for.
    pub audience: Arc<str>,
    /// The relying party's nonce, copied into the attestation.
    pub nonce: Vec<u8>,
    /// SHA3-256 of the request as its client authenticated it.
    pub request_digest: [u8; 32],
    /// Where the answer goes.
    pub reply: R,
}

/// What stands for a request being its subject's, as the tenant's policy wants it.
#[derive(Clone)]
pub enum Backing {
    /// A credential proof, through its session.
    Session(InSession),
    /// No proof: the tenant's application alone vouches, and this account is attested. No verdict is looked up.
    Application(Account),
}

/// A request's part in a proof session.
#[derive(Clone)]
pub struct InSession {
    /// The session whose proof covers the request.
    pub id: SessionId,
    /// What the holder reveals of the session's hash chain, if it has one.
    pub reveal: Option<Reveal>,
    /// The session's verdict as the service read it from its row after a miss: it is not looked up a second time.
    pub revived: Option<Box<Verdict>>,
}

impl Backing {
    /// What the holder reveals of a hash chain.
    pub fn reveal(&self) -> Option<Reveal> {
        match self {
            Backing::Session(session) => session.reveal,
            Backing::Application(_) => None,
        }
    }
}

/// What is shown, as the tenant's policy wants it.
#[derive(Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "the usual variant is not worth an allocation for each request"
)]
pub enum Probe {
    /// Quantised here.
    Plain(Embedding),
    /// A share here, a share sealed to the key-holder.
    Shared(Box<SharedProbe>),
}

impl Probe {
    /// The mode that attestations name.
    pub fn mode(&self) -> ProbeMode {
        match self {
            Probe::Plain(_) => ProbeMode::Plain,
            Probe::Shared(_) => ProbeMode::Shared,
        }
    }
}

/// Up to 32 requests of one tenant, one per lane, lanes ascending.
#[derive(Debug)]
pub struct Batch<T> {
    /// Whose they are.
    pub tenant: TenantId,
    /// The requests.
    pub lanes: Vec<T>,
}

/// A statement that needs no decision, to be sealed as it is: that something was changed.
pub struct Record<R> {
    /// Where the seal goes.
    pub reply: R,
    /// The statement (deterministic CBOR).
    pub statement: Vec<u8>,
}

/// A lane with its decision, bound to the statement that will be attested; or a record.
pub struct BoundLane<R> {
    /// Where the answer goes.
    pub reply: R,
    /// What was decided; nothing of a record.
    pub decision: Option<Decision>,
    /// Canonical statement (deterministic CBOR).
    pub statement: Vec<u8>,
    /// SHA3-256 of `statement`: the leaf of the seal.
    pub digest: [u8; 32],
}

impl<R> From<Record<R>> for BoundLane<R> {
    fn from(Record { reply, statement }: Record<R>) -> BoundLane<R> {
        let digest = statement_digest(&statement);
        BoundLane { reply, decision: None, statement, digest }
    }
}

/// A batch after the worker: its decided lanes, ready to be sealed, and the others.
pub struct Bound<R> {
    /// Decided lanes in random order.
    pub lanes: Vec<BoundLane<R>>,
    /// Lanes without a decision, until they are told.
    pub refused: Vec<(R, Refusal)>,
    /// Time per step so far.
    pub times: StageTimes,
}

/// Time spent in each step, nanoseconds per batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// Verdict look-ups.
    pub proof_lookup_ns: u64,
    /// The matcher's part of the encrypted match.
    pub match_ns: u64,
    /// The key-holder's part.
    pub key_holder_ns: u64,
    /// Statements and their digests.
    pub digest_ns: u64,
}

/// Why a request has no decision. A non-match is a decision and not found here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The session does not carry the request: open it again.
    #[error("session refused: {0}")]
    Session(#[from] Stale),
    /// The request's MAC is not that of its session's holder.
    #[error("the request is not its session holder's")]
    Mac,
    /// The nonce was used in this session.
    #[error("the nonce was used in this session")]
    NonceUsed,
    /// No more nonces are remembered now.
    #[error("too many nonces are remembered")]
    NoncesFull,
    /// The request waited until its nonce may be forgotten.
    #[error("the request waited for too long")]
    TooOld,
    /// The request reveals no value of its session's hash chain, or not the next one.
    #[error("hash chain: {0}")]
    Reveal(#[from] RevealRefused),
    /// The request is in a session, or in none, other than the policy says.
    #[error("the request is not backed as the policy says")]
    ProofMode,
    /// The template was deleted while the request waited.
    #[error("the subject's template no longer exists")]
    Template,
    /// The probe's sealed share was not sealed to this key-holder for this request, not lately, or was used before.
    #[error("the sealed share was not made for this request, not lately, or was used before")]
    SealedShare,
    /// The request's probe is not of the policy's mode.
    #[error("the probe is not of the policy's mode")]
    ProbeMode,
    /// The tenant was removed while the request waited.
    #[error("the tenant no longer exists")]
    Tenant,
    /// The key-holder gave no decision; nothing is accepted without one.
    #[error("the key-holder gave no decision")]
    KeyHolder,
    /// The key-holder decides under another threshold than the policy's; nothing is decided under one that is not attested.
    #[error("the key-holder has another threshold than the policy")]
    Threshold,
    /// The key-holder cannot be reached; nothing is accepted without it.
    #[error("the key-holder cannot be reached")]
    KeyHolderUnavailable,
    /// A fault of this service; the request was not decided.
    #[error("internal fault, the request was not decided")]
    Fault,
}

/// Why what a request reveals of a hash chain, or does not, is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RevealRefused {
    /// The session has a chain.
    #[error("the session has a hash chain: reveal its next value")]
    Wanted,
    /// The session has none.
    #[error("the session has no hash chain: send no `reveal`")]
    Unwanted,
    /// Where the session is in its chain is not known.
    #[error("the place in this session's chain is not known; prove again")]
    Unknown,
    /// The value is not one of the next.
    #[error(transparent)]
    Value(#[from] ChainError),
}
