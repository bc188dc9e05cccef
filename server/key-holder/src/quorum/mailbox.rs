//! Messages from the other two key-holders, kept until they are needed. They may come before or after their job.

#![expect(clippy::disallowed_types, reason = "a thread waits here for another machine's part")]

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use trefoil_matching::quorum::Seat;

/// Most messages of each sender, the oldest dropped first: a second of batches, less than a megabyte. Each sender has its own
/// places, so that it cannot push out another's messages.
const MESSAGES_MAX: usize = 1024;
/// How often to check whether a sender can still be reached.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// See the module.
pub(crate) struct Mailbox<K, V> {
    places: Mutex<[Inbox<K, V>; 3]>,
    arrived: Condvar,
}

struct Inbox<K, V> {
    order: VecDeque<K>,
    messages: HashMap<K, V>,
}

impl<K, V> Default for Mailbox<K, V> {
    fn default() -> Mailbox<K, V> {
        let places = || Inbox { order: VecDeque::new(), messages: HashMap::new() };
        Mailbox { places: Mutex::new([places(), places(), places()]), arrived: Condvar::new() }
    }
}

impl<K: Copy + Eq + Hash, V: Clone> Mailbox<K, V> {
    /// Keeps a message. The first one of a sender about a job counts.
    pub(crate) fn put(&self, from: Seat, about: K, message: V) {
        let mut all = self.places();
        let places = &mut all[from.index()];
        if places.messages.contains_key(&about) {
            return;
        }
        if places.order.len() == MESSAGES_MAX
            && let Some(oldest) = places.order.pop_front()
        {
            places.messages.remove(&oldest);
        }
        places.order.push_back(about);
        places.messages.insert(about, message);
        drop(all);
        self.arrived.notify_all();
    }

    /// The messages about a job, once there are `enough`, or all from `expected` senders, or at `deadline`.
    pub(crate) fn wait(
        &self,
        about: &K,
        deadline: Instant,
        expected: impl Fn(Seat) -> bool,
        enough: usize,
    ) -> Vec<(Seat, V)> {
        let mut all = self.places();
        loop {
            let there: Vec<(Seat, V)> = Seat::ALL
                .into_iter()
                .filter_map(|seat| Some((seat, all[seat.index()].messages.get(about)?.clone())))
                .collect();
            let missing = |seat: Seat| there.iter().all(|(of, _)| *of != seat) && expected(seat);
            let left = deadline.saturating_duration_since(Instant::now());
            if there.len() >= enough || left.is_zero() || !Seat::ALL.into_iter().any(missing) {
                return there;
            }
            let waited = self.arrived.wait_timeout(all, left.min(LOOK_AGAIN));
            (all, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Drops the messages about a job.
    pub(crate) fn forget(&self, about: &K) {
        for places in self.places().iter_mut() {
            if places.messages.remove(about).is_some() {
                places.order.retain(|kept| kept != about);
            }
        }
    }

    fn places(&self) -> MutexGuard<'_, [Inbox<K, V>; 3]> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_wait_in_bounded_places_of_their_senders() {
        let mailbox = Mailbox::default();
        let [one, other, _] = Seat::ALL;
        mailbox.put(other, 7, "b");
        for about in 0..=MESSAGES_MAX {
            mailbox.put(one, about, "a");
        }
        mailbox.put(one, 7, "again");
        let now = Instant::now();
        let there = |about| mailbox.wait(&about, now, |_| true, 2);
        assert_eq!(there(7), [(one, "a"), (other, "b")], "the first message counts");
        assert_eq!(there(0), [], "the oldest is dropped");
        assert_eq!(there(MESSAGES_MAX), [(one, "a")]);
        mailbox.forget(&7);
        assert_eq!(there(7), []);
    }

    #[test]
    fn waiting_ends_with_the_last_that_is_expected() {
        let mailbox = Mailbox::default();
        let [one, other, absent] = Seat::ALL;
        let never = Instant::now() + Duration::from_secs(600);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| mailbox.wait(&1, never, |seat| seat != absent, 3));
            mailbox.put(one, 1, "a");
            mailbox.put(other, 1, "b");
            assert_eq!(waiting.join().unwrap().len(), 2);
        });
        assert_eq!(mailbox.wait(&2, never, |_| false, 1), [], "nobody is expected");
    }
}
