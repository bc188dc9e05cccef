//! One flight for many who ask for the same at a time: one works, and the outcome is told to all whom it concerns.
//!
//! A flight begins with the first who asks and ends when nobody waits on it any more. Whoever leads it works for those who wait until an outcome
//! has concerned each of them. Nothing is remembered of it then: who comes later begins another.

#![expect(
    clippy::disallowed_types,
    reason = "off the path of a hit: who missed reads a row next, or has a proof verified"
)]

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Flights under way: for each key `K` who began it (`B`), and those who wait, with what each asked (`A`), for an outcome `T`.
pub(crate) struct Flights<K, B, A, T>(Mutex<HashMap<K, Flight<B, A, T>>>);

struct Flight<B, A, T> {
    begun_by: B,
    waiting: Vec<Asked<A, T>>,
}

/// One who waits.
pub(crate) struct Asked<A, T> {
    /// For what.
    pub(crate) what: A,
    answer: oneshot::Sender<T>,
}

impl<A, T> Asked<A, T> {
    /// Whether nobody hears the answer.
    pub(crate) fn has_gone(&self) -> bool {
        self.answer.is_closed()
    }

    /// Ends the wait.
    pub(crate) fn tell(self, outcome: T) {
        // One who has gone away needs no answer.
        let _ = self.answer.send(outcome);
    }
}

/// All flights, held.
pub(crate) struct Held<'a, K, B, A, T>(MutexGuard<'a, HashMap<K, Flight<B, A, T>>>);

impl<K, B, A, T> Default for Flights<K, B, A, T> {
    fn default() -> Self {
        Flights(Mutex::default())
    }
}

impl<K: Eq + Hash, B, A, T> Flights<K, B, A, T> {
    /// Holds them, so that what is decided by their number is still so when one begins.
    pub(crate) fn hold(&self) -> Held<'_, K, B, A, T> {
        Held(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What to work for next, which `choose` takes from those who wait and are worth it. Ends the flight where there are none.
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

    /// Tells an outcome to those for whom there is one. The others wait on.
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

    /// Ends a flight without an outcome, which those who wait see as a fault.
    pub(crate) fn end(&self, key: &K) {
        self.hold().0.remove(key);
    }

    /// Ends all of them so.
    pub(crate) fn end_all(&self) {
        self.hold().0.clear();
    }
}

impl<K: Eq + Hash, B, A, T> Held<'_, K, B, A, T> {
    /// How many wait on a flight; none where there is none.
    pub(crate) fn waiting(&self, key: &K) -> Option<usize> {
        self.0.get(key).map(|flight| flight.waiting.len())
    }

    /// Who began each flight.
    pub(crate) fn begun_by(&self) -> impl Iterator<Item = &B> {
        self.0.values().map(|flight| &flight.begun_by)
    }

    /// Waits on a flight, or begins one: whoever does must see that somebody leads it.
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
