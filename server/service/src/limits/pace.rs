//! Bounds how many requests of one tenant may be in flight, and how many of these are in work.
//!
//! The number of requests in flight is the rate of answers times the time of each (Little's law). A service that admits more than rate times
//! latency only adds waiting; one that admits fewer leaves workers idle. Both factors are measured: the rate while a tenant is at its limit,
//! because only then is it the machine's capacity, and the shortest answer of the last seconds. Two limits follow:
//!
//! * **In flight**: the requests that are answered within the operator's latency, and never fewer than half of the operator's limit. Further
//!   requests are refused before their body is read or parsed. A refusal still costs more than a waiting request, which costs a stream and no
//!   processor time. So this limit is far above the limit of requests in work.
//! * **In work**: the requests that are answered within four times the shortest answer, which keeps every stage busy: under load a seal begins two
//!   seals' times after the last, so a login takes up to three where a single one takes one. The others wait before their bodies are read. So another tenant's request waits behind a full tenant's tasks only for that long, and not for the operator's latency.
//!
//! A batch counts as its logins. Logins in a batch cost a fraction of the processor time of single ones, so more of them are always in work.
//!
//! Tenants that are at a limit share it. Requests change only their own tenant's counters.

#![expect(
    clippy::disallowed_methods,
    reason = "on the path of a login: counts those of its tenant, see ARCHITECTURE.md"
)]

mod room;

use room::Shares;
pub use room::{Place, Room, Work};

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// How often the limit is set.
pub const PERIOD: Duration = Duration::from_millis(200);
/// Least number in work. A batch costs the same with one request, and with random lanes it takes more than 32 to fill one. A smaller share
/// would lower the rate from which it is computed. A larger one would delay other tenants' requests longer.
const LEAST: usize = 64;
/// The same for logins in batches: sixteen batches, because a login in a batch costs about a quarter of a single one. With 64 the rate would
/// stay at that of 64 at a time, because the share is computed from the rate.
const LEAST_IN_BATCHES: usize = 512;
/// In work is what is answered within so many times the shortest answer. With 2, seals that begin two seals' times apart kept the share at
/// [`LEAST`], which kept the rate at so many for each seal, with a quarter of the processors idle.
const OF_SHORTEST: u32 = 4;
/// Least number of one tenant in work, however many tenants share.
const LEAST_SHARE: usize = 16;
/// Periods whose shortest answer is remembered; two such memories cover ten to twenty seconds.
const REMEMBERED: u64 = 50;
/// Weight of a period in the measured rate, in percent. Seals come in groups, so one period alone is inexact.
const WEIGHT: f64 = 0.3;

/// See the module.
pub struct Pace {
    limit: AtomicUsize,
    share: AtomicUsize,
    batch_share: AtomicUsize,
    /// The upper bound, whatever is measured.
    most: AtomicUsize,
    aim_ns: AtomicU64,
    period: AtomicU64,
    /// Tenants with a request that waited or was refused in this period.
    crowded: AtomicUsize,
    /// The shortest answer since the memory before it was put aside, in nanoseconds.
    shortest_ns: AtomicU64,
}

/// The measurements from which the limit is computed. One task owns them.
#[derive(Default)]
pub struct Measured {
    answered: u64,
    per_s: f64,
    before_ns: Option<u64>,
}

impl Pace {
    /// At most `most` requests, and as many as are answered within `aim`.
    pub fn new(most: usize, aim: Duration) -> Pace {
        Pace {
            limit: AtomicUsize::new(most),
            share: AtomicUsize::new(most.min(LEAST)),
            batch_share: AtomicUsize::new(most.min(LEAST_IN_BATCHES)),
            most: AtomicUsize::new(most),
            aim_ns: AtomicU64::new(aim.as_nanos().try_into().unwrap_or(u64::MAX)),
            period: AtomicU64::new(1),
            crowded: AtomicUsize::new(0),
            shortest_ns: AtomicU64::new(u64::MAX),
        }
    }

    /// Uses other bounds, and begins as [`Pace::new`] does.
    pub fn bound(&self, most: usize, aim: Duration) {
        let fresh = Pace::new(most, aim);
        for (own, fresh) in [
            (&self.most, fresh.most),
            (&self.limit, fresh.limit),
            (&self.share, fresh.share),
            (&self.batch_share, fresh.batch_share),
        ] {
            own.store(fresh.into_inner(), Relaxed);
        }
        self.aim_ns.store(fresh.aim_ns.into_inner(), Relaxed);
    }

    /// How many requests of a tenant may be in flight now.
    pub fn limit(&self) -> usize {
        self.limit.load(Relaxed)
    }

    /// How many of them are in work.
    pub fn share(&self) -> usize {
        self.share.load(Relaxed)
    }

    fn shares(&self) -> Shares {
        Shares { alone: self.share(), in_batches: self.batch_share.load(Relaxed) }
    }

    /// A place for one more request, if there is one.
    pub fn place(&self, room: &Arc<Room>) -> Option<Place> {
        let place = Place { room: Arc::clone(room), count: 1 };
        if room.taken.fetch_add(1, Relaxed) < self.limit() {
            return Some(place);
        }
        self.crowds(room);
        None
    }

    /// Places for a request of `count` logins, if there are enough. A tenant without another request in flight always gets them.
    pub fn widen(&self, place: &mut Place, count: usize) -> Option<()> {
        let more = count.saturating_sub(place.count);
        let (others_and_own, own) = (place.room.taken.fetch_add(more, Relaxed), place.count);
        place.count += more;
        if others_and_own + more <= self.limit() || others_and_own == own {
            return Some(());
        }
        place.only(own);
        self.crowds(&place.room);
        None
    }

    /// Waits until the request may be worked on; `None` after `timeout`.
    pub async fn work(&self, place: &Place, timeout: Duration) -> Option<Work> {
        let Place { room, count } = place;
        if let Some(work) = Room::work(room, self.shares(), *count) {
            return Some(work);
        }
        self.crowds(room);
        tokio::time::timeout(timeout, Room::wait(room, *count)).await.ok()?.ok()
    }

    fn crowds(&self, room: &Room) {
        let period = self.period.load(Relaxed);
        if room.crowded.swap(period, Relaxed) != period {
            self.crowded.fetch_add(1, Relaxed);
        }
    }

    /// Notes how long a request was in work.
    pub fn answered_in(&self, time: Duration) {
        let ns = time.as_nanos().try_into().unwrap_or(u64::MAX);
        // Written only if it is lower, so that requests do not contend for it.
        if ns < self.shortest_ns.load(Relaxed) {
            self.shortest_ns.fetch_min(ns, Relaxed);
        }
    }

    /// Sets both limits, `elapsed` after the last time. `answered` counts authentications since the start of the process.
    pub fn set(&self, measured: &mut Measured, answered: u64, elapsed: Duration) {
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
        let fit = |time: Duration| (measured.per_s * time.as_secs_f64()) as usize;
        let (most, aim) = (self.most.load(Relaxed), Duration::from_nanos(self.aim_ns.load(Relaxed)));
        let limit = (fit(aim.max(2 * shortest)) / crowded).clamp(most.div_ceil(2), most);
        let share =
            |least| (fit(OF_SHORTEST * shortest).max(least) / crowded).clamp(LEAST_SHARE.min(limit), limit);
        self.limit.store(limit, Relaxed);
        self.share.store(share(LEAST), Relaxed);
        self.batch_share.store(share(LEAST_IN_BATCHES), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A service that answers at `per_s` and takes at least `base` for each answer, with tenants that always have another request, for some
    /// periods. Returns the limit and the rate at the end.
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
            // Little's law, inverted.
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
            // 3,000/s for 200 ms are 600; on a slow machine 40, and refusals would be most of its work.
            (3_000.0, ms(10), ms(200), 600),
            (200.0, ms(10), ms(200), 512),
            // A key-holder far away: twice what its answer takes anyway.
            (1_000.0, ms(300), ms(200), 600),
        ] {
            let (pace, mut measured) = (Pace::new(1_024, aim), Measured::default());
            let (found, rate) = run(&pace, &mut measured, per_s, base, 1);
            assert!(found.abs_diff(limit) <= limit / 50 + 1, "{found}, not {limit}");
            assert!(rate > 0.95 * per_s, "{rate} of {per_s}: workers are idle");
            // And back to the limit of another load.
            let (slower, _) = run(&pace, &mut measured, per_s / 4.0, base, 1);
            assert!(slower.abs_diff((limit / 4).max(512)) <= limit / 50 + 1, "{slower}");
            let (again, rate) = run(&pace, &mut measured, per_s, base, 1);
            assert!(again.abs_diff(limit) <= limit / 50 + 1 && rate > 0.95 * per_s, "{again}, {rate}");
        }
    }

    #[test]
    fn other_bounds_count_at_once_and_in_later_measurements() {
        let pace = Pace::new(1024, Duration::from_secs(1));
        run(&pace, &mut Measured::default(), 600.0, Duration::from_millis(10), 1);
        pace.bound(40, Duration::from_millis(100));
        assert_eq!((pace.limit(), pace.share()), (40, 40));
        let (limit, _) = run(&pace, &mut Measured::default(), 600.0, Duration::from_millis(10), 1);
        assert!((20..=40).contains(&limit), "{limit}");
        pace.bound(2048, Duration::from_secs(1));
        let (limit, _) = run(&pace, &mut Measured::default(), 3_000.0, Duration::from_millis(10), 1);
        assert!((1024..=2048).contains(&limit), "{limit}");
    }

    #[test]
    fn tenants_at_the_limit_share_it_and_one_below_it_changes_nothing() {
        let (pace, mut measured) = (Pace::new(1_024, Duration::from_millis(200)), Measured::default());
        let (limit, _) = run(&pace, &mut measured, 3_000.0, Duration::from_millis(10), 3);
        assert_eq!(limit, 512, "a third of 600, and half of the operator's");
        assert_eq!(pace.share(), 40, "a third of what 3,000/s are in four times 10 ms");
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
    fn what_is_worked_on_keeps_the_stages_busy_and_is_shared_by_all_who_wait() {
        let ms = Duration::from_millis;
        for (per_s, base, tenants, share) in [
            // 40 ms of work would not fill batches.
            (1_300.0, ms(12), 1, LEAST),
            (12_000.0, ms(8), 1, 384),
            (12_000.0, ms(8), 4, 96),
            (12_000.0, ms(8), 64, LEAST_SHARE),
            // A key-holder far away has as much on its way as it answers.
            (1_000.0, ms(300), 1, 600),
        ] {
            let (pace, mut measured) = (Pace::new(1_024, ms(500)), Measured::default());
            run(&pace, &mut measured, per_s, base, tenants);
            assert!(pace.share().abs_diff(share) <= share / 20 + 1, "{}, not {share}", pace.share());
            assert!(pace.share() <= pace.limit());
            let in_batches = pace.shares().in_batches;
            let least = (LEAST_IN_BATCHES / tenants).clamp(LEAST_SHARE, pace.limit());
            assert!(in_batches >= least.max(pace.share()) && in_batches <= pace.limit(), "{in_batches}");
        }
    }

    /// Under load a seal begins two seals' times after the last: most answers take three times the shortest.
    #[test]
    fn seals_that_are_set_apart_leave_no_worker_idle() {
        let (pace, mut measured) = (Pace::new(1_024, Duration::from_millis(500)), Measured::default());
        let room = Arc::default();
        let _waiting: Vec<Place> = (0..LEAST + 1).map(|_| pace.place(&room).unwrap()).collect();
        let (base, machine_per_s) = (Duration::from_millis(6), 12_000.0);
        let (mut answered, mut rate) = (0.0, 0.0);
        for _ in 0..100 {
            rate = f64::min(machine_per_s, pace.share() as f64 / (3.0 * base.as_secs_f64()));
            answered += rate * PERIOD.as_secs_f64();
            pace.answered_in(base);
            pace.crowds(&room);
            pace.set(&mut measured, answered as u64, PERIOD);
        }
        assert!(rate > 0.99 * machine_per_s, "{rate} of {machine_per_s}, with {} in work", pace.share());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_waits_too_long_is_refused() {
        let (pace, room) = (Pace::new(1_024, Duration::from_millis(200)), Arc::default());
        let places: Vec<Place> = (0..LEAST + 2).map(|_| pace.place(&room).unwrap()).collect();
        let mut works = Vec::new();
        for place in &places[..LEAST] {
            works.push(pace.work(place, Duration::ZERO).await.unwrap());
        }
        let began = tokio::time::Instant::now();
        let timeout = Duration::from_millis(400);
        assert!(pace.work(&places[LEAST], timeout).await.is_none());
        assert_eq!(began.elapsed().as_millis(), 400);
        let waits = pace.work(&places[LEAST + 1], timeout);
        works.pop();
        assert!(waits.await.is_some(), "its turn came");
        let mut measured = Measured::default();
        pace.set(&mut measured, 10_000, PERIOD);
        assert!(measured.per_s > 0.0, "a tenant whose requests wait shows what the machine can do");
    }

    #[test]
    fn a_batch_takes_a_place_for_each_login_and_is_let_in_where_it_is_alone() {
        let (pace, room) = (Pace::new(40, Duration::from_millis(200)), Arc::default());
        let mut batch = pace.place(&room).unwrap();
        pace.widen(&mut batch, 32).unwrap();
        let mut second = pace.place(&room).unwrap();
        assert!(pace.widen(&mut second, 32).is_none(), "32 and 32 are more than 40");
        let others: Vec<_> = std::iter::from_fn(|| pace.place(&room)).collect();
        assert_eq!(others.len(), 7, "the refused batch holds the one place that it came with");
        batch.only(10);
        assert_eq!(std::iter::from_fn(|| pace.place(&room)).take(100).collect::<Vec<_>>().len(), 22);
        drop((batch, second, others));
        let pace = Pace::new(8, Duration::from_millis(200));
        let mut alone = pace.place(&room).unwrap();
        pace.widen(&mut alone, 32).unwrap();
        assert!(pace.place(&room).is_none());
        drop(alone);
        assert!(pace.place(&room).is_some());
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
