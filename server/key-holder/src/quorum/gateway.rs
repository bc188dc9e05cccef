//! The gateway's end of three key-holders: what two say alike is believed, and the third is named.

use crate::address::Address;
use crate::identity::Identity;
use crate::protocol::{Decided, Enrolment, Reply, Request};
use crate::remote::{Bounds, Remote};
use crate::role::Role;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use trefoil_matching::quorum::{Seat, assemble};
use trefoil_matching::{
    BlindedCiphertext, DecisionPolicy, Decisions, EncryptedProbes, EncryptedTemplate, ForKeyHolder, Handle,
    KeyHolderError, KeyHolding, KeyStructure, Lane, LaneSet, MatchJob, ProbeJob, PublicKey, SealingKey,
    TenantId,
};

/// Three key-holders, in the order of their seats. Each decision goes to all of them.
pub struct Quorum {
    holders: [Arc<Holder>; 3],
    bounds: Bounds,
}

/// How a key-holder does, for operators. Nothing in it depends on a score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HolderState {
    /// Its seat, from 1.
    pub seat: usize,
    /// Its address.
    pub address: String,
    /// Why it cannot be reached, or nothing.
    pub away: Option<String>,
    /// Decisions that it did not answer.
    pub silent: u64,
    /// Decisions in which it said something else than the other two.
    pub disagreed: u64,
    /// Decisions in which both others found its part wrong, which is proof.
    pub convicted: u64,
    /// Decisions in which one other accused it, or contradicted it, which may be the other's lie.
    pub accused: u64,
}

struct Holder {
    seat: Seat,
    address: String,
    remote: Remote,
    /// Decisions that wait for it.
    waiting: AtomicUsize,
    silent: AtomicU64,
    disagreed: AtomicU64,
    convicted: AtomicU64,
    accused: AtomicU64,
}

/// What one of three answers about a batch, so that answers can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Decided(LaneSet),
    UnknownSubjects(LaneSet),
    UnknownTenant,
    Frozen,
    Malformed,
}

/// An answer, if there is one, whom it found lying, and who contradicted each other before it: a bit for each seat.
struct Heard {
    seat: Seat,
    answer: Option<Answer>,
    liars: u8,
    contradicting: u8,
}

impl Quorum {
    /// Starts to connect to three key-holders, given in the order of their seats.
    ///
    /// # Errors
    /// When an identity is not usable or a thread does not start.
    pub fn start(at: [(Address, Identity); 3], bounds: Bounds) -> io::Result<Quorum> {
        let mut holders = Vec::with_capacity(3);
        for (seat, (address, identity)) in Seat::ALL.into_iter().zip(at) {
            holders.push(Arc::new(Holder {
                seat,
                address: address.authority.clone(),
                remote: Remote::start(address, identity, bounds)?,
                waiting: AtomicUsize::new(0),
                silent: AtomicU64::new(0),
                disagreed: AtomicU64::new(0),
                convicted: AtomicU64::new(0),
                accused: AtomicU64::new(0),
            }));
        }
        let holders =
            holders.try_into().map_err(|_| io::Error::other("three seats give three key-holders"))?;
        Ok(Quorum { holders, bounds })
    }

    /// Waits until all three answer.
    ///
    /// # Errors
    /// Which one does not, and why, at `deadline`.
    pub fn wait_until_ready(&self, deadline: Instant) -> Result<(), String> {
        for holder in &self.holders {
            holder.remote.wait_until_ready(deadline).map_err(|why| format!("{holder}: {why}"))?;
        }
        Ok(())
    }

    /// Asks all three to decide.
    fn ask(&self, job: &MatchJob) -> Receiver<Heard> {
        let frame: Arc<[u8]> = Request::decide(job).into();
        let occupied = job.occupied();
        let (heard, answers) = channel();
        for holder in &self.holders {
            let deaf = Heard { seat: holder.seat, answer: None, liars: 0, contradicting: 0 };
            let busy = holder.waiting.load(Ordering::Relaxed) >= self.bounds.connections;
            if busy || holder.remote.unready().is_some() {
                let _ = heard.send(deaf);
                continue;
            }
            holder.waiting.fetch_add(1, Ordering::Relaxed);
            let (holder, frame, heard) = (Arc::clone(holder), Arc::clone(&frame), Sender::clone(&heard));
            let ask = move || {
                let said = holder.decide(&frame, occupied);
                holder.waiting.fetch_sub(1, Ordering::Relaxed);
                // Nobody listens any more once two have agreed.
                let _ = heard.send(said);
            };
            if let Err(cause) = std::thread::Builder::new().name("quorum-call".to_owned()).spawn(ask) {
                tracing::error!(%cause, "no thread to ask a key-holder");
            }
        }
        answers
    }

    /// Every call to every key-holder, which all must answer.
    fn all<T: Send>(
        &self,
        call: impl Fn(&Holder) -> Result<T, KeyHolderError> + Sync,
    ) -> Result<[T; 3], KeyHolderError> {
        for holder in &self.holders {
            if let Some(why) = holder.remote.unready() {
                let why = format!("{holder} is away ({why}), and this needs all three");
                return Err(KeyHolderError::Unavailable(why));
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

impl Holder {
    fn decide(&self, frame: &[u8], occupied: LaneSet) -> Heard {
        let nobody = (0, 0);
        let (answer, (liars, contradicting)) = match self.remote.call(frame) {
            Ok(Reply::DecidedInQuorum(decided)) if decided.seat != self.seat => {
                tracing::error!(
                    key_holder = %self, its_seat = decided.seat.index() + 1,
                    "it has another seat: list the key-holders in the order of their seats"
                );
                (None, nobody)
            }
            Ok(Reply::DecidedInQuorum(Decided { decided, liars, contradicting, .. })) => {
                let decided = decided.filter(|lanes| lanes.bits() & !occupied.bits() == 0);
                (decided.map(Answer::Decided), (liars, contradicting))
            }
            Err(KeyHolderError::UnknownSubjects(lanes)) => (Some(Answer::UnknownSubjects(lanes)), nobody),
            Err(KeyHolderError::UnknownTenant) => (Some(Answer::UnknownTenant), nobody),
            Err(KeyHolderError::Frozen) => (Some(Answer::Frozen), nobody),
            Err(KeyHolderError::Malformed) => (Some(Answer::Malformed), nobody),
            Ok(_) => (None, nobody),
            Err(cause) => {
                tracing::debug!(key_holder = %self, %cause, "no decision from it");
                (None, nobody)
            }
        };
        if answer.is_none() {
            self.silent.fetch_add(1, Ordering::Relaxed);
        }
        Heard { seat: self.seat, answer, liars, contradicting }
    }
}

impl KeyHolding for Quorum {
    /// `now` is not sent: key-holders count attempts by their own clocks.
    fn decide(&self, job: &MatchJob, _now: u64) -> Result<Decisions, KeyHolderError> {
        // One alone could only count failures.
        if let Some(why) = self.unready() {
            return Err(KeyHolderError::Unavailable(why));
        }
        let answers = self.ask(job);
        let mut heard: Vec<Heard> = Vec::with_capacity(3);
        let mut agreed = None;
        while agreed.is_none()
            && let Ok(next) = answers.recv()
        {
            let same = |other: &Heard| other.answer.is_some() && other.answer == next.answer;
            agreed = heard.iter().any(same).then_some(next.answer).flatten();
            heard.push(next);
        }
        let holders = self.holders.clone();
        if heard.len() < 3 && self.bounds.connections > 1 {
            // The third is compared when it answers, by nobody who is waited for.
            let compare = move || {
                heard.extend(answers.iter());
                name_the_odd(&holders, &heard, agreed);
            };
            if let Err(cause) = std::thread::Builder::new().name("quorum-third".to_owned()).spawn(compare) {
                tracing::error!(%cause, "no thread to hear the third key-holder");
            }
        } else {
            name_the_odd(&holders, &heard, agreed);
        }
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
}

/// Keys per tenant, shared probes and rotation need a key-holder that is alone.
const ONE_ONLY: KeyHolderError = KeyHolderError::Forbidden("three key-holders do not do this; one does");

/// Counts and logs who said something else than the other two, and who was accused by whom.
fn name_the_odd(holders: &[Arc<Holder>; 3], heard: &[Heard], agreed: Option<Answer>) {
    for Heard { seat, answer, .. } in heard {
        let holder = &holders[seat.index()];
        if agreed.is_some() && answer.is_some() && *answer != agreed {
            holder.disagreed.fetch_add(1, Ordering::Relaxed);
            tracing::error!(key_holder = %holder, "it disagrees with the other two about a batch");
        }
        let by_others = |mask: fn(&Heard) -> u8| {
            heard.iter().filter(|by| by.seat != *seat && mask(by) >> seat.index() & 1 == 1).count()
        };
        // One honest key-holder found it lying, whoever the other is.
        if by_others(|by| by.liars) == 2 {
            holder.convicted.fetch_add(1, Ordering::Relaxed);
            tracing::error!(key_holder = %holder, "it lies: both others found its part of a batch wrong");
        } else if by_others(|by| by.liars | by.contradicting) > 0 {
            holder.accused.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(key_holder = %holder, "another key-holder says that its part of a batch may be wrong");
        }
    }
}

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
                for holder in [one, other] {
                    holder.accused.fetch_add(1, Ordering::Relaxed);
                }
                KeyHolderError::Unavailable(format!("{one} and {other} contradict each other"))
            })
        });
        if assembled.is_err() {
            // Nobody will name this generation again; what some may hold of it is of no use to anyone.
            for holder in &self.holders {
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
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let state = |holder: &Arc<Holder>| HolderState {
            seat: holder.seat.index() + 1,
            address: holder.address.clone(),
            away: holder.remote.unready(),
            silent: count(&holder.silent),
            disagreed: count(&holder.disagreed),
            convicted: count(&holder.convicted),
            accused: count(&holder.accused),
        };
        self.holders.iter().map(state).collect()
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key-holder {} ({})", self.seat.index() + 1, self.address)
    }
}
