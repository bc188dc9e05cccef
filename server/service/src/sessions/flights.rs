//! Flights: many callers that ask for the same thing at the same time share one piece of work, and get its outcome.
//!
//! A flight begins with the first caller and ends when no caller waits on it. Its leader works until an outcome has answered every waiting
//! caller. Nothing is remembered after that: a later caller begins another flight.

#![expect(
    clippy::disallowed_types,
    reason = "off the path of a hit: who missed reads a row next, or has a proof verified"
)]

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Flights in progress: for each key `K` its first caller (`B`), and the callers that wait for an outcome `T`, each with its question (`A`).
pub(crate) struct Flights<K, B, A, T>(Mutex<HashMap<K, Flight<B, A, T>>>);

struct Flight<B, A, T> {
    begun_by: B,
    waiting: Vec<Asked<A, T>>,
}

/// A waiting caller.
pub(crate) struct Asked<A, T> {
    /// Its question.
    pub(crate) what: A,
    answer: oneshot::Sender<T>,
}

impl<A, T> Asked<A, T> {
    /// Whether the caller has gone away.
    pub(crate) fn has_gone(&self) -> bool {
        self.answer.is_closed()
    }

    /// Ends the wait.
    pub(crate) fn tell(self, outcome: T) {
        // A caller that has gone away needs no answer.
        let _ = self.answer.send(outcome);
    }
}

/// All flights, under the lock.
pub(crate) struct Held<'a, K, B, A, T>(MutexGuard<'a, HashMap<K, Flight<B, A, T>>>);

impl<K, B, A, T> Default for Flights<K, B, A, T> {
    fn default() -> Self {
        Flights(Mutex::default())
    }
}

impl<K: Eq + Hash, B, A, T> Flights<K, B, A, T> {
    /// Locks them, so that their number does not change between a decision and the start of a flight.
    pub(crate) fn hold(&self) -> Held<'_, K, B, A, T> {
        Held(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The next piece of work, which `choose` takes from the callers that pass `is_worth_it`. Ends the flight if there are none.
    pub(crate) fn next<W>(
        &self,
        key: &K,
        is_worth_it: impl FnMut(Asked<A, T>) -> Option<Asked<A, T>>,
        choose: impl FnOnce(&mut [Asked<A, T>]) -> W,
    ) -> Option<W> {
        let mut held = self.hold();
        let waiting = &mut held.0.get_mut(key)?.waiting;
        *waiting = std::mem::take(waiting).into_iter().filter_map(is_worth_it).collect();
        if waiting.is_empty() {
            held.0.remove(key);
            return None;
        }
        Some(choose(waiting))
    }

    /// Tells an outcome to the callers that it answers. The others keep waiting.
    pub(crate) fn answer(&self, key: &K, outcome: impl Fn(&A) -> Option<T>) {
        let mut held = self.hold();
        let Some(flight) = held.0.get_mut(key) else { return };
        for asked in std::mem::take(&mut flight.waiting) {
            match outcome(&asked.what) {
                Some(outcome) => asked.tell(outcome),
                None => flight.waiting.push(asked),
            }
        }
    }

    /// Ends a flight without an outcome, which its callers see as a fault.
    pub(crate) fn end(&self, key: &K) {
        self.hold().0.remove(key);
    }

    /// Ends all flights in the same way.
    pub(crate) fn end_all(&self) {
        self.hold().0.clear();
    }
}

impl<K: Eq + Hash, B, A, T> Held<'_, K, B, A, T> {
    /// How many callers wait on a flight; `None` if there is no such flight.
    pub(crate) fn waiting(&self, key: &K) -> Option<usize> {
        self.0.get(key).map(|flight| flight.waiting.len())
    }

    /// The first caller of each flight.
    pub(crate) fn begun_by(&self) -> impl Iterator<Item = &B> {
        self.0.values().map(|flight| &flight.begun_by)
    }

    /// Waits on a flight, or begins one. A caller that begins a flight must make sure that it has a leader.
    pub(crate) fn join(&mut self, key: K, begun_by: B, what: A) -> oneshot::Receiver<T> {
        let (answer, outcome) = oneshot::channel();
        let flight = self.0.entry(key).or_insert_with(|| Flight { begun_by, waiting: Vec::new() });
        flight.waiting.push(Asked { what, answer });
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Numbers = Flights<u8, char, u32, u32>;

    fn told(outcome: &mut oneshot::Receiver<u32>) -> Option<u32> {
        outcome.try_recv().ok()
    }

    #[test]
    fn an_outcome_is_told_to_those_whom_it_concerns_and_the_others_are_worked_for_next() {
        let flights = Numbers::default();
        let join = |key, who, what| flights.hold().join(key, who, what);
        let [mut one, mut two, mut three] =
            [(1, 'a', 10), (1, 'b', 11), (1, 'c', 10)].map(|(k, w, n)| join(k, w, n));
        let other = join(2, 'b', 10);
        assert_eq!(flights.hold().waiting(&1), Some(3));
        assert_eq!(flights.hold().waiting(&3), None);
        assert_eq!(flights.hold().begun_by().filter(|who| **who == 'a').count(), 1);
        let next = |key| flights.next(&key, Some, |waiting| waiting[0].what);
        assert_eq!(next(1), Some(10));
        flights.answer(&1, |what| (*what == 10).then_some(0));
        assert_eq!([&mut one, &mut two, &mut three].map(told), [Some(0), None, Some(0)]);
        assert_eq!(next(1), Some(11), "it goes on for who is left");
        flights.answer(&1, |what| Some(*what));
        assert_eq!((told(&mut two), next(1)), (Some(11), None));
        assert_eq!(flights.hold().waiting(&1), None, "nothing is left of it");
        flights.end(&2);
        assert!(other.blocking_recv().is_err(), "a fault");
    }

    #[test]
    fn who_is_not_worth_the_work_is_not_worked_for() {
        let flights = Numbers::default();
        let gone = flights.hold().join(1, 'a', 1);
        let mut late = flights.hold().join(1, 'a', 2);
        drop(gone);
        let mut worth = |asked: Asked<u32, u32>| match asked.what {
            _ if asked.has_gone() => None,
            2 => {
                asked.tell(99);
                None
            }
            _ => Some(asked),
        };
        assert_eq!(flights.next(&1, &mut worth, |waiting| waiting.len()), None);
        assert_eq!((told(&mut late), flights.hold().waiting(&1)), (Some(99), None));
    }
}
