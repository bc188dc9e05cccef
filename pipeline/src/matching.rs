//! The encrypted match of one batch, in either probe mode.

use trefoil_attest::ProbeMode;
use trefoil_matching::{
    Decisions, Embedding, KeyHolderError, KeyHolding, LaneSet, MatchError, MatchJob, Matcher, PublicKey,
    SharedProbe, Template,
};

use crate::clock::Clock;
use crate::request::{Probe, Refusal};
use crate::steps::{ProvenLane, Run};
use crate::tenant::Tenant;

/// What a match needs besides its lanes.
pub(crate) struct Round<'a> {
    pub(crate) tenant: &'a Tenant,
    pub(crate) keyholder: &'a dyn KeyHolding,
    pub(crate) matcher: &'a mut Matcher,
    pub(crate) clock: &'a dyn Clock,
}

/// Why a group of lanes is not decided as it is.
enum Obstacle {
    /// These lanes are to be left out, for this reason.
    Lanes(LaneSet, Refusal),
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
        let (mut waiting, foreign): (Vec<_>, Vec<_>) =
            lanes.into_iter().partition(|lane| lane.request.probe.mode() == mode);
        run.refuse(foreign, Refusal::ProbeMode);
        let (mut decided, mut accepted) = (Vec::new(), 0);
        while let Some(epoch) = waiting.first().map(|lane| lane.request.template.epoch) {
            let (group, others): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|lane| lane.request.template.epoch == epoch);
            waiting = others;
            let Some(key) = self.tenant.key(epoch) else {
                // The keys were rotated while the request waited: its template has a newer form.
                run.refuse(group, Refusal::Template);
                continue;
            };
            if let Some((group, decisions)) = self.decide_group(run, key, group) {
                decided.extend(group);
                accepted |= decisions.lanes().bits();
            }
        }
        decided.sort_unstable_by_key(|lane| lane.request.template.lane);
        (decided, Decisions::from_lanes(LaneSet::from_bits(accepted)))
    }

    /// Encrypted match and decision. Lanes whose template was shredded in the meantime, or whose sealed share does not open, are
    /// taken out and the others masked again, so that one of them does not cost its neighbours their answer.
    fn decide_group<R>(
        &mut self,
        run: &mut Run<R>,
        key: &PublicKey,
        mut lanes: Vec<ProvenLane<R>>,
    ) -> Option<(Vec<ProvenLane<R>>, Decisions)> {
        while !lanes.is_empty() {
            let answer = self.mask(run, key, &lanes).and_then(|job| {
                let started = self.clock.monotonic_ns();
                let answer = self.keyholder.decide(&job, run.now).map_err(obstacle);
                run.times.keyholder_ns += self.clock.monotonic_ns() - started;
                answer
            });
            let (out, why) = match answer {
                Ok(decisions) => return Some((lanes, decisions)),
                Err(Obstacle::Lanes(out, why)) => (out, why),
                Err(Obstacle::All(why)) => {
                    run.refuse(lanes, why);
                    return None;
                }
            };
            let (gone, rest): (Vec<_>, Vec<_>) =
                lanes.into_iter().partition(|lane| out.contains(lane.request.template.lane));
            if gone.is_empty() {
                run.refuse(rest, Refusal::KeyHolder);
                return None;
            }
            run.refuse(gone, why);
            lanes = rest;
        }
        None
    }

    /// The job of a group of lanes. In the shared mode the key-holder encrypts its shares first.
    fn mask<R>(
        &mut self,
        run: &mut Run<R>,
        key: &PublicKey,
        lanes: &[ProvenLane<R>],
    ) -> Result<MatchJob, Obstacle> {
        let (batch, tenant) = (run.batch_id, self.tenant.id);
        let fault = |_: MatchError| Obstacle::All(Refusal::KeyHolder);
        let started = self.clock.monotonic_ns();
        if self.tenant.policy.probe != ProbeMode::Shared {
            let plain: Vec<(&Template, &Embedding)> = lanes
                .iter()
                .filter_map(|lane| match &lane.request.probe {
                    Probe::Plain(probe) => Some((&lane.request.template, probe)),
                    Probe::Shared(_) => None,
                })
                .collect();
            let job = match self.keyholder.is_three() {
                true => self.matcher.mask_for_three(batch, tenant, key, &plain),
                false => self.matcher.mask(batch, tenant, key, &plain),
            }
            .map_err(fault)?;
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
        let sealed = self.matcher.gather(batch, tenant, key, &shared).map_err(fault)?;
        let asked = self.clock.monotonic_ns();
        let probes = self.keyholder.encrypt_probes(&sealed).map_err(obstacle);
        let waited = self.clock.monotonic_ns() - asked;
        run.times.keyholder_ns += waited;
        let job = self.matcher.mask_shared(batch, tenant, key, &shared, &probes?).map_err(fault)?;
        run.times.match_ns += self.clock.monotonic_ns() - started - waited;
        Ok(job)
    }
}

fn obstacle(cause: KeyHolderError) -> Obstacle {
    match cause {
        KeyHolderError::UnknownSubjects(unknown) => Obstacle::Lanes(unknown, Refusal::Template),
        KeyHolderError::SealedShares(refused) => Obstacle::Lanes(refused, Refusal::SealedShare),
        KeyHolderError::Unavailable(_) => Obstacle::All(Refusal::KeyHolderUnavailable),
        _ => Obstacle::All(Refusal::KeyHolder),
    }
}
