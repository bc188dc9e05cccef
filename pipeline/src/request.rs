//! A request in its lane, and its outcomes.

use std::sync::Arc;

use trefoil_attest::{Decision, ProbeMode, statement_digest};
use trefoil_matching::{Embedding, SharedProbe, Template};

use crate::verdict::{Stale, Verdict};
use crate::{Account, SessionId, TenantId};

/// One well-formed authentication, before its backing is checked. `R` is the destination of its answer, and carries what the service's
/// [`Door`](crate::Door) needs to check it.
pub struct LaneRequest<R> {
    /// What backs the claim that the request is the subject's.
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
    /// Destination of the answer.
    pub reply: R,
}

/// What backs the claim that a request is its subject's, as the tenant's policy demands.
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
    /// The session's verdict, if the service read it from its row after a miss. It is not looked up again.
    pub revived: Option<Box<Verdict>>,
}

/// The probe, in the mode of the tenant's policy.
#[derive(Clone)]
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
    /// The tenant of the requests.
    pub tenant: TenantId,
    /// The requests.
    pub lanes: Vec<T>,
}

/// A statement about a change, which needs no decision and is sealed as it is.
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
    /// The decision; none for a record.
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

/// A batch after the worker: its decided lanes, ready to be sealed, and the refused ones.
pub struct Bound<R> {
    /// Decided lanes in random order.
    pub lanes: Vec<BoundLane<R>>,
    /// Lanes without a decision, until they are answered.
    pub refused: Vec<(R, Refusal)>,
    /// Time per step so far.
    pub times: StageTimes,
}

/// When a batch was begun, and the time spent in each step, nanoseconds.
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

/// Why a request has no decision. A non-match is a decision and not listed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The session does not carry the request: open it again.
    #[error("session refused: {0}")]
    Session(#[from] Stale),
    /// The request's MAC is not from the session holder.
    #[error("the request does not come from the session holder")]
    Mac,
    /// The nonce was used in this session.
    #[error("the nonce was already used in this session")]
    NonceUsed,
    /// No more nonces are remembered now.
    #[error("too many nonces are stored; retry later")]
    NoncesFull,
    /// The request waited until its nonce may be forgotten.
    #[error("the request waited for too long")]
    TooOld,
    /// The register that the nodes of a fleet share cannot know whether the nonce was used: it began anew since the request was issued, or
    /// its clock differs from this node's.
    #[error("the register of used nonces cannot know this request")]
    Unremembered,
    /// The register that the nodes of a fleet share gave no answer; nothing is accepted without it.
    #[error("the register of used nonces gave no answer")]
    RegisterUnavailable,
    /// The request is in a session, or in none, other than the policy says.
    #[error("the request is not backed as the policy says")]
    ProofMode,
    /// The template was deleted while the request waited.
    #[error("the subject's template no longer exists")]
    Template,
    /// The probe's sealed share was not sealed to this key-holder for this request, is too old, or was used before.
    #[error("the sealed share was not made for this request, is too old, or was used before")]
    SealedShare,
    /// The request's probe is not of the policy's mode.
    #[error("the probe's mode differs from the policy's")]
    ProbeMode,
    /// The tenant was removed while the request waited.
    #[error("the tenant no longer exists")]
    Tenant,
    /// The key-holder gave no decision; nothing is accepted without one.
    #[error("the key-holder gave no decision")]
    KeyHolder,
    /// The key-holder's threshold differs from the policy's; nothing is decided under a threshold that is not attested.
    #[error("the key-holder's threshold differs from the policy's")]
    Threshold,
    /// The key-holder cannot be reached; nothing is accepted without it.
    #[error("the key-holder cannot be reached")]
    KeyHolderUnavailable,
    /// The log of seals cannot be extended for now; what was decided is not answered.
    #[error("the log of seals cannot be extended now")]
    Unsealed,
    /// An internal error; the request was not decided.
    #[error("internal error: the request was not decided")]
    Fault,
}
