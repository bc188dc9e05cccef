//! Checks of a request that only the service can make. The worker calls them, for a request in a session once the session's verdict is known.

use crate::request::{LaneRequest, Refusal};
use crate::verdict::Verdict;

/// The service's part of the prove step. The worker that looks up the verdict calls it, so that a request is looked up once and
/// nothing is spent for a request that does not come from the session holder. Called for each lane on the workers' threads.
pub trait Door<R>: Send + Sync {
    /// Whether the session's holder made this request: whether its MAC is right under the verdict's session key.
    fn is_holders(&self, request: &LaneRequest<R>, verdict: &Verdict) -> bool;

    /// Spends what a request may use once: its nonce. Called after the MAC and every
    /// condition of the verdict, and before the match. Of a request without a session it is all that is asked: the nonce is then used
    /// once for its tenant and handle.
    ///
    /// # Errors
    /// The reason why it cannot be spent.
    fn spend(&self, request: &LaneRequest<R>, now: u64) -> Result<(), Refusal>;

    /// Spends the same at a register that several processes share. Called once for each batch, after [`Door::spend`] has admitted these
    /// requests, so that a batch costs one round trip. May block the worker for as long as the register's bound allows.
    ///
    /// Returns the places of the requests that are refused, ascending. Without a register all are admitted, and nothing is allocated.
    fn spend_shared(
        &self,
        requests: &mut dyn Iterator<Item = &LaneRequest<R>>,
        now: u64,
    ) -> Vec<(usize, Refusal)> {
        let _ = (requests, now);
        Vec::new()
    }
}

/// Admits every request: for benchmarks and tests, whose requests have no MAC.
#[derive(Clone, Copy, Debug, Default)]
pub struct Open;

impl<R> Door<R> for Open {
    fn is_holders(&self, _: &LaneRequest<R>, _: &Verdict) -> bool {
        true
    }

    fn spend(&self, _: &LaneRequest<R>, _: u64) -> Result<(), Refusal> {
        Ok(())
    }
}
