//! How one of three key-holders handles a job.

use super::mailbox::Mailbox;
use super::name;
use super::peers::{Link, Peers};
use crate::clients::Client;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trefoil_matching::quorum::{Judgement, Parts, QuorumHolder, Seat, SeatJob};
use trefoil_matching::{KeyHolder, KeyHolderError, KeyStructure, Reply, Request, SeatDecision};
use trefoil_storage::supervisor::Supervisor;

/// One key-holder of a quorum, and its links to the other two.
pub(crate) struct Member {
    holder: QuorumHolder,
    peers: Peers,
    parts: Mailbox<[u8; 32], Parts>,
    /// Seats that were too late and have sent nothing since.
    silent: [AtomicBool; 3],
    times: Times,
}

/// How long to wait for the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// For the second copy of a part, which exposes a lie.
    pub(crate) patience: Duration,
    /// For a part that is needed for a decision.
    pub(crate) longest: Duration,
}

/// The error for requests that a quorum does not support.
const ALONE_ONLY: KeyHolderError = KeyHolderError::forbidden(
    "it is one of a quorum, which decides together, for keys per subject and plain probes, and rotates no keys: give the gateway all \
     three, and what a quorum does not do to a key-holder that is alone",
);

impl Member {
    pub(crate) fn new(
        supervisor: &Supervisor,
        holder: QuorumHolder,
        links: Vec<Link>,
        times: Times,
    ) -> std::io::Result<Member> {
        Ok(Member {
            peers: Peers::start(supervisor, links, times.longest)?,
            holder,
            parts: Mailbox::default(),
            silent: Default::default(),
            times,
        })
    }

    pub(crate) fn seat(&self) -> Seat {
        self.holder.seat()
    }

    /// The keys, policies and budgets of this seat.
    pub(crate) fn key_holder(&self) -> &KeyHolder {
        self.holder.key_holder()
    }

    /// Carries out a request at `now`, unix seconds. Rights and owners have been checked.
    pub(crate) fn answer(
        &self,
        client: &Client,
        request: Request,
        now: u64,
    ) -> Result<Reply, KeyHolderError> {
        match request {
            Request::DecideSeat(job) => self.decide(&job, now).map(Reply::DecidedSeat),
            Request::Parts(parts) => self.take(client, *parts),
            Request::Contribute(name) => self.holder.contribute(name, now).map(Reply::Contribution),
            Request::EnrolSeat(enrolment) => {
                let parts = self.holder.enrol(&enrolment)?;
                Ok(Reply::EnrolledSeat(self.holder.seat(), Box::new(parts)))
            }
            Request::CreateTenant(tenant, KeyStructure::PerSubject, policy) => {
                self.holder.create_tenant(tenant, policy).map(|()| Reply::Done)
            }
            Request::SeatKey(tenant, versions) => {
                self.holder.seat_key(tenant, versions).map(|key| Reply::SeatKey(Box::new(key)))
            }
            Request::SetPolicy(tenant, policy) => {
                self.holder.set_policy(tenant, policy).map(|()| Reply::Done)
            }
            Request::Ping
            | Request::Shred(_)
            | Request::Status
            | Request::ForgiveMalformed(_)
            | Request::LockedOut(_)
            | Request::ResetAttempts(_) => self.holder.key_holder().answer(request, now),
            Request::CreateTenant(..)
            | Request::PublicKeys(_)
            | Request::Decide(_)
            | Request::EncryptProbes(_)
            | Request::Enrol(_)
            | Request::SealingKey
            | Request::BeginRotation(_)
            | Request::Renew(_)
            | Request::NoteStore(_)
            | Request::FinishRotation(..) => Err(ALONE_ONLY),
        }
    }

    /// Takes a message of another key-holder.
    fn take(&self, client: &Client, parts: Parts) -> Result<Reply, KeyHolderError> {
        let seat = self.holder.seat().others().into_iter().find(|seat| name(*seat) == client.name);
        let seat = seat.ok_or(KeyHolderError::forbidden("only the other two key-holders send parts"))?;
        self.silent[seat.index()].store(false, Ordering::Relaxed);
        self.parts.put(seat, parts.digest(), parts);
        Ok(Reply::Done)
    }

    /// Decides with the parts of the other two.
    fn decide(&self, job: &SeatJob, now: u64) -> Result<SeatDecision, KeyHolderError> {
        let seat = self.holder.seat();
        if job.seat() != seat {
            // The answer tells the gateway which seat this is.
            return Ok(SeatDecision { seat, decisions: None, silent: 0, liars: 0, contradicting: 0 });
        }
        let begun = self.holder.begin(job, now)?;
        self.peers.send(begun.digest(), |other| Request::Parts(Box::new(begun.parts_for(other))));
        let (started, digest) = (Instant::now(), begun.digest());
        let expected =
            |seat: Seat| self.peers.is_up(seat) && !self.silent[seat.index()].load(Ordering::Relaxed);
        let mut parts = self.parts.wait(&digest, started + self.times.patience, expected, 2);
        let mut silent = 0;
        for seat in self.holder.seat().others() {
            if parts.iter().all(|(of, _)| *of != seat) {
                silent |= 1 << seat.index();
                let is_silent = &self.silent[seat.index()];
                #[expect(
                    clippy::disallowed_methods,
                    reason = "when a seat falls silent, not for each job while it is"
                )]
                if !is_silent.load(Ordering::Relaxed) && !is_silent.swap(true, Ordering::Relaxed) {
                    tracing::warn!(key_holder = name(seat), "it is silent: decided without it");
                }
            }
        }
        let mut judged = self.holder.judge(job, &begun, &parts, false);
        let deadline = started + self.times.longest;
        while !judged.is_final() && parts.len() < 2 && Instant::now() < deadline {
            // Also wait for one that is away: it may be back, and its part is needed.
            parts = self.parts.wait(&digest, deadline, |_| true, parts.len() + 1);
            judged = self.holder.judge(job, &begun, &parts, false);
        }
        if !judged.is_final() {
            judged = self.holder.judge(job, &begun, &parts, true);
        }
        self.parts.forget(&digest);
        self.name_liars(&judged);
        let mask = |seats: &[Seat]| seats.iter().fold(0, |bits, seat| bits | 1 << seat.index());
        let (liars, contradicting) = (mask(&judged.liars), mask(&judged.contradicting));
        let heard = judged.is_final() || !self.peers.withdraw(&digest);
        let decisions = match self.holder.finish(job, &begun, &judged, heard) {
            Ok(decisions) => Some(decisions),
            Err(KeyHolderError::Unavailable(_)) => None,
            Err(other) => return Err(other),
        };
        Ok(SeatDecision { seat, decisions, silent, liars, contradicting })
    }

    fn name_liars(&self, judged: &Judgement) {
        for liar in &judged.liars {
            tracing::error!(key_holder = name(*liar), "it sent a wrong part: not believed");
        }
        if let (Some(suspect), true) = (judged.suspect, judged.is_final()) {
            tracing::error!(
                key_holder = name(suspect),
                "its part does not fit, and no other is here: it lies, or the gateway does"
            );
        }
        if let [one, other] = judged.contradicting[..] {
            tracing::error!(
                one = name(one),
                other = name(other),
                "they contradict each other: one of them lies"
            );
        }
    }
}
