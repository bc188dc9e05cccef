//! The matcher's role.

use crate::job::{ForSeat, Masked, Stamp};
use crate::probe::SealedProbe;
use crate::quorum::Seat;
use crate::template::Ciphertext;
use crate::{
    BatchId, EncryptedProbes, Lane, LaneSet, MatchJob, Model, ProbeJob, PublicKey, SharedProbe, Template,
    TenantId, Tier,
};
use rand::TryRng as _;
use rand::rngs::SysRng;
use std::sync::Arc;
use trefoil_bfv::{
    Embedding, LANES, Masker, PairCiphertext, Params, Placed, PlacedShare, Scheme, TemplateCiphertext, Width,
};
use trefoil_types::Handle;

/// Fills its argument with unpredictable random bytes: in programs, from the operating system.
pub type Entropy = dyn FnMut(&mut [u8; 32]) + Send;

/// The operating system's source: some 300 ns, and different bytes in every copy of a machine that was copied while it ran.
///
/// # Panics
/// When the operating system has none.
pub fn system_entropy(fresh: &mut [u8; 32]) {
    SysRng.try_fill_bytes(fresh).expect("the operating system's random source answers");
}

/// One worker of the matcher: its generator and its scratch memory. Owned by one thread at a time; takes no locks.
pub struct Matcher {
    masker: Masker,
    entropy: Box<Entropy>,
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
    /// A template or probe is of another model than the first template.
    #[error("the template or the probe in lane {} is of another model", .0.index())]
    ForeignModel(Lane),
    /// The public key is for another probe mode, or for one key-holder where there is a quorum, or the other way round; or the encrypted
    /// probes lack one of the lanes.
    #[error("the tenant's public key, or the encrypted probes, are not for this kind of batch")]
    Key,
}

/// The checked participants of a batch.
struct Roll {
    subjects: [Option<(Handle, u32)>; LANES],
    occupied: LaneSet,
    model: Model,
}

impl Matcher {
    /// A worker that computes on `tier`, or the best below it that the machine has. Its generator starts from `entropy` and mixes in more
    /// of it before each batch, so that a process that is resumed twice from one snapshot does not mask two batches alike: the difference of two
    /// such batches would reveal the difference of their probes to the key-holder.
    pub fn new(tier: Tier, mut entropy: Box<Entropy>) -> Matcher {
        let scheme = if tier >= Tier::detected() {
            Arc::clone(Scheme::shared())
        } else {
            Scheme::new(Params::lanes94(), tier)
        };
        let mut seed = [0; 32];
        entropy(&mut seed);
        Matcher { masker: Masker::new(&scheme, seed), entropy }
    }

    /// Multiplies each template by its plain probe and masks the result for the key-holder, which decides it under `threshold` or not at all.
    /// Allocates the job's buffers only.
    ///
    /// # Errors
    /// [`MatchError`] when the batch is empty, repeats a lane or mixes tenants, keys or models.
    pub fn mask(
        &mut self,
        batch_id: BatchId,
        tenant: TenantId,
        threshold: i32,
        key: &PublicKey,
        lanes: &[(&Template, &Embedding)],
    ) -> Result<MatchJob, MatchError> {
        let roll = lanes.iter().map(|(template, probe)| (*template, Some(probe.width())));
        let Roll { subjects, model, .. } = Roll::call(&tenant, key, roll)?;
        let placed = &placed_own(lanes)?[..lanes.len()];
        self.refresh();
        let masked = if let Some((basis, tags)) = key.alone() {
            let masked = self.masker.mask(basis, placed);
            Masked::Plain(Stamp { version: tags.version, tags: [self.masker.tag(&tags.basis)] }, masked)
        } else {
            self.mask_for_quorum(key, placed)?
        };
        let leaves = [[0; 32]; LANES];
        Ok(MatchJob { tenant, batch_id, epoch: key.epoch(), subjects, model, threshold, leaves, masked })
    }

    /// A batch with the data that each seat of a quorum needs to check the other two and the matcher.
    fn mask_for_quorum(&mut self, key: &PublicKey, placed: &[Placed<'_>]) -> Result<Masked, MatchError> {
        let (basis, tags_of) = key.quorum().ok_or(MatchError::Key)?;
        let bases = tags_of.each_ref().map(|tags| &*tags.basis);
        let masked = self.masker.mask(basis, placed);
        let of_batch = bases.map(|basis| self.masker.tag(basis));
        let witnesses = self.masker.witnesses(basis, placed, bases);
        let for_seats = Seat::ALL.map(|seat| {
            let at = seat.index();
            let [next, last] = seat.others().map(|other| witnesses[other.index()].1[at].clone());
            let (witness, own) = &witnesses[at];
            let tags = [of_batch[at].clone(), own[at].clone(), next, last];
            ForSeat { witness: witness.clone(), stamp: Stamp { version: tags_of[at].version, tags } }
        });
        Ok(Masked::Quorum(Some(Box::new(for_seats)), masked))
    }

    /// Mixes fresh randomness into the generator.
    fn refresh(&mut self) {
        let mut fresh = [0; 32];
        (self.entropy)(&mut fresh);
        self.masker.refresh(&fresh);
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
        let roll = lanes.iter().map(|(template, probe)| (*template, probe.width()));
        let Roll { model, .. } = Roll::call(&tenant, key, roll)?;
        let mut probes = [const { None }; LANES];
        for (template, probe) in lanes {
            let SharedProbe { sealed, sealed_for, .. } = (*probe).clone();
            let Template { handle, generation, .. } = **template;
            probes[template.lane.index()] = Some(SealedProbe { handle, generation, sealed, sealed_for });
        }
        Ok(ProbeJob { tenant, batch_id, epoch: key.epoch(), model, probes })
    }

    /// Multiplies the templates by probes of which the matcher has one share and `probes` the other, and masks the product
    /// for the key-holder. `probes` may have been made for more lanes than are left.
    ///
    /// # Errors
    /// [`MatchError`] as [`Matcher::mask`]; also when the tenant has a key per subject.
    pub fn mask_shared(
        &mut self,
        batch_id: BatchId,
        tenant: TenantId,
        threshold: i32,
        key: &PublicKey,
        lanes: &[(&Template, &SharedProbe)],
        probes: &EncryptedProbes,
    ) -> Result<MatchJob, MatchError> {
        let roll = lanes.iter().map(|(template, probe)| (*template, probe.width()));
        let Roll { subjects, occupied, model } = Roll::call(&tenant, key, roll)?;
        let zero = key.zero().ok_or(MatchError::Key)?;
        let probes = probes.of(model, occupied).ok_or(MatchError::Key)?;
        let placed = arranged(lanes, |&(template, probe)| {
            let lane = template.lane.index();
            Ok(PlacedShare { lane, template: pair(template)?, share: &probe.share })
        })?;
        self.refresh();
        let placed = &placed[..lanes.len()];
        let masked = self.masker.mask_shared(zero, placed, &probes);
        let (epoch, leaves, masked) = (key.epoch(), [[0; 32]; LANES], Masked::Product(masked));
        Ok(MatchJob { tenant, batch_id, epoch, subjects, model, threshold, leaves, masked })
    }
}

impl Roll {
    fn call<'a>(
        tenant: &TenantId,
        key: &PublicKey,
        mut templates: impl Iterator<Item = (&'a Template, Option<Width>)>,
    ) -> Result<Roll, MatchError> {
        let mut subjects = [None; LANES];
        let mut occupied = LaneSet::EMPTY;
        let first = templates.next().ok_or(MatchError::Empty)?;
        let model = first.0.model;
        for (template, width) in [first].into_iter().chain(templates) {
            if template.tenant != *tenant {
                return Err(MatchError::ForeignTenant(template.lane));
            }
            if (template.epoch, template.structure()) != (key.epoch(), key.structure()) {
                return Err(MatchError::ForeignKey(template.lane));
            }
            if (template.model, width) != (model, Some(model.width())) {
                return Err(MatchError::ForeignModel(template.lane));
            }
            if !occupied.insert(template.lane) {
                return Err(MatchError::DuplicateLane(template.lane));
            }
            subjects[template.lane.index()] = Some((template.handle, template.generation));
        }
        Ok(Roll { subjects, occupied, model })
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
