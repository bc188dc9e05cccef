//! A gateway's link to one of three key-holders: a queue of batches, and a fixed number of threads that send them.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "taken once for a round trip to three machines; faults of a key-holder are rare"
)]

use super::name;
use crate::address::Address;
use crate::connection_pool::Bounds;
use crate::remote::Remote;
use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use trefoil_host::identity::Identity;
use trefoil_matching::quorum::Seat;
use trefoil_matching::{KeyHolderError, KeyHolding as _, LaneSet, Reply, SeatDecision, SeatState, TenantId};
use trefoil_storage::supervisor::Supervisor;
use zeroize::Zeroizing;

/// Most batches that wait for a key-holder that is slower than the other two, or stalled. It gets no more.
const WAITING_MAX: usize = 64;

/// One of the three key-holders, and the batches that wait for it.
pub(super) struct Holder {
    pub(super) seat: Seat,
    address: String,
    pub(super) remote: Remote,
    supervisor: Supervisor,
    callers_max: usize,
    waiting: Mutex<Waiting>,
    arrived: Condvar,
    /// Whether its last call failed, which is logged once.
    mute: AtomicBool,
    /// Tenants whose tag key at this key-holder differs from the one that a batch was tagged for.
    stale: Mutex<HashSet<TenantId>>,
    silent: AtomicU64,
    disagreed: AtomicU64,
    convicted: AtomicU64,
    accused: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    rounds: VecDeque<Arc<Round>>,
    /// Started threads, of which `idle` wait for a batch.
    callers: usize,
    idle: usize,
    stop: bool,
}

/// One batch and the answers to it.
pub(super) struct Round {
    holders: Arc<[Holder; 3]>,
    /// The job for each.
    frames: [Zeroizing<Vec<u8>>; 3],
    tenant: TenantId,
    occupied: LaneSet,
    deadline: Instant,
    heard: Mutex<Vec<Heard>>,
    spoken: Condvar,
}

/// One key-holder's answer to a batch, in a form that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Decided(LaneSet),
    UnknownSubjects(LaneSet),
    NoAttempts(LaneSet),
    UnknownTenant,
    Frozen,
    Malformed,
    TagKey,
    OtherThreshold(i32),
    Model,
}

/// The outcome for the caller.
pub(super) enum Outcome {
    /// Two key-holders agree on it.
    Agreed(Answer),
    /// No two agree, because some have no attempts left for the subjects in these lanes, or do not know them.
    Contested(LaneSet),
    /// There were too few answers.
    Nothing,
}

/// An answer, if there is one; the seats that it found lying; and the seats that contradicted each other. One bit for each seat.
struct Heard {
    seat: Seat,
    answer: Option<Answer>,
    liars: u8,
    contradicting: u8,
}

/// Starts to connect to three key-holders, given in the order of their seats. Each gets callers on demand, at most as many as
/// it has connections, and keeps them.
pub(super) fn start(
    supervisor: &Supervisor,
    at: [(Address, Identity); 3],
    bounds: Bounds,
) -> io::Result<Arc<[Holder; 3]>> {
    let mut holders = Vec::with_capacity(3);
    for (seat, (address, identity)) in Seat::ALL.into_iter().zip(at) {
        holders.push(Holder {
            seat,
            address: address.authority.clone(),
            remote: Remote::start(supervisor, address, identity, bounds, Some(seat))?,
            supervisor: supervisor.clone(),
            callers_max: bounds.connections,
            waiting: Mutex::default(),
            arrived: Condvar::new(),
            mute: AtomicBool::new(false),
            stale: Mutex::default(),
            silent: AtomicU64::new(0),
            disagreed: AtomicU64::new(0),
            convicted: AtomicU64::new(0),
            accused: AtomicU64::new(0),
        });
    }
    let holders = holders.try_into().map_err(|_| io::Error::other("three seats give three key-holders"))?;
    Ok(Arc::new(holders))
}

impl Holder {
    /// Counts accusations against it, for operators.
    pub(super) fn accuse(&self) {
        self.accused.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts proofs that it lied, for operators.
    pub(super) fn convict(&self) {
        self.convicted.fetch_add(1, Ordering::Relaxed);
    }

    /// Tenants whose tag key differed from that of a batch since the last call.
    pub(super) fn take_stale(&self) -> HashSet<TenantId> {
        std::mem::take(&mut self.stale.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note_stale(&self, tenant: TenantId) {
        self.stale.lock().unwrap_or_else(PoisonError::into_inner).insert(tenant);
    }

    pub(super) fn state(&self) -> SeatState {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SeatState {
            seat: self.seat.index() + 1,
            address: self.address.clone(),
            away: self.remote.unready(),
            silent: count(&self.silent),
            disagreed: count(&self.disagreed),
            convicted: count(&self.convicted),
            accused: count(&self.accused),
        }
    }

    /// Ends its callers once they have no call in flight.
    pub(super) fn stop(&self) {
        self.waiting().stop = true;
        self.arrived.notify_all();
    }

    /// Takes a batch, unless the key-holder is away or too many wait for it.
    fn take(&self, round: &Arc<Round>) -> bool {
        if self.remote.unready().is_some() {
            return false;
        }
        let mut waiting = self.waiting();
        if waiting.rounds.len() == WAITING_MAX {
            drop(waiting);
            self.silent.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        waiting.rounds.push_back(Arc::clone(round));
        let wanted = waiting.rounds.len() > waiting.idle && waiting.callers < self.callers_max;
        waiting.callers += usize::from(wanted);
        drop(waiting);
        self.arrived.notify_one();
        if wanted {
            self.start_caller(&round.holders);
        }
        true
    }

    fn start_caller(&self, holders: &Arc<[Holder; 3]>) {
        let (holders, seat) = (Arc::clone(holders), self.seat);
        let call = move || holders[seat.index()].call_all();
        let name = format!("to-{}", name(seat));
        if let Err(cause) = self.supervisor.spawn(name, call) {
            // Other callers serve it. If there is none, the batch is decided without this key-holder.
            self.waiting().callers -= 1;
            tracing::error!(%cause, "no thread to ask a key-holder");
        }
    }

    /// The work of a caller.
    fn call_all(&self) {
        let mut waiting = self.waiting();
        loop {
            let idle = |waiting: &mut Waiting| !waiting.stop && waiting.rounds.is_empty();
            waiting.idle += 1;
            waiting = self.arrived.wait_while(waiting, idle).unwrap_or_else(PoisonError::into_inner);
            waiting.idle -= 1;
            if waiting.stop {
                return;
            }
            let Some(round) = waiting.rounds.pop_front() else { continue };
            drop(waiting);
            round.hear(self.decide(&round));
            waiting = self.waiting();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn decide(&self, round: &Round) -> Heard {
        let nobody = (0, 0);
        let said = match round.deadline > Instant::now() {
            true => self.remote.call_with(&round.frames[self.seat.index()]),
            false => Err(KeyHolderError::Unavailable("it was busy with other batches".to_owned())),
        };
        let (answer, (liars, contradicting)) = match said {
            Ok(Reply::DecidedSeat(decided)) if decided.seat != self.seat => {
                tracing::error!(
                    key_holder = %self, its_seat = decided.seat.index() + 1,
                    "it has another seat: list the key-holders in the order of their seats"
                );
                (None, nobody)
            }
            Ok(Reply::DecidedSeat(SeatDecision { decisions, liars, contradicting, .. })) => {
                let lanes = decisions.map(|decisions| decisions.lanes());
                (lanes.filter(|lanes| round.holds(*lanes)).map(Answer::Decided), (liars, contradicting))
            }
            Err(KeyHolderError::UnknownSubjects(lanes)) if round.holds(lanes) => {
                (Some(Answer::UnknownSubjects(lanes)), nobody)
            }
            Err(KeyHolderError::NoAttempts(lanes)) if round.holds(lanes) => {
                (Some(Answer::NoAttempts(lanes)), nobody)
            }
            Err(KeyHolderError::TagKey) => {
                self.note_stale(round.tenant);
                (Some(Answer::TagKey), nobody)
            }
            Err(KeyHolderError::OtherThreshold(in_force)) => (Some(Answer::OtherThreshold(in_force)), nobody),
            Err(KeyHolderError::Model) => (Some(Answer::Model), nobody),
            Err(KeyHolderError::UnknownTenant) => (Some(Answer::UnknownTenant), nobody),
            Err(KeyHolderError::Frozen) => (Some(Answer::Frozen), nobody),
            Err(KeyHolderError::Malformed) => (Some(Answer::Malformed), nobody),
            Ok(_) => (None, nobody),
            Err(cause) => {
                if !self.mute.swap(true, Ordering::Relaxed) {
                    tracing::error!(key_holder = %self, %cause, "no decision from it: the other two decide");
                }
                (None, nobody)
            }
        };
        if answer.is_none() {
            self.silent.fetch_add(1, Ordering::Relaxed);
        } else if self.mute.swap(false, Ordering::Relaxed) {
            tracing::info!(key_holder = %self, "it decides again");
        }
        Heard { seat: self.seat, answer, liars, contradicting }
    }
}

impl Round {
    /// Sends the batch to all three.
    pub(super) fn start(
        holders: &Arc<[Holder; 3]>,
        frames: [Zeroizing<Vec<u8>>; 3],
        (tenant, occupied): (TenantId, LaneSet),
        deadline: Instant,
    ) -> Arc<Round> {
        let (heard, spoken) = (Mutex::new(Vec::with_capacity(3)), Condvar::new());
        let asked = Arc::clone(holders);
        let round = Round { holders: asked, frames, tenant, occupied, deadline, heard, spoken };
        let round = Arc::new(round);
        for holder in holders.iter().filter(|holder| !holder.take(&round)) {
            round.hear(Heard { seat: holder.seat, answer: None, liars: 0, contradicting: 0 });
        }
        round
    }

    /// The answer on which two of them agree. Without agreement, the outcome once all have answered, or at the deadline.
    pub(super) fn outcome(&self) -> Outcome {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let open = |heard: &mut Vec<Heard>| heard.len() < 3 && agreed(heard).is_none();
        let waited = self.spoken.wait_timeout_while(self.heard(), left, open);
        let (heard, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = agreed(&heard) {
            return Outcome::Agreed(answer);
        }
        // After a failure while one of them was away, the others have fewer attempts left for the subject.
        let refused = heard.iter().fold(0, |bits, said| match said.answer {
            Some(Answer::NoAttempts(lanes) | Answer::UnknownSubjects(lanes)) => bits | lanes.bits(),
            _ => bits,
        });
        if refused == 0 { Outcome::Nothing } else { Outcome::Contested(LaneSet::from_bits(refused)) }
    }

    /// Whether these are lanes of the batch.
    fn holds(&self, lanes: LaneSet) -> bool {
        lanes.is_within(self.occupied)
    }

    /// The last one to answer compares all three, so that no decision waits for the comparison.
    fn hear(&self, said: Heard) {
        let mut heard = self.heard();
        heard.push(said);
        self.spoken.notify_all();
        if heard.len() == 3 {
            name_the_odd(&self.holders, &heard);
        }
    }

    fn heard(&self) -> MutexGuard<'_, Vec<Heard>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer of two of them. Two that refuse because of their thresholds agree, whatever these are: the third cannot decide without them.
fn agreed(heard: &[Heard]) -> Option<Answer> {
    let is_alike = |one: Answer, other: Answer| {
        one == other || matches!((one, other), (Answer::OtherThreshold(_), Answer::OtherThreshold(_)))
    };
    let twice = |answer: &Answer| {
        heard.iter().filter_map(|said| said.answer).filter(|said| is_alike(*said, *answer)).count() >= 2
    };
    heard.iter().filter_map(|said| said.answer).find(twice)
}

/// Counts and logs which key-holder disagreed with the other two, and accusations between them.
fn name_the_odd(holders: &[Holder; 3], heard: &[Heard]) {
    let agreed = agreed(heard);
    for Heard { seat, answer, .. } in heard {
        let holder = &holders[seat.index()];
        if agreed.is_some() && answer.is_some() && *answer != agreed {
            holder.disagreed.fetch_add(1, Ordering::Relaxed);
            tracing::error!(key_holder = %holder, "it disagrees with the other two about a batch");
        }
        let by_others = |mask: fn(&Heard) -> u8| {
            heard.iter().filter(|by| by.seat != *seat && mask(by) >> seat.index() & 1 == 1).count()
        };
        // One honest key-holder found it lying, whichever the other is.
        if by_others(|by| by.liars) == 2 {
            holder.convict();
            tracing::error!(key_holder = %holder, "it lies: both others found its part of a batch wrong");
        } else if by_others(|by| by.liars | by.contradicting) > 0 {
            holder.accuse();
            tracing::warn!(key_holder = %holder, "another key-holder says that its part of a batch may be wrong");
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key-holder {} ({})", self.seat.index() + 1, self.address)
    }
}
