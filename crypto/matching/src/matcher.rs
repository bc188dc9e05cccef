//! The matcher's role.

use crate::{Basis, BatchId, Lane, LaneSet, MatchJob, Template, TenantId, Tier};
use std::sync::Arc;
use trefoil_bfv::{Embedding, LANES, Masker, Params, Placed, Scheme};

/// One worker of the matcher: its generator and its scratch memory. Owned by one thread at a time; takes no locks.
pub struct Matcher {
    masker: Masker,
}

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
    /// A worker that computes on `tier`, or the best below it that the machine has. `seed` comes from the operating
    /// system's generator, and no two workers share one.
    pub fn new(tier: Tier, seed: [u8; 32]) -> Matcher {
        let scheme = if tier >= Tier::detected() {
            Arc::clone(Scheme::shared())
        } else {
            Scheme::new(Params::lanes94(), tier)
        };
        Matcher { masker: Masker::new(&scheme, seed) }
    }

    /// Multiplies each template by its probe and masks the result for the key-holder. Allocates the job's buffer only.
    ///
    /// # Errors
    /// [`MatchError`] when the batch is empty, repeats a lane or mixes tenants.
    pub fn mask(
        &mut self,
        batch_id: BatchId,
        tenant: TenantId,
        basis: &Basis,
        lanes: &[(&Template, &Embedding)],
    ) -> Result<MatchJob, MatchError> {
        let (&first, others) = lanes.split_first().ok_or(MatchError::Empty)?;
        let mut placed = [place(first); LANES];
        let mut subjects = [None; LANES];
        let mut occupied = LaneSet::EMPTY;
        for (k, &request) in [first].iter().chain(others).enumerate() {
            let template = request.0;
            if template.tenant != tenant {
                return Err(MatchError::ForeignTenant(template.lane));
            }
            if !occupied.insert(template.lane) {
                return Err(MatchError::DuplicateLane(template.lane));
            }
            placed[k] = place(request);
            subjects[template.lane.index()] = Some((template.handle, template.generation));
        }
        let masked = self.masker.mask(basis.inner(), &placed[..lanes.len()]);
        Ok(MatchJob { tenant, batch_id, subjects, masked })
    }
}

fn place<'a>((template, probe): (&'a Template, &'a Embedding)) -> Placed<'a> {
    Placed { lane: template.lane.index(), template: &template.ciphertext, probe }
}
