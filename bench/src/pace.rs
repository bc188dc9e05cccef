//! When batches are due in an open loop, and how long after that they were sealed.
//!
//! Batches arrive as a Poisson process, whether a worker is free or not, and count from the time at which they were due. So the delay that
//! a stall causes is in their latency too. Workers share one schedule: a free worker takes the next arrival.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_matching::LANES;
use trefoil_pipeline::Clock as _;

use crate::clock::WorldClock;
use crate::seals::SealEntry;
use crate::visits::place_of;

/// A schedule that workers share.
#[derive(Clone)]
pub(crate) struct Pace {
    /// After the beginning of the loop, nanoseconds.
    due_ns: Arc<[u64]>,
    next: Arc<AtomicUsize>,
    began_ns: u64,
}

impl Pace {
    /// Batches for so many authentications a second, for so long and somewhat longer.
    pub(crate) fn new(auth_per_s: f64, seconds: f64, seed: u64, clock: &WorldClock) -> Pace {
        let per_ns = auth_per_s / LANES as f64 / 1e9;
        let until_ns = (seconds * 1.2 + 1.0) * 1e9;
        let mut rng = StdRng::seed_from_u64(seed);
        let gaps = std::iter::repeat_with(|| -(1.0 - rng.random::<f64>()).ln() / per_ns);
        let due = gaps.scan(0.0, |at, gap| {
            *at += gap;
            Some(*at)
        });
        let due_ns = due.take_while(|at| *at < until_ns).map(|at| at as u64).collect();
        Pace { due_ns, next: Arc::default(), began_ns: clock.monotonic_ns() }
    }

    /// Waits for the next arrival, and says when it was due; none when the schedule is over.
    pub(crate) fn wait(&self, clock: &WorldClock) -> Option<u64> {
        let due = self.began_ns + self.due_ns.get(self.next.fetch_add(1, Relaxed))?;
        std::thread::sleep(Duration::from_nanos(due.saturating_sub(clock.monotonic_ns())));
        Some(due)
    }
}

/// How long after they were due the batches were released whose seals came between two times, nanoseconds. `due` has for each worker
/// when its batches were due, in the order in which it took them.
pub(crate) fn latencies_ns(seals: &[SealEntry], due: &[Vec<u64>], from_ns: u64, to_ns: u64) -> Vec<u64> {
    let inside = seals.iter().filter(|seal| from_ns < seal.at_ns && seal.at_ns <= to_ns);
    let of = |seal: &SealEntry| {
        let at_ns = seal.at_ns;
        let batches = seal.tickets.iter().filter_map(move |ticket| {
            let (worker, batch) = place_of(*ticket);
            Some(at_ns - due.get(worker)?.get(batch)?)
        });
        batches.collect::<Vec<_>>()
    };
    inside.flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_have_the_rate_that_was_asked_for() {
        let clock = WorldClock::start();
        let pace = Pace::new(32_000.0, 10.0, 7, &clock);
        // 1,000 batches a second for 13 s, and five standard deviations.
        assert!(pace.due_ns.len().abs_diff(13_000) < 570, "{}", pace.due_ns.len());
        assert!(pace.due_ns.is_sorted());
    }

    #[test]
    fn nobody_begins_before_it_is_due_and_each_arrival_is_taken_once() {
        let clock = WorldClock::start();
        let pace = Pace::new(3_200_000.0, 0.01, 7, &clock);
        let mut taken: Vec<u64> = std::thread::scope(|scope| {
            let waiting = || {
                let wait = || pace.wait(&clock).inspect(|due| assert!(clock.monotonic_ns() >= *due));
                std::iter::from_fn(wait).take(500).collect::<Vec<_>>()
            };
            let threads = [scope.spawn(waiting), scope.spawn(waiting)];
            threads.into_iter().flat_map(|thread| thread.join().expect("waits")).collect()
        });
        taken.sort_unstable();
        let expected: Vec<u64> = pace.due_ns[..1_000].iter().map(|due| pace.began_ns + due).collect();
        assert_eq!(taken, expected);
    }

    #[test]
    fn a_stall_is_in_the_latency_of_all_that_fell_into_it() {
        let seal = |at_ns: u64, tickets: Vec<u64>| SealEntry {
            at_ns,
            lanes: 32 * tickets.len() as u64,
            seal_ns: 10,
            batches: vec![Default::default(); tickets.len()],
            tickets,
        };
        // Two workers, a batch due every 100 ns; nothing is sealed from 300 to 1000, and then all at once.
        let due = [vec![0, 200, 400], vec![100, 300, 500]];
        let second = 1 << 48;
        let seals = [
            seal(150, vec![0, second]),
            seal(300, vec![32]),
            seal(1_000, vec![second + 32, 64, second + 64]),
        ];
        assert_eq!(latencies_ns(&seals, &due, 150, 1_000), [100, 700, 600, 500]);
        assert_eq!(latencies_ns(&seals, &due, 0, 150), [150, 50]);
    }
}
