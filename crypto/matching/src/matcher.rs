//! The matcher's role.

use crate::job::Masked;
use crate::probe::SealedProbe;
use crate::template::Ciphertext;
use crate::{
    BatchId, EncryptedProbes, Lane, LaneSet, MatchJob, ProbeJob, PublicKey, SharedProbe, Template, TenantId,
    Tier,
};
use std::sync::Arc;
use trefoil_bfv::{
    Embedding, LANES, Masker, PairCiphertext, Params, Placed, PlacedPair, PlacedShare, Scheme,
    TemplateCiphertext,
};

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
    /// A template is not under the key of the batch.
    #[error("the template in lane {} is under another key, or of another key structure", .0.index())]
    ForeignKey(Lane),
    /// Shared probes need one key per tenant.
    #[error("the tenant has a key per subject, with which shared probes cannot be matched")]
    Structure,
    /// Three key-holders decide where each subject has a key.
    #[error("the tenant has one key for all subjects, and three key-holders need a key per subject")]
    Three,
}

/// Who is in a batch, checked.
struct Roll {
    subjects: [Option<([u8; 32], u32)>; LANES],
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

    /// Multiplies each template by its probe and masks the result for the key-holder. Allocates the job's buffers only.
    ///
    /// # Errors
    /// [`MatchError`] when the batch is empty, repeats a lane or mixes tenants or keys.
    pub fn mask(
        &mut self,
        batch_id: BatchId,
        tenant: TenantId,
        key: &PublicKey,
        lanes: &[(&Template, &Embedding)],
    ) -> Result<MatchJob, MatchError> {
        let Roll { subjects } = Roll::call(&tenant, key, lanes.iter().map(|(template, _)| *template))?;
        let masked = match key.basis() {
            Some((basis, tags)) => {
                let placed = placed_own(lanes)?;
                let masked = self.masker.mask(basis, &placed[..lanes.len()]);
                Masked::Own(self.masker.tag(tags), masked)
            }
            None => {
                let placed = arranged(lanes, |&(template, probe)| {
                    Ok(PlacedPair { lane: template.lane.index(), template: pair(template)?, probe })
                })?;
                Masked::Pairs(self.masker.mask_pairs(&placed[..lanes.len()]))
            }
        };
        Ok(MatchJob { tenant, batch_id, epoch: key.epoch(), subjects, masked, witnesses: None })
    }

    /// [`Matcher::mask`] for three key-holders, with what each needs to check the other two.
    ///
    /// # Errors
    /// [`MatchError`] as [`Matcher::mask`]; also when the tenant has one key for all subjects.
    pub fn mask_for_three(
        &mut self,
        batch_id: BatchId,
        tenant: TenantId,
        key: &PublicKey,
        lanes: &[(&Template, &Embedding)],
    ) -> Result<MatchJob, MatchError> {
        let Roll { subjects } = Roll::call(&tenant, key, lanes.iter().map(|(template, _)| *template))?;
        let (basis, tags) = key.basis().ok_or(MatchError::Three)?;
        let placed = &placed_own(lanes)?[..lanes.len()];
        let masked = self.masker.mask(basis, placed);
        let masked = Masked::Own(self.masker.tag(tags), masked);
        let witnesses = Some(Box::new(self.masker.witnesses(basis, placed)));
        Ok(MatchJob { tenant, batch_id, epoch: key.epoch(), subjects, masked, witnesses })
    }

    /// The sealed shares of a batch, for the key-holder to encrypt.
    ///
    /// # Errors
    /// [`MatchError`] as [`Matcher::mask`].
    pub fn gather(
        &self,
        batch_id: BatchId,
        tenant: TenantId,
        key: &PublicKey,
        lanes: &[(&Template, &SharedProbe)],
    ) -> Result<ProbeJob, MatchError> {
        Roll::call(&tenant, key, lanes.iter().map(|(template, _)| *template))?;
        let mut probes = [const { None }; LANES];
        for (template, probe) in lanes {
            let SharedProbe { sealed, context, .. } = (*probe).clone();
            let Template { handle, generation, .. } = **template;
            probes[template.lane.index()] = Some(SealedProbe { handle, generation, sealed, context });
        }
        Ok(ProbeJob { tenant, batch_id, epoch: key.epoch(), probes })
    }

    /// Multiplies the templates by probes of which the matcher has one share and `probes` the other, and masks the product
    /// for the key-holder.
    ///
    /// # Errors
    /// [`MatchError`] as [`Matcher::mask`]; also when the tenant has a key per subject.
    pub fn mask_shared(
        &mut self,
        batch_id: BatchId,
        tenant: TenantId,
        key: &PublicKey,
        lanes: &[(&Template, &SharedProbe)],
        probes: &EncryptedProbes,
    ) -> Result<MatchJob, MatchError> {
        let Roll { subjects } = Roll::call(&tenant, key, lanes.iter().map(|(template, _)| *template))?;
        let zero = key.zero().ok_or(MatchError::Structure)?;
        let placed = arranged(lanes, |&(template, probe)| {
            let lane = template.lane.index();
            Ok(PlacedShare { lane, template: pair(template)?, share: &probe.share })
        })?;
        let masked = self.masker.mask_shared(zero, &placed[..lanes.len()], &probes.ciphertext);
        Ok(MatchJob {
            tenant,
            batch_id,
            epoch: key.epoch(),
            subjects,
            masked: Masked::Product(masked),
            witnesses: None,
        })
    }
}

impl Roll {
    fn call<'a>(
        tenant: &TenantId,
        key: &PublicKey,
        templates: impl Iterator<Item = &'a Template>,
    ) -> Result<Roll, MatchError> {
        let mut subjects = [None; LANES];
        let mut occupied = LaneSet::EMPTY;
        for template in templates {
            if template.tenant != *tenant {
                return Err(MatchError::ForeignTenant(template.lane));
            }
            if (template.epoch, template.structure()) != (key.epoch(), key.structure()) {
                return Err(MatchError::ForeignKey(template.lane));
            }
            if !occupied.insert(template.lane) {
                return Err(MatchError::DuplicateLane(template.lane));
            }
            subjects[template.lane.index()] = Some((template.handle, template.generation));
        }
        if occupied.is_empty() { Err(MatchError::Empty) } else { Ok(Roll { subjects }) }
    }
}

/// Templates under keys of their own, and their probes.
fn placed_own<'a>(lanes: &'a [(&'a Template, &'a Embedding)]) -> Result<[Placed<'a>; LANES], MatchError> {
    arranged(lanes, |&(template, probe)| {
        Ok(Placed { lane: template.lane.index(), template: own(template)?, probe })
    })
}

/// At most 32 requests, one per lane, in their places; those beyond the requests repeat the first.
fn arranged<'a, T, P: Copy>(
    lanes: &'a [T],
    place: impl Fn(&'a T) -> Result<P, MatchError>,
) -> Result<[P; LANES], MatchError> {
    let mut placed = [place(lanes.first().ok_or(MatchError::Empty)?)?; LANES];
    for (placed, request) in placed.iter_mut().zip(lanes).skip(1) {
        *placed = place(request)?;
    }
    Ok(placed)
}

fn own(template: &Template) -> Result<&TemplateCiphertext, MatchError> {
    match &template.ciphertext {
        Ciphertext::Own(own) => Ok(own),
        Ciphertext::Pair(_) => Err(MatchError::ForeignKey(template.lane)),
    }
}

fn pair(template: &Template) -> Result<&PairCiphertext, MatchError> {
    match &template.ciphertext {
        Ciphertext::Pair(pair) => Ok(pair),
        Ciphertext::Own(_) => Err(MatchError::ForeignKey(template.lane)),
    }
}
