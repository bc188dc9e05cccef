//! The core of a discrete-event simulation: the event queue.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Events in the order of their times; those of one time in the order in which they were scheduled, so that a simulation
/// with the same seed takes the same course everywhere.
pub(super) struct Calendar<E> {
    events: BinaryHeap<Reverse<Scheduled<E>>>,
    scheduled: u64,
}

struct Scheduled<E> {
    at: f64,
    order: u64,
    event: E,
}

impl<E> Calendar<E> {
    pub(super) fn new() -> Self {
        Calendar { events: BinaryHeap::new(), scheduled: 0 }
    }

    /// Lets `event` happen at `at`, in nanoseconds.
    pub(super) fn schedule(&mut self, at: f64, event: E) {
        self.events.push(Reverse(Scheduled { at, order: self.scheduled, event }));
        self.scheduled += 1;
    }

    /// The next event and its time.
    pub(super) fn next(&mut self) -> Option<(f64, E)> {
        self.events.pop().map(|Reverse(Scheduled { at, order: _, event })| (at, event))
    }
}

impl<E> Ord for Scheduled<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.order.cmp(&other.order))
    }
}

impl<E> PartialOrd for Scheduled<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Scheduled<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Scheduled<E> {}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;

    #[test]
    fn events_come_in_the_order_of_time_and_then_of_scheduling() {
        let mut calendar = Calendar::new();
        for (at, name) in [(2.0, "c"), (1.0, "a"), (1.0, "b"), (3.0, "d")] {
            calendar.schedule(at, name);
        }
        let order: Vec<_> = std::iter::from_fn(|| calendar.next()).map(|(_, name)| name).collect();
        assert_eq!(order, ["a", "b", "c", "d"]);
    }

    /// Arrivals and one server, both memoryless: the mean number in the system is rho / (1 - rho).
    #[test]
    fn an_m_m_1_queue_has_its_known_length() {
        enum Event {
            Arrival,
            Departure,
        }
        let (arrivals, services, horizon) = (0.6, 1.0, 400_000.0);
        let mut rng = StdRng::seed_from_u64(5);
        let mut after = |rate: f64| -(1.0 - rng.random::<f64>()).ln() / rate;
        let mut calendar = Calendar::new();
        calendar.schedule(after(arrivals), Event::Arrival);
        let (mut inside, mut area, mut last) = (0u32, 0.0, 0.0);
        while let Some((now, event)) = calendar.next().filter(|(now, _)| *now < horizon) {
            area += f64::from(inside) * (now - last);
            last = now;
            match event {
                Event::Arrival => {
                    calendar.schedule(now + after(arrivals), Event::Arrival);
                    inside += 1;
                    if inside == 1 {
                        calendar.schedule(now + after(services), Event::Departure);
                    }
                }
                Event::Departure => {
                    inside -= 1;
                    if inside > 0 {
                        calendar.schedule(now + after(services), Event::Departure);
                    }
                }
            }
        }
        let mean = area / last;
        assert!((mean - 1.5).abs() < 0.05, "{mean}");
    }
}
