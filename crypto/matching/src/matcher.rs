//! The matcher's role.

use crate::{Basis, BatchId, Lane, MatchJob, Template, TenantId, Tier};
use trefoil_bfv::Embedding;

/// One worker of the matcher: its generator and its scratch memory. Owned by one thread at a time.
pub struct Matcher(());

/// Why a batch was refused. Nothing was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    /// The batch has no request.
    #[error("the batch is empty")]
    Empty,
    /// Two requests share a lane.
    #[error("lane {} occurs twice in the batch", .0.index())]
    DuplicateLane(Lane),
    /// A template belongs to another tenant.
    #[error("the template in lane {} belongs to another tenant", .0.index())]
    ForeignTenant(Lane),
}

impl Matcher {
    /// A worker that computes on `tier` (or the best the machine has below it). `seed` comes from the operating
    /// system's generator, and no two workers share one.
    pub fn new(_tier: Tier, _seed: [u8; 32]) -> Matcher {
        todo!()
    }

    /// Multiplies each template by its probe and masks the result for the key-holder.
    ///
    /// # Errors
    /// [`MatchError`] when the batch is empty, repeats a lane or mixes tenants.
    pub fn mask(
        &mut self,
        _batch_id: BatchId,
        _tenant: TenantId,
        _basis: &Basis,
        _lanes: &[(&Template, &Embedding)],
    ) -> Result<MatchJob, MatchError> {
        todo!()
    }
}
