//! The encrypted match of one batch, in either probe mode.

mod spent;

pub(crate) use spent::Spent;

use trefoil_attest::ProbeMode;
use trefoil_matching::{
    Decisions, Embedding, EncryptedProbes, KeyHolderError, KeyHolding, LaneSet, MatchError, MatchJob,
    Matcher, PublicKey, SharedProbe, Template,
};

use crate::clock::Clock;
use crate::request::{Probe, Refusal};
use crate::steps::{ProvenLane, Run};
use crate::tenant::{Registry, Tenant};

/// What a match needs besides its lanes.
pub(crate) struct Round<'a> {
    pub(crate) tenants: &'a Registry,
    pub(crate) tenant: &'a Tenant,
    pub(crate) keyholder: &'a dyn KeyHolding,
    pub(crate) matcher: &'a mut Matcher,
    pub(crate) spent: &'a mut Spent,
    pub(crate) clock: &'a dyn Clock,
}

/// Lanes of one epoch of the tenant's keys, which are matched together.
struct Group<R> {
    key: PublicKey,
    lanes: Vec<ProvenLane<R>>,
    /// What the key-holder made of the shares sealed to it: it opens each once, so this serves for every attempt to match them.
    probes: Option<EncryptedProbes>,
    /// The keys were fetched again.
    renewed: bool,
}

/// Why a group of lanes is not decided as it is.
enum Obstacle {
    /// These lanes are to be left out, for this reason.
    Lanes(LaneSet, Refusal),
    /// These name subjects without an attempt: the answer is no.
    Spent(LaneSet),
    /// The key-holder has newer keys.
    Keys,
    /// None can be decided.
    All(Refusal),
}

impl Round<'_> {
    /// The lanes that were decided, ascending, and the decisions; the others are refused. Lanes of one epoch of the tenant's
    /// keys are matched together: two rounds while the keys are rotated, otherwise one.
    pub(crate) fn decide<R>(
        &mut self,
        run: &mut Run<R>,
        lanes: Vec<ProvenLane<R>>,
    ) -> (Vec<ProvenLane<R>>, Decisions) {
        let mode = self.tenant.policy.probe;
        let (lanes, foreign): (Vec<_>, Vec<_>) =
            lanes.into_iter().partition(|lane| lane.request.probe.mode() == mode);
        run.refuse(foreign, Refusal::ProbeMode);
        let now = self.clock.monotonic_ns();
        let spent = |lane: &ProvenLane<R>| self.spent.has(&lane.request.template, now);
        // Their answer is no, and is not asked for again at once.
        let (mut decided, mut waiting): (Vec<_>, Vec<_>) = lanes.into_iter().partition(spent);
        let mut accepted = 0;
        while let Some(epoch) = waiting.first().map(|lane| lane.request.template.epoch) {
            let (lanes, others): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|lane| lane.request.template.epoch == epoch);
            waiting = others;
            let Some(key) = self.tenant.key(epoch).cloned() else {
                // The keys were rotated while the request waited: its template has a newer form.
                run.refuse(lanes, Refusal::Template);
                continue;
            };
            let group = Group { key, lanes, probes: None, renewed: false };
            accepted |= self.decide_group(run, group, &mut decided).bits();
        }
        decided.sort_unstable_by_key(|lane| lane.request.template.lane);
        (decided, Decisions::from_lanes(LaneSet::from_bits(accepted)))
    }

    /// Encrypted match and decision: adds what was decided to `decided`, and returns the lanes that were accepted. Lanes that stand in the
    /// way are taken out and the others masked again, so that one of them does not cost its neighbours their answer.
    fn decide_group<R>(
        &mut self,
        run: &mut Run<R>,
        mut group: Group<R>,
        decided: &mut Vec<ProvenLane<R>>,
    ) -> LaneSet {
        while !group.lanes.is_empty() {
            let answer = self.mask(run, &mut group).and_then(|job| {
                let started = self.clock.monotonic_ns();
                let answer = self.keyholder.decide(job).map_err(obstacle);
                run.times.keyholder_ns += self.clock.monotonic_ns() - started;
                answer
            });
            match answer {
                Ok(decisions) => {
                    decided.append(&mut group.lanes);
                    return decisions.lanes();
                }
                Err(Obstacle::Lanes(out, why)) if group.has_any_of(out) => run.refuse(group.take(out), why),
                Err(Obstacle::Spent(out)) if group.has_any_of(out) => {
                    let now = self.clock.monotonic_ns();
                    let gone = group.take(out);
                    gone.iter().for_each(|lane| self.spent.note(&lane.request.template, now));
                    decided.extend(gone);
                }
                Err(Obstacle::Keys) if !group.renewed && self.renew_keys(&mut group) => {}
                Err(Obstacle::All(why)) => run.refuse(std::mem::take(&mut group.lanes), why),
                Err(_) => run.refuse(std::mem::take(&mut group.lanes), Refusal::KeyHolder),
            }
        }
        LaneSet::EMPTY
    }

    /// Fetches the tenant's public keys again, for everybody; whether that of the group's epoch is among them.
    fn renew_keys<R>(&self, group: &mut Group<R>) -> bool {
        let Ok(keys) = self.keyholder.public_keys(self.tenant.id) else { return false };
        self.tenants.renew_keys(&self.tenant.id, &keys);
        let same_epoch = keys.into_iter().find(|key| key.epoch() == group.key.epoch());
        group.renewed = true;
        same_epoch.map(|key| group.key = key).is_some()
    }

    /// The job of a group of lanes. In the shared mode the key-holder encrypts its shares first.
    fn mask<R>(&mut self, run: &mut Run<R>, group: &mut Group<R>) -> Result<MatchJob, Obstacle> {
        let (batch, tenant) = (run.batch_id, self.tenant.id);
        let fault = |_: MatchError| Obstacle::All(Refusal::KeyHolder);
        let started = self.clock.monotonic_ns();
        let Group { key, lanes, probes, .. } = group;
        if self.tenant.policy.probe != ProbeMode::Shared {
            let plain: Vec<(&Template, &Embedding)> = lanes
                .iter()
                .filter_map(|lane| match &lane.request.probe {
                    Probe::Plain(probe) => Some((&lane.request.template, probe)),
                    Probe::Shared(_) => None,
                })
                .collect();
            let job = self.matcher.mask(batch, tenant, key, &plain).map_err(fault)?;
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
                let encrypted = self.keyholder.encrypt_probes(sealed).map_err(obstacle);
                waited = self.clock.monotonic_ns() - asked;
                run.times.keyholder_ns += waited;
                encrypted?
            }
        };
        let encrypted = probes.insert(encrypted);
        let job = self.matcher.mask_shared(batch, tenant, key, &shared, encrypted).map_err(fault)?;
        run.times.match_ns += self.clock.monotonic_ns() - started - waited;
        Ok(job)
    }
}

impl<R> Group<R> {
    fn has_any_of(&self, lanes: LaneSet) -> bool {
        self.lanes.iter().any(|lane| lanes.contains(lane.request.template.lane))
    }

    fn take(&mut self, out: LaneSet) -> Vec<ProvenLane<R>> {
        self.lanes.extract_if(.., |lane| out.contains(lane.request.template.lane)).collect()
    }
}

fn obstacle(cause: KeyHolderError) -> Obstacle {
    match cause {
        KeyHolderError::UnknownSubjects(unknown) => Obstacle::Lanes(unknown, Refusal::Template),
        KeyHolderError::SealedShares(refused) => Obstacle::Lanes(refused, Refusal::SealedShare),
        KeyHolderError::Contested(lanes) => Obstacle::Lanes(lanes, Refusal::KeyHolderUnavailable),
        KeyHolderError::NoAttempts(spent) => Obstacle::Spent(spent),
        KeyHolderError::TagKey => Obstacle::Keys,
        KeyHolderError::Unavailable(_) => Obstacle::All(Refusal::KeyHolderUnavailable),
        _ => Obstacle::All(Refusal::KeyHolder),
    }
}
