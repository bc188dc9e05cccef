//! A key-holder that decides with two others: what it does with a job, and what travels between the three.
//!
//! ```text
//!             gateway ------- job -------> each of the three
//!   key-holder 1 <-- parts --> key-holder 2 <-- parts --> key-holder 3 <-- parts --> key-holder 1
//!             gateway <---- 32 bits ------ each of the three; what two say alike counts
//! ```
//!
//! Parts are partial decryptions: whoever has those of all pieces has scores. They go over connections between key-holders, which
//! know each other's certificates; a gateway has no right to them.

mod caller;
mod gateway;
mod mailbox;
mod peers;
mod provision;

pub use caller::HolderState;
pub use gateway::Quorum;
use peers::Link;
pub(crate) use provision::{client, init, open};

use crate::clients::Client;
use crate::protocol::{Decided, Enrolment, Refused, Reply, Request};
use mailbox::Mailbox;
use peers::Peers;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trefoil_matching::quorum::{Judgement, Parts, QuorumHolder, Seat, SeatJob};
use trefoil_matching::{BlindedTemplate, Handle, KeyHolderError, TenantId};

/// What one key-holder of three adds to the desk of one that is alone.
pub(crate) struct Bench {
    holder: QuorumHolder,
    peers: Peers,
    parts: Mailbox<[u8; 32], Parts>,
    contributions: Mailbox<(TenantId, Handle, u32), [u8; 32]>,
    /// Seats that were waited for in vain and have sent nothing since.
    silent: [AtomicBool; 3],
    times: Times,
}

/// How long others are waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// For the second copy of a part, which shows a lie.
    pub(crate) patience: Duration,
    /// For a part without which nothing can be decided, and for what an enrolment needs.
    pub(crate) longest: Duration,
}

/// A contribution to the salt of one enrolment.
#[derive(Debug)]
pub(crate) struct Contribution {
    pub(crate) tenant: TenantId,
    pub(crate) handle: Handle,
    pub(crate) generation: u32,
    pub(crate) salt: [u8; 32],
}

/// The name of a seat in logs and in the list of clients.
pub(crate) fn name(seat: Seat) -> String {
    format!("key-holder-{}", seat.index() + 1)
}

impl Bench {
    pub(crate) fn new(holder: QuorumHolder, links: Vec<Link>, times: Times) -> std::io::Result<Bench> {
        Ok(Bench {
            peers: Peers::start(links, times.longest)?,
            holder,
            parts: Mailbox::default(),
            contributions: Mailbox::default(),
            silent: Default::default(),
            times,
        })
    }

    /// Who makes the tenants of three.
    pub(crate) fn holder(&self) -> &QuorumHolder {
        &self.holder
    }

    /// Takes what another key-holder sent.
    pub(crate) fn take(&self, client: &Client, request: &Request) -> Result<Reply, Refused> {
        let seat = self.holder.seat().others().into_iter().find(|seat| name(*seat) == client.name);
        let seat = seat.ok_or(Refused::Forbidden)?;
        self.silent[seat.index()].store(false, Ordering::Relaxed);
        match request {
            Request::Parts(parts) => self.parts.put(seat, parts.digest(), Parts::clone(parts)),
            Request::Contribute(contribution) => {
                let Contribution { tenant, handle, generation, salt } = **contribution;
                self.contributions.put(seat, (tenant, handle, generation), salt);
            }
            _ => return Err(Refused::Forbidden),
        }
        Ok(Reply::Done)
    }

    /// Enrols together with the other two, all of whom are needed.
    pub(crate) fn enrol(
        &self,
        enrolment: &Enrolment,
        template: &BlindedTemplate,
    ) -> Result<Reply, KeyHolderError> {
        let Enrolment { tenant, handle, generation, lane, .. } = enrolment;
        let (tenant, handle, generation) = (*tenant, *handle, *generation);
        let salt = self.holder.contribute();
        let contribution = || Contribution { tenant, handle, generation, salt };
        self.peers.send(|_| Request::Contribute(Box::new(contribution())));
        let key = (tenant, handle, generation);
        let deadline = Instant::now() + self.times.longest;
        let received = self.contributions.wait(&key, deadline, |_| true, 2);
        self.contributions.forget(&key);
        let mut contributions = [[0; 32]; 3];
        contributions[self.holder.seat().index()] = salt;
        for (seat, theirs) in &received {
            contributions[seat.index()] = *theirs;
        }
        if received.len() < 2 {
            let missing = self.holder.seat().others().into_iter();
            let missing = missing.filter(|seat| received.iter().all(|(of, _)| of != seat)).map(name);
            let why =
                format!("enrolment needs all three, {} is away", missing.collect::<Vec<_>>().join(", "));
            return Err(KeyHolderError::Unavailable(why));
        }
        let parts = self.holder.enrol(tenant, handle, generation, *lane, template, &contributions)?;
        Ok(Reply::EnrolledPieces(self.holder.seat(), Box::new(parts)))
    }

    /// Decides with what the other two send.
    pub(crate) fn decide(&self, job: &SeatJob, now: u64) -> Result<Reply, KeyHolderError> {
        let seat = self.holder.seat();
        if job.seat() != seat {
            // The gateway sees whom it has taken for whom.
            let nothing = Decided { seat, decided: None, silent: 0, liars: 0, contradicting: 0 };
            return Ok(Reply::DecidedInQuorum(nothing));
        }
        let begun = self.holder.begin(job, now)?;
        self.peers.send(|other| Request::Parts(Box::new(begun.parts_for(other))));
        let (started, digest) = (Instant::now(), begun.digest());
        let expected =
            |seat: Seat| self.peers.is_up(seat) && !self.silent[seat.index()].load(Ordering::Relaxed);
        let mut parts = self.parts.wait(&digest, started + self.times.patience, expected, 2);
        let mut silent = 0;
        for seat in self.holder.seat().others() {
            if parts.iter().all(|(of, _)| *of != seat) {
                silent |= 1 << seat.index();
                if !self.silent[seat.index()].swap(true, Ordering::Relaxed) {
                    tracing::warn!(key_holder = name(seat), "it is silent: decided without it");
                }
            }
        }
        let mut judged = self.holder.judge(job, &begun, &parts, false);
        let deadline = started + self.times.longest;
        while !judged.is_final() && parts.len() < 2 && Instant::now() < deadline {
            // Also for one that is away: it may be back, and what it has to say is needed.
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
        let decided = match self.holder.finish(job, &begun, &judged) {
            Ok(decisions) => Some(decisions.lanes()),
            Err(KeyHolderError::Unavailable(_)) => None,
            Err(other) => return Err(other),
        };
        Ok(Reply::DecidedInQuorum(Decided { seat, decided, silent, liars, contradicting }))
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
