//! Counters of the proof intake. They are never by caller or subject.

#![expect(clippy::disallowed_methods, reason = "for uploads of proofs, which take a thousand times longer")]

use crate::counters::Durations;
use std::sync::atomic::{AtomicU64, Ordering};

/// The events of an upload before or instead of its verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The caller's credit was used up; nothing was read.
    CreditExhausted,
    /// The caller had too many uploads open; nothing was read.
    TooManyOpen,
    /// Wrong size, malformed, or bound to another key or audience.
    Malformed,
    /// An old root, another epoch, policy or level.
    Stale,
    /// The verdict was in memory.
    Known,
    /// Waited for another upload of the same statement.
    Joined,
    /// The queue, or the tenant's half of it, was full.
    QueueFull,
    /// Waited past the deadline and was not verified.
    Late,
    /// The caller hung up before a thread was free.
    Abandoned,
}

const EVENTS: [(Event, &str); 9] = [
    (Event::CreditExhausted, "credit_exhausted"),
    (Event::TooManyOpen, "too_many_open"),
    (Event::Malformed, "malformed"),
    (Event::Stale, "stale"),
    (Event::Known, "known"),
    (Event::Joined, "joined"),
    (Event::QueueFull, "queue_full"),
    (Event::Late, "late"),
    (Event::Abandoned, "abandoned"),
];

/// See the module.
#[derive(Default)]
pub struct ProofCounters {
    accepted: AtomicU64,
    refused: AtomicU64,
    events: [AtomicU64; EVENTS.len()],
    wait: Durations,
    verify: Durations,
}

impl ProofCounters {
    /// Counts one more of these.
    pub fn count(&self, event: Event) {
        self.events[event as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A proof was verified after `wait_ns` in the queue, in `verify_ns`.
    pub fn verified(&self, accepted: bool, wait_ns: u64, verify_ns: u64) {
        let counter = if accepted { &self.accepted } else { &self.refused };
        counter.fetch_add(1, Ordering::Relaxed);
        self.wait.record(wait_ns);
        self.verify.record(verify_ns);
    }

    /// Proofs accepted and refused.
    pub fn outcomes(&self) -> [u64; 2] {
        [&self.accepted, &self.refused].map(|counter| counter.load(Ordering::Relaxed))
    }

    /// How often each event happened, under its name.
    pub fn events(&self) -> impl Iterator<Item = (&'static str, u64)> {
        EVENTS.iter().map(|(event, name)| (*name, self.events[*event as usize].load(Ordering::Relaxed)))
    }

    /// Waits for a verification, and verifications.
    pub fn durations(&self) -> [&Durations; 2] {
        [&self.wait, &self.verify]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_its_own_counter_and_name() {
        let counters = ProofCounters::default();
        for (at, (event, _)) in EVENTS.iter().enumerate() {
            assert_eq!(*event as usize, at);
            (0..=at).for_each(|_| counters.count(*event));
        }
        let expected = (1..).zip(EVENTS).map(|(count, (_, name))| (name, count));
        assert!(counters.events().eq(expected));
    }
}
