//! The register that the nodes of a fleet share: which nonces and which values of hash chains were used, at any of them.

use super::StoreError;
use trefoil_attest::Reveal;
use trefoil_types::SessionId;

/// What one request uses once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spending {
    /// Half of the digest of its nonce and the nonce's scope.
    pub nonce: [u8; 16],
    /// Its date, Unix seconds.
    pub issued_at: u64,
    /// Its session, and the value of the session's hash chain that it reveals, which leads to the chain's commitment.
    pub reveal: Option<(SessionId, Reveal)>,
}

/// The answer about one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// Nonce and value are new, and now used.
    First,
    /// The nonce was used before.
    Nonce,
    /// The nonce is new and now used, and the position is not above the last one used.
    Position {
        /// The last one.
        last: u32,
    },
    /// The nonce is new and now used, and the register knows no position of the session.
    NoPosition,
}

/// The answer about a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// The time by the register's clock, Unix seconds.
    pub now: u64,
    /// Nonces of requests dated up to here may be forgotten.
    pub since: u64,
    /// One for each request, in their order.
    pub spent: Vec<Spent>,
}

/// See the module. Each method blocks for at most the register's bound, and none runs a second time once it may have had an effect.
pub trait Register: Send + Sync + 'static {
    /// Why every call would fail now, or `None`. Does not block.
    fn unready(&self) -> Option<String>;
    /// Since when it has remembered everything, as of its last look: Unix seconds by its own clock. Does not block.
    fn since(&self) -> u64;
    /// Uses what a batch spends. Of equal nonces, here or at another node, one is accepted. After an error any of them may have been used.
    fn spend(&self, batch: &[Spending]) -> Result<Registered, StoreError>;
    /// Notes that a session with a hash chain is open until then, Unix seconds, and none of its values used; one that is known keeps its
    /// position. Refused if the register may have forgotten the session since `known_at`, when it was not open.
    fn open(&self, session: SessionId, known_at: u64, until: u64) -> Result<(), StoreError>;
    /// The last value that was used of a session's hash chain. It is a hint: it must be checked against a value that is known.
    fn last(&self, session: SessionId) -> Result<Option<Reveal>, StoreError>;
}
