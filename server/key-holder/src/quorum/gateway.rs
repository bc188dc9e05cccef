//! The gateway's end of three key-holders: what two say alike is believed, and the third is named.

use super::caller::{self, Answer, Holder, HolderState, Round};
use crate::address::Address;
use crate::identity::Identity;
use crate::places::Places;
use crate::protocol::{Enrolment, Reply, Request};
use crate::remote::Bounds;
use crate::role::Role;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use trefoil_matching::quorum::assemble;
use trefoil_matching::{
    BlindedCiphertext, DecisionPolicy, Decisions, EncryptedProbes, EncryptedTemplate, ForKeyHolder, Handle,
    KeyHolderError, KeyHolding, KeyStructure, Lane, MatchJob, ProbeJob, PublicKey, SealingKey, TenantId,
};

/// Three key-holders, in the order of their seats. Each decision goes to all of them.
pub struct Quorum {
    holders: Arc<[Holder; 3]>,
    bounds: Bounds,
    /// Decisions under way at most. Each has a caller at every key-holder that is not behind, so that two of them never wait for
    /// each other's part of different batches.
    rounds: Places,
}

impl Quorum {
    /// Starts to connect to three key-holders, given in the order of their seats.
    ///
    /// # Errors
    /// When an identity is not usable or a thread does not start.
    pub fn start(at: [(Address, Identity); 3], bounds: Bounds) -> io::Result<Quorum> {
        Ok(Quorum { holders: caller::start(at, bounds)?, bounds, rounds: Places::new(bounds.connections) })
    }

    /// Waits until all three answer.
    ///
    /// # Errors
    /// Which one does not, and why, at `deadline`.
    pub fn wait_until_ready(&self, deadline: Instant) -> Result<(), String> {
        for holder in self.holders.iter() {
            holder.remote.wait_until_ready(deadline).map_err(|why| format!("{holder}: {why}"))?;
        }
        Ok(())
    }

    /// Every call to every key-holder, which all must answer.
    fn all<T: Send>(
        &self,
        call: impl Fn(&Holder) -> Result<T, KeyHolderError> + Sync,
    ) -> Result<[T; 3], KeyHolderError> {
        for holder in self.holders.iter() {
            if let Some(why) = holder.remote.unready() {
                tracing::warn!(key_holder = %holder, why, "it is away, and this needs all three");
                return Err(KeyHolderError::OneAway(holder.seat.index() + 1));
            }
        }
        std::thread::scope(|scope| {
            let calls = self.holders.each_ref().map(|holder| scope.spawn(|| call(holder)));
            let [one, two, three] = calls.map(|call| {
                call.join().unwrap_or_else(|_| Err(KeyHolderError::Unavailable("a call panicked".to_owned())))
            });
            Ok([one?, two?, three?])
        })
    }
}

impl KeyHolding for Quorum {
    /// `now` is not sent: key-holders count attempts by their own clocks.
    fn decide(&self, job: &MatchJob, _now: u64) -> Result<Decisions, KeyHolderError> {
        // One alone could only count failures.
        if let Some(why) = self.unready() {
            return Err(KeyHolderError::Unavailable(why));
        }
        let frames = Request::decide_in_three(job).ok_or(NO_WITNESSES)?;
        let deadline = Instant::now() + self.bounds.timeout;
        if !self.rounds.take_until(deadline) {
            return Err(KeyHolderError::Unavailable("too many decisions are under way".to_owned()));
        }
        let agreed = Round::start(&self.holders, frames, job.occupied(), deadline).agreed();
        self.rounds.give_back();
        match agreed {
            Some(Answer::Decided(lanes)) => Ok(Decisions::from_lanes(lanes)),
            Some(Answer::UnknownSubjects(lanes)) => Err(KeyHolderError::UnknownSubjects(lanes)),
            Some(Answer::UnknownTenant) => Err(KeyHolderError::UnknownTenant),
            Some(Answer::Frozen) => Err(KeyHolderError::Frozen),
            Some(Answer::Malformed) => Err(KeyHolderError::Malformed),
            None => Err(KeyHolderError::Unavailable("no two of three key-holders agree".to_owned())),
        }
    }

    fn encrypt_probes(&self, _: &ProbeJob) -> Result<EncryptedProbes, KeyHolderError> {
        Err(ONE_ONLY)
    }

    fn is_three(&self) -> bool {
        true
    }
}

/// Keys per tenant, shared probes and rotation need a key-holder that is alone.
const ONE_ONLY: KeyHolderError = KeyHolderError::Forbidden(
    "three key-holders do this not: they have keys per subject, take plain probes and rotate no keys; use a key-holder that is alone",
);
const NO_WITNESSES: KeyHolderError =
    KeyHolderError::Forbidden("the job was masked for one key-holder: mask it for three");

impl Role for Quorum {
    fn create_tenant(
        &self,
        tenant: TenantId,
        keys: KeyStructure,
        policy: DecisionPolicy,
    ) -> Result<PublicKey, KeyHolderError> {
        if keys != KeyStructure::PerSubject {
            return Err(ONE_ONLY);
        }
        let [one, two, three] = self.all(|holder| holder.remote.create_tenant(tenant, keys, policy))?;
        if one.to_bytes() == two.to_bytes() && two.to_bytes() == three.to_bytes() {
            return Ok(one);
        }
        Err(KeyHolderError::Unavailable("the three key-holders were not dealt pieces together".to_owned()))
    }

    fn enrol(
        &self,
        tenant: TenantId,
        handle: Handle,
        generation: u32,
        lane: Lane,
        template: ForKeyHolder,
    ) -> Result<EncryptedTemplate, KeyHolderError> {
        let request = Request::Enrol(Box::new(Enrolment { tenant, handle, generation, lane, template }));
        let frame = request.encode();
        let misplaced = OnceLock::new();
        let answers = self.all(|holder| match holder.remote.call(&frame)? {
            Reply::EnrolledPieces(seat, parts)
                if seat == holder.seat
                    && parts.iter().all(|part| part.is_of(&tenant, &handle, generation, lane)) =>
            {
                Ok(*parts)
            }
            _ => {
                let why =
                    format!("{holder} answered something that was not asked; is it in its seat's place?");
                let _ = misplaced.set(why.clone());
                Err(KeyHolderError::Unavailable(why))
            }
        });
        let assembled = answers.and_then(|answers| {
            assemble(&answers).map_err(|pair| {
                let [one, other] = pair.map(|seat| &self.holders[seat.index()]);
                tracing::error!(%one, %other, "their parts of an enrolment differ: one of them lies");
                [one, other].into_iter().for_each(Holder::accuse);
                KeyHolderError::Unavailable(format!("{one} and {other} contradict each other"))
            })
        });
        if assembled.is_err() {
            // Nobody will name this generation again; what some may hold of it is of no use to anyone.
            for holder in self.holders.iter() {
                let _ = holder.remote.shred(tenant, handle, generation);
            }
        }
        assembled
    }

    /// All three erase their salts, or this fails and is to be asked again.
    fn shred(&self, tenant: TenantId, handle: Handle, generation: u32) -> Result<(), KeyHolderError> {
        self.all(|holder| holder.remote.shred(tenant, handle, generation)).map(drop)
    }

    fn lift_freeze(&self, tenant: TenantId) -> Result<(), KeyHolderError> {
        self.all(|holder| holder.remote.lift_freeze(tenant)).map(drop)
    }

    fn begin_rotation(&self, _: TenantId) -> Result<PublicKey, KeyHolderError> {
        Err(ONE_ONLY)
    }

    fn renew(
        &self,
        _: TenantId,
        _: Handle,
        _: u32,
        _: u32,
        _: BlindedCiphertext,
        _: u64,
    ) -> Result<EncryptedTemplate, KeyHolderError> {
        Err(ONE_ONLY)
    }

    fn finish_rotation(&self, _: TenantId, _: u32) -> Result<(), KeyHolderError> {
        Err(ONE_ONLY)
    }

    fn sealing_key(&self) -> Result<SealingKey, KeyHolderError> {
        Err(ONE_ONLY)
    }

    fn unready(&self) -> Option<String> {
        let away: Vec<String> = self
            .holders
            .iter()
            .filter_map(|holder| Some(format!("{holder}: {}", holder.remote.unready()?)))
            .collect();
        (away.len() > 1).then(|| away.join("; "))
    }

    fn holders(&self) -> Vec<HolderState> {
        self.holders.iter().map(Holder::state).collect()
    }
}

impl Drop for Quorum {
    fn drop(&mut self) {
        self.holders.iter().for_each(Holder::stop);
    }
}
