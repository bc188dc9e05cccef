//! How many requests of one tenant may be in flight: as many as are answered within the latency that the operator wants.
//!
//! Requests in flight are the rate of answers times the time that each takes (Little's law). Who lets in more than rate times
//! latency only makes everybody wait; who lets in fewer leaves workers idle. Both factors are measured: the rate while some tenant is
//! at its limit, because only then it is what the machine can do, and the shortest answer of the last seconds. The latency aimed at is
//! the operator's, or twice the shortest one where that is longer, so that the limit can grow to what the rate allows. Tenants that are at
//! the limit share it.
//!
//! A refused request costs no body and no body's parsing, and the one counter that all requests of a tenant change is the tenant's own.

use crate::config::Limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// How often the limit is set.
pub(crate) const PERIOD: Duration = Duration::from_millis(200);
/// Never fewer: with random lanes it takes so many to fill a batch, and a batch costs the same with one request. A limit below that would lower
/// the rate from which it is computed.
const LEAST: usize = 128;
/// Periods of which the shortest answer is remembered, twice: ten to twenty seconds.
const REMEMBERED: u64 = 50;
/// What a period counts in the measured rate, in percent. Seals come in groups, so one period alone is rough.
const WEIGHT: f64 = 0.3;

/// See the module.
pub(crate) struct Pace {
    limit: AtomicUsize,
    /// No more, whatever is measured.
    most: usize,
    aim: Duration,
    period: AtomicU64,
    /// Tenants that were refused a place in this period.
    crowded: AtomicUsize,
    /// The shortest answer since the memory before it was put aside, in nanoseconds.
    shortest_ns: AtomicU64,
}

/// The requests of one tenant in flight.
#[derive(Default)]
pub(crate) struct Room {
    taken: AtomicUsize,
    /// The last period in which somebody was refused.
    crowded: AtomicU64,
}

/// One of them. Given back when it is dropped.
pub(crate) struct Place(Arc<Room>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Relaxed);
    }
}

/// What the limit is computed from. One task has it.
#[derive(Default)]
pub(crate) struct Measured {
    answered: u64,
    per_s: f64,
    before_ns: Option<u64>,
}

impl Pace {
    pub(crate) fn of(limits: &Limits) -> Pace {
        Pace::new(limits.in_flight_per_tenant, Duration::from_millis(limits.latency_aim_ms))
    }

    /// At most `most` requests, and as many as are answered within `aim`.
    fn new(most: usize, aim: Duration) -> Pace {
        Pace {
            limit: AtomicUsize::new(most.min(256)),
            most,
            aim,
            period: AtomicU64::new(1),
            crowded: AtomicUsize::new(0),
            shortest_ns: AtomicU64::new(u64::MAX),
        }
    }

    /// The limit now.
    pub(crate) fn limit(&self) -> usize {
        self.limit.load(Relaxed)
    }

    /// A place for one more request, or none.
    pub(crate) fn place(&self, room: &Arc<Room>) -> Option<Place> {
        let place = Place(Arc::clone(room));
        if room.taken.fetch_add(1, Relaxed) < self.limit() {
            return Some(place);
        }
        let period = self.period.load(Relaxed);
        if room.crowded.swap(period, Relaxed) != period {
            self.crowded.fetch_add(1, Relaxed);
        }
        None
    }

    /// Notes that a request took so long from its place to its answer.
    pub(crate) fn answered_in(&self, time: Duration) {
        let ns = time.as_nanos().try_into().unwrap_or(u64::MAX);
        // Written only where it is lower, so that requests do not take turns at it.
        if ns < self.shortest_ns.load(Relaxed) {
            self.shortest_ns.fetch_min(ns, Relaxed);
        }
    }

    /// Sets the limit, `elapsed` after the last time. `answered` counts authentications since the start of the process.
    pub(crate) fn set(&self, measured: &mut Measured, answered: u64, elapsed: Duration) {
        let crowded = self.crowded.swap(0, Relaxed);
        let per_s = answered.saturating_sub(measured.answered) as f64 / elapsed.as_secs_f64().max(1e-3);
        measured.answered = answered;
        if self.period.fetch_add(1, Relaxed).is_multiple_of(REMEMBERED) {
            measured.before_ns = Some(self.shortest_ns.swap(u64::MAX, Relaxed));
        }
        if crowded == 0 {
            measured.per_s = 0.0;
            return;
        }
        measured.per_s = match measured.per_s {
            0.0 => per_s,
            before => before + WEIGHT * (per_s - before),
        };
        let shortest_ns = self.shortest_ns.load(Relaxed).min(measured.before_ns.unwrap_or(u64::MAX));
        let shortest =
            if shortest_ns == u64::MAX { Duration::ZERO } else { Duration::from_nanos(shortest_ns) };
        let aim = self.aim.max(2 * shortest);
        let fit = measured.per_s * aim.as_secs_f64() / crowded as f64;
        self.limit.store((fit as usize).clamp(LEAST.min(self.most), self.most), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A service that answers `per_s` and no answer in less than `base`, with tenants that always have another request, for some
    /// periods. The limit, and the rate at the end.
    fn run(pace: &Pace, measured: &mut Measured, per_s: f64, base: Duration, tenants: usize) -> (usize, f64) {
        let rooms: Vec<Arc<Room>> = (0..tenants).map(|_| Arc::default()).collect();
        let (mut answered, mut rate) = (measured.answered as f64, 0.0);
        for _ in 0..100 {
            let mut in_flight = Vec::new();
            for room in &rooms {
                while let Some(place) = pace.place(room) {
                    in_flight.push(place);
                }
            }
            // Little's law, the other way round.
            rate = f64::min(per_s, in_flight.len() as f64 / base.as_secs_f64());
            answered += rate * PERIOD.as_secs_f64();
            pace.answered_in(base);
            pace.set(measured, answered as u64, PERIOD);
        }
        (pace.limit(), rate)
    }

    #[test]
    fn the_limit_finds_what_the_machine_can_do_within_the_latency() {
        let ms = Duration::from_millis;
        for (per_s, base, aim, limit) in [
            // 3,000/s for 200 ms are 600; on a slow machine 40, which would not fill batches.
            (3_000.0, ms(10), ms(200), 600),
            (200.0, ms(10), ms(200), 128),
            // A key-holder far away: twice what its answer takes anyway.
            (1_000.0, ms(300), ms(200), 600),
        ] {
            let (pace, mut measured) = (Pace::new(1_024, aim), Measured::default());
            let (found, rate) = run(&pace, &mut measured, per_s, base, 1);
            assert!(found.abs_diff(limit) <= limit / 50 + 1, "{found}, not {limit}");
            assert!(rate > 0.95 * per_s, "{rate} of {per_s}: workers are idle");
            // And back to what another load allows.
            let (slower, _) = run(&pace, &mut measured, per_s / 4.0, base, 1);
            assert!(slower.abs_diff((limit / 4).max(LEAST)) <= limit / 50 + 1, "{slower}");
            let (again, rate) = run(&pace, &mut measured, per_s, base, 1);
            assert!(again.abs_diff(limit) <= limit / 50 + 1 && rate > 0.95 * per_s, "{again}, {rate}");
        }
    }

    #[test]
    fn tenants_at_the_limit_share_it_and_one_below_it_changes_nothing() {
        let (pace, mut measured) = (Pace::new(1_024, Duration::from_millis(200)), Measured::default());
        let (limit, _) = run(&pace, &mut measured, 3_000.0, Duration::from_millis(10), 3);
        assert!(limit.abs_diff(200) <= 5, "{limit}");
        let room = Arc::default();
        let _place = pace.place(&room).unwrap();
        pace.set(&mut measured, 1_000_000, PERIOD);
        assert_eq!(
            pace.limit(),
            limit,
            "nobody was refused, so nothing is known of what more there would be"
        );
    }

    #[test]
    fn a_place_comes_back_however_its_request_ends() {
        let (pace, room) = (Pace::new(2, Duration::from_millis(200)), Arc::default());
        let (one, two) = (pace.place(&room).unwrap(), pace.place(&room).unwrap());
        assert!(pace.place(&room).is_none() && pace.place(&room).is_none(), "a refusal takes no place");
        drop(one);
        let _three = pace.place(&room).unwrap();
        assert!(pace.place(&room).is_none());
        drop(two);
        assert!(pace.place(&room).is_some());
        assert!(pace.place(&Arc::default()).is_some(), "another tenant's");
    }
}
