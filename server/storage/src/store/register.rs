//! The register that the nodes of a fleet share: which nonces were used, at any of them.

use super::StoreError;

/// What one request uses once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spending {
    /// Half of the digest of its nonce and the nonce's scope.
    pub nonce: [u8; 16],
    /// Its date, Unix seconds.
    pub issued_at: u64,
}

/// The answer about one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// The nonce is new, and now used.
    First,
    /// The nonce was used before.
    Repeated,
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
}
