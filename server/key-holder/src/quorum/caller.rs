//! The way from a gateway to one of three key-holders: a queue of batches, and a fixed number of threads that ask.

use crate::address::Address;
use crate::identity::Identity;
use crate::protocol::{Decided, Reply};
use crate::remote::{Bounds, Remote};
use crate::role::Role as _;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use trefoil_matching::quorum::Seat;
use trefoil_matching::{KeyHolderError, LaneSet};

/// Batches that wait for a key-holder that is slower than the other two, or stalled; it is not asked about more.
const WAITING_MAX: usize = 64;

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

/// One of the three, and what waits for it.
pub(super) struct Holder {
    pub(super) seat: Seat,
    address: String,
    pub(super) remote: Remote,
    callers_max: usize,
    waiting: Mutex<Waiting>,
    arrived: Condvar,
    /// Its last call failed, which is logged once.
    mute: AtomicBool,
    silent: AtomicU64,
    disagreed: AtomicU64,
    convicted: AtomicU64,
    accused: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    rounds: VecDeque<Arc<Round>>,
    /// Threads that have been started, of which `idle` wait for a batch.
    callers: usize,
    idle: usize,
    stop: bool,
}

/// One batch and what was said about it.
pub(super) struct Round {
    holders: Arc<[Holder; 3]>,
    /// What is sent to each.
    frames: [Vec<u8>; 3],
    occupied: LaneSet,
    deadline: Instant,
    heard: Mutex<Vec<Heard>>,
    spoken: Condvar,
}

/// What one of three answers about a batch, so that answers can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
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

/// Starts to connect to three key-holders, given in the order of their seats. Each gets callers as they are needed, at most as many as
/// it has connections, and keeps them.
pub(super) fn start(at: [(Address, Identity); 3], bounds: Bounds) -> io::Result<Arc<[Holder; 3]>> {
    let mut holders = Vec::with_capacity(3);
    for (seat, (address, identity)) in Seat::ALL.into_iter().zip(at) {
        holders.push(Holder {
            seat,
            address: address.authority.clone(),
            remote: Remote::start(address, identity, bounds)?,
            callers_max: bounds.connections,
            waiting: Mutex::default(),
            arrived: Condvar::new(),
            mute: AtomicBool::new(false),
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
    /// Counts what accuses it, for operators.
    pub(super) fn accuse(&self) {
        self.accused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn state(&self) -> HolderState {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        HolderState {
            seat: self.seat.index() + 1,
            address: self.address.clone(),
            away: self.remote.unready(),
            silent: count(&self.silent),
            disagreed: count(&self.disagreed),
            convicted: count(&self.convicted),
            accused: count(&self.accused),
        }
    }

    /// Ends its callers once they have no call under way.
    pub(super) fn stop(&self) {
        self.waiting().stop = true;
        self.arrived.notify_all();
    }

    /// Takes a batch, unless it is away or too many wait for it.
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
        let name = format!("to-{}", super::name(seat));
        if let Err(cause) = std::thread::Builder::new().name(name).spawn(call) {
            // The others serve, or nobody does and the batch is decided without it.
            self.waiting().callers -= 1;
            tracing::error!(%cause, "no thread to ask a key-holder");
        }
    }

    /// What a caller does.
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
            true => self.remote.call(&round.frames[self.seat.index()]),
            false => Err(KeyHolderError::Unavailable("it was busy with other batches".to_owned())),
        };
        let (answer, (liars, contradicting)) = match said {
            Ok(Reply::DecidedInQuorum(decided)) if decided.seat != self.seat => {
                tracing::error!(
                    key_holder = %self, its_seat = decided.seat.index() + 1,
                    "it has another seat: list the key-holders in the order of their seats"
                );
                (None, nobody)
            }
            Ok(Reply::DecidedInQuorum(Decided { decided, liars, contradicting, .. })) => {
                let decided = decided.filter(|lanes| lanes.bits() & !round.occupied.bits() == 0);
                (decided.map(Answer::Decided), (liars, contradicting))
            }
            Err(KeyHolderError::UnknownSubjects(lanes)) => (Some(Answer::UnknownSubjects(lanes)), nobody),
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
    /// Asks all three.
    pub(super) fn start(
        holders: &Arc<[Holder; 3]>,
        frames: [Vec<u8>; 3],
        occupied: LaneSet,
        deadline: Instant,
    ) -> Arc<Round> {
        let (heard, spoken) = (Mutex::new(Vec::with_capacity(3)), Condvar::new());
        let round =
            Arc::new(Round { holders: Arc::clone(holders), frames, occupied, deadline, heard, spoken });
        for holder in holders.iter().filter(|holder| !holder.take(&round)) {
            round.hear(Heard { seat: holder.seat, answer: None, liars: 0, contradicting: 0 });
        }
        round
    }

    /// What two of them say alike; nothing once all have spoken without that, or at the deadline.
    pub(super) fn agreed(&self) -> Option<Answer> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let open = |heard: &mut Vec<Heard>| heard.len() < 3 && agreed(heard).is_none();
        let waited = self.spoken.wait_timeout_while(self.heard(), left, open);
        let (heard, _) = waited.unwrap_or_else(PoisonError::into_inner);
        agreed(&heard)
    }

    /// The last to speak compares all three, so that nobody who waits for a decision waits for that.
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

fn agreed(heard: &[Heard]) -> Option<Answer> {
    let twice = |answer: &Answer| heard.iter().filter(|said| said.answer == Some(*answer)).count() >= 2;
    heard.iter().filter_map(|said| said.answer).find(twice)
}

/// Counts and logs who said something else than the other two, and who was accused by whom.
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

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key-holder {} ({})", self.seat.index() + 1, self.address)
    }
}
