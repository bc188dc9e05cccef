//! The encrypted match of one batch, in either probe mode.

mod spent;
mod usual;

pub(crate) use spent::Spent;
pub(crate) use usual::Usual;

use trefoil_attest::{ProbeMode, decided_entry};
use trefoil_kernels::keccak;
use trefoil_matching::{
    Decisions, Embedding, EncryptedProbes, KeyHolderError, KeyHolding, LANES, LaneSet, MatchError, MatchJob,
    Matcher, PublicKey, SharedProbe, Template,
};

use crate::clock::Clock;
use crate::request::{Probe, Refusal};
use crate::run::{BackedLane, Run};
use crate::tenant::{Tenant, Tenants};

/// The inputs of a match besides its lanes.
pub(crate) struct Round<'a, C> {
    pub(crate) tenants: &'a dyn Tenants<C>,
    pub(crate) tenant: &'a Tenant,
    pub(crate) key_holder: &'a dyn KeyHolding,
    pub(crate) matcher: &'a mut Matcher,
    pub(crate) spent: &'a mut Spent,
    /// Of matches in the tenant's probe mode.
    pub(crate) usual: &'a mut Usual,
    pub(crate) clock: &'a dyn Clock,
}

/// The shared inputs for lanes of one model and one epoch of the tenant's keys.
struct Keys {
    key: PublicKey,
    threshold: i32,
    /// The key-holder's result from the shares sealed to it. It opens each share once, so the result is reused for every attempt to match them.
    probes: Option<EncryptedProbes>,
    /// Whether the keys were fetched again.
    renewed: bool,
}

/// Why lanes cannot be decided together.
enum Obstacle {
    /// Leave out these lanes, for this reason.
    Lanes(LaneSet, Refusal),
    /// These lanes name subjects without an attempt: the answer is no.
    Spent(LaneSet),
    /// The key-holder has newer keys.
    Keys,
    /// No lane can be decided.
    All(Refusal),
}

impl<C> Round<'_, C> {
    /// The lanes that were decided, ascending, and the decisions; the others are refused. Lanes of one model and one epoch of the tenant's
    /// keys are matched together: two rounds while the keys are rotated or people are enrolled with another model, otherwise one. If all are denied without a match, the answer takes as long
    /// as with one.
    pub(crate) fn decide<R>(
        &mut self,
        run: &mut Run<R>,
        lanes: Vec<BackedLane<R>>,
    ) -> (Vec<BackedLane<R>>, Decisions) {
        let mode = self.tenant.policy.probe;
        let (lanes, foreign): (Vec<_>, Vec<_>) =
            lanes.into_iter().partition(|lane| lane.request.probe.mode() == mode);
        run.refuse(foreign, Refusal::ProbeMode);
        let now = self.clock.monotonic_ns();
        let spent = |lane: &BackedLane<R>| self.spent.has(&lane.request.template, now);
        // Their answer is no, and the key-holder is not asked again at once.
        let (mut decided, mut waiting): (Vec<_>, Vec<_>) = lanes.into_iter().partition(spent);
        let (mut accepted, mut matched) = (0, false);
        let under = |lane: &BackedLane<R>| (lane.request.template.epoch, lane.request.template.model);
        while let Some((epoch, model)) = waiting.first().map(under) {
            let (lanes, others): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|lane| under(lane) == (epoch, model));
            waiting = others;
            let in_force = self.tenant.policy.calibrated(&model).map(|calibrated| calibrated.threshold);
            let (Some(key), Some(threshold)) = (self.tenant.key(epoch).cloned(), in_force) else {
                // The keys were rotated while the request waited, or its model was removed: its template has a newer form.
                run.refuse(lanes, Refusal::Template);
                continue;
            };
            let keys = Keys { key, threshold, probes: None, renewed: false };
            if let Some(lanes) = self.decide_epoch(run, keys, lanes, &mut decided) {
                accepted |= lanes.bits();
                matched = true;
            }
        }
        if !matched && !decided.is_empty() {
            self.clock.wait_until(now + self.usual.of(decided.len()));
        }
        decided.sort_unstable_by_key(|lane| lane.request.template.lane);
        (decided, Decisions::from_lanes(LaneSet::from_bits(accepted)))
    }

    /// Encrypted match and decision: adds the decided lanes to `decided`, and returns the accepted lanes, or `None` if nothing was matched. Lanes
    /// that prevent a decision are removed and the others masked again, so that one lane does not cost its neighbours their answer.
    fn decide_epoch<R>(
        &mut self,
        run: &mut Run<R>,
        mut keys: Keys,
        mut lanes: Vec<BackedLane<R>>,
        decided: &mut Vec<BackedLane<R>>,
    ) -> Option<LaneSet> {
        while !lanes.is_empty() {
            let begun = self.clock.monotonic_ns();
            let answer = self.mask(run, &mut keys, &lanes).and_then(|job| {
                let started = self.clock.monotonic_ns();
                let answer = self.key_holder.decide(job).map_err(obstacle);
                run.times.key_holder_ns += self.clock.monotonic_ns() - started;
                answer
            });
            match answer {
                Ok(decisions) => {
                    self.usual.note(lanes.len(), self.clock.monotonic_ns() - begun);
                    decided.append(&mut lanes);
                    return Some(decisions.lanes());
                }
                Err(Obstacle::Lanes(out, why)) if has_any_of(&lanes, out) => {
                    run.refuse(take(&mut lanes, out), why)
                }
                Err(Obstacle::Spent(out)) if has_any_of(&lanes, out) => {
                    let now = self.clock.monotonic_ns();
                    let gone = take(&mut lanes, out);
                    gone.iter().for_each(|lane| self.spent.note(&lane.request.template, now));
                    decided.extend(gone);
                }
                Err(Obstacle::Keys) if !keys.renewed && self.renew_keys(&mut keys) => {}
                Err(Obstacle::All(why)) => run.refuse(std::mem::take(&mut lanes), why),
                Err(_) => run.refuse(std::mem::take(&mut lanes), Refusal::KeyHolder),
            }
        }
        None
    }

    /// Fetches the tenant's public keys again, for all workers; returns whether the key of the lanes' epoch is among them.
    fn renew_keys(&self, renewing: &mut Keys) -> bool {
        let Ok(keys) = self.key_holder.public_keys(self.tenant.id) else { return false };
        self.tenants.renew_keys(&self.tenant.id, &keys);
        let same_epoch = keys.into_iter().find(|key| key.epoch() == renewing.key.epoch());
        renewing.renewed = true;
        same_epoch.map(|key| renewing.key = key).is_some()
    }

    /// The job of the lanes of an epoch. In the shared mode the key-holder encrypts its shares first.
    fn mask<R>(
        &mut self,
        run: &mut Run<R>,
        keys: &mut Keys,
        lanes: &[BackedLane<R>],
    ) -> Result<MatchJob, Obstacle> {
        let (batch, tenant, threshold) = (run.batch_id, self.tenant.id, keys.threshold);
        let fault = |_: MatchError| Obstacle::All(Refusal::KeyHolder);
        let started = self.clock.monotonic_ns();
        let Keys { key, probes, .. } = keys;
        if self.tenant.policy.probe != ProbeMode::Shared {
            let plain: Vec<(&Template, &Embedding)> = lanes
                .iter()
                .filter_map(|lane| match &lane.request.probe {
                    Probe::Plain(probe) => Some((&lane.request.template, probe)),
                    Probe::Shared(_) => None,
                })
                .collect();
            let mut job = self.matcher.mask(batch, tenant, threshold, key, &plain).map_err(fault)?;
            job.leaves = leaves(run, lanes);
            run.times.match_ns += self.clock.monotonic_ns() - started;
            return Ok(job);
        }
        let shared: Vec<(&Template, &SharedProbe)> = lanes
            .iter()
            .filter_map(|lane| match &lane.request.probe {
                Probe::Shared(probe) => Some((&lane.request.template, &**probe)),
                Probe::Plain(_) => None,
            })
            .collect();
        let mut waited = 0;
        let encrypted = match probes.take() {
            Some(encrypted) => encrypted,
            None => {
                let sealed = self.matcher.gather(batch, tenant, key, &shared).map_err(fault)?;
                let asked = self.clock.monotonic_ns();
                let encrypted = self.key_holder.encrypt_probes(sealed).map_err(obstacle);
                waited = self.clock.monotonic_ns() - asked;
                run.times.key_holder_ns += waited;
                encrypted?
            }
        };
        let encrypted = probes.insert(encrypted);
        let mut job =
            self.matcher.mask_shared(batch, tenant, threshold, key, &shared, encrypted).map_err(fault)?;
        job.leaves = leaves(run, lanes);
        run.times.match_ns += self.clock.monotonic_ns() - started - waited;
        Ok(job)
    }
}

/// What the key-holder's log shows of each lane that matches: [`trefoil_attest::Statement::decided_leaf`] of what will be attested. Eight side by side.
fn leaves<R>(run: &Run<R>, lanes: &[BackedLane<R>]) -> [[u8; 32]; LANES] {
    let (mut entries, mut hashed, mut leaves) = ([[0; 97]; LANES], [[0; 32]; LANES], [[0; 32]; LANES]);
    for (entry, BackedLane { request, account, .. }) in entries.iter_mut().zip(lanes) {
        *entry = decided_entry(&run.batch_id, &request.request_digest, account);
    }
    let messages = entries.each_ref().map(|entry| &entry[..]);
    keccak::sha3_256(run.cpu, &messages[..lanes.len()], &mut hashed[..lanes.len()]);
    for (lane, leaf) in lanes.iter().zip(hashed) {
        leaves[lane.request.template.lane.index()] = leaf;
    }
    leaves
}

fn has_any_of<R>(lanes: &[BackedLane<R>], out: LaneSet) -> bool {
    lanes.iter().any(|lane| out.contains(lane.request.template.lane))
}

fn take<R>(lanes: &mut Vec<BackedLane<R>>, out: LaneSet) -> Vec<BackedLane<R>> {
    lanes.extract_if(.., |lane| out.contains(lane.request.template.lane)).collect()
}

fn obstacle(cause: KeyHolderError) -> Obstacle {
    match cause {
        KeyHolderError::UnknownSubjects(unknown) => Obstacle::Lanes(unknown, Refusal::Template),
        KeyHolderError::SealedShares(refused) => Obstacle::Lanes(refused, Refusal::SealedShare),
        KeyHolderError::Contested(lanes) => Obstacle::Lanes(lanes, Refusal::KeyHolderUnavailable),
        KeyHolderError::NoAttempts(spent) => Obstacle::Spent(spent),
        KeyHolderError::TagKey => Obstacle::Keys,
        KeyHolderError::OtherThreshold(_) | KeyHolderError::Model => Obstacle::All(Refusal::Threshold),
        KeyHolderError::Unavailable(_) => Obstacle::All(Refusal::KeyHolderUnavailable),
        _ => Obstacle::All(Refusal::KeyHolder),
    }
}
