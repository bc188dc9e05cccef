//! The checks of a login beside its verdict, on the pipeline's workers: the MAC, and values that can be used once.
//!
//! The worker that looks up a session's verdict checks the MAC beside it, and then spends the nonce. So
//! there is one look-up for each login, and nothing is spent until the MAC proves that the request comes from the session holder. A node of a fleet
//! then spends the same at the register of all nodes, once for a batch ([`crate::login::register`]).

use crate::AHEAD_S;
use crate::log::asker::{Asker, Login};
use crate::log::seal_log::Standing;
use crate::login::register::{EARLY_S, Lane, refused};
use crate::login::replay::{NonceScope, ReplayGuard, Use, entry};
use std::sync::Arc;
use trefoil_attest::RequestHeader;
use trefoil_pipeline::{Backing, Door, InSession, LaneRequest, Refusal, Verdict};
use trefoil_storage::store::Register;

/// See the module.
pub struct FrontDoor {
    replay: ReplayGuard,
    register: Option<Arc<dyn Register>>,
    seal_log: Arc<Standing>,
}

impl FrontDoor {
    /// A door that remembers at most `nonces_max` nonces in two minutes, and asks the register of its fleet, if it is in one. It tells the log
    /// of seals how a seal over what it admitted must be dated, see [`crate::login::past`].
    pub fn new(nonces_max: usize, register: Option<Arc<dyn Register>>, seal_log: Arc<Standing>) -> FrontDoor {
        FrontDoor { replay: ReplayGuard::new(nonces_max), register, seal_log }
    }

    /// Nonces that it remembers of the current two minutes. Takes each of its locks for a moment; for scrapes only.
    pub fn nonces(&self) -> usize {
        self.replay.held()
    }
}

impl Door<Asker> for FrontDoor {
    fn is_holders(&self, request: &LaneRequest<Asker>, verdict: &Verdict) -> bool {
        let (Asker::Login(Login { claim, .. }), Backing::Session(InSession { id, .. })) =
            (&request.reply, &request.backing)
        else {
            return false;
        };
        let header = RequestHeader {
            session_id: *id,
            handle: request.template.handle,
            audience: &request.audience,
            nonce: &request.nonce,
            issued_at: claim.issued_at,
            probe_digest: &claim.probe_digest,
        };
        claim.is_made_with(verdict, &header)
    }

    fn spend(&self, request: &LaneRequest<Asker>, now: u64) -> Result<(), Refusal> {
        let Asker::Login(Login { claim, is_spent, .. }) = &request.reply else { return Err(Refusal::Fault) };
        if *is_spent {
            return Ok(());
        }
        match self.replay.note(&scope(request), &request.nonce, claim.issued_at, now) {
            Use::First => {}
            Use::Repeated => return Err(Refusal::NonceUsed),
            Use::Full => return Err(Refusal::NoncesFull),
            // The register decides, by the database's clock: this node's may have been ahead for a moment.
            Use::Dropped if self.register.is_some() => {}
            Use::TooOld | Use::Dropped => return Err(Refusal::TooOld),
        }
        if self.register.is_none() {
            self.seal_log.reach(claim.issued_at.saturating_sub(AHEAD_S));
        }
        Ok(())
    }

    fn spend_shared(
        &self,
        requests: &mut dyn Iterator<Item = &LaneRequest<Asker>>,
        now: u64,
    ) -> Vec<(usize, Refusal)> {
        let Some(register) = &self.register else { return Vec::new() };
        let lanes: Vec<Lane> = requests.enumerate().filter_map(|(place, of)| lane(place, of)).collect();
        let refused = refused(&**register, &lanes, now);
        let is_refused = |lane: &&Lane| refused.iter().any(|(place, _)| *place == lane.place);
        if let Some(latest) = lanes.iter().filter(|lane| !is_refused(lane)).map(|lane| lane.issued_at).max() {
            self.seal_log.reach(latest.saturating_sub(EARLY_S));
        }
        refused
    }
}

/// Where a request's nonce can be used once.
fn scope(request: &LaneRequest<Asker>) -> NonceScope {
    match &request.backing {
        Backing::Session(session) => NonceScope::session(&session.id),
        Backing::Application(_) => NonceScope::subject(&request.template.tenant, &request.template.handle),
    }
}

/// What a request spends at the register; nothing if that was done at an earlier submission.
fn lane(place: usize, request: &LaneRequest<Asker>) -> Option<Lane> {
    let Asker::Login(Login { claim, is_spent: false, .. }) = &request.reply else { return None };
    Some(Lane { place, nonce: entry(&scope(request), &request.nonce), issued_at: claim.issued_at })
}

#[cfg(test)]
mod tests;
