//! Batches that arrive on a schedule, whether or not the sealer of the service keeps up. It holds at most as many at any time as
//! the service lets in; batches due meanwhile wait outside.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use serde_json::{Value, json};
use trefoil_attest::Decision;
use trefoil_matching::LANES;
use trefoil_pipeline::{
    Bound, BoundLane, Cadence, Clock as _, Outlet, Refusal, Release, Sealed, Sealer, StageTimes, UNSEALED_MAX,
};
use trefoil_sign::Extent;

use super::precompute;
use crate::clock::WorldClock;
use crate::distribution::{Distribution, rounded};
use crate::world::{sealer, signing_keys};
use crate::{Failure, Report};

/// Shares of the capacity at which load is offered, percent.
const LOADS: [u32; 6] = [1, 10, 40, 70, 90, 100];

/// Under load, by so many threads.
pub(super) fn measure(load: Duration, extent: Extent, sealers: usize) -> Result<Report, Failure> {
    let mut service = Service::start(extent, sealers)?;
    let (capacity, mut refused) = service.capacity(load)?;
    let mut summary = format!("sealer of {sealers} threads under load, capacity {capacity:.0} batches/s\n");
    let mut rates = Vec::new();
    for percent in LOADS {
        let rate = capacity * f64::from(percent) / 100.0;
        let batches = (rate * load.as_secs_f64()).ceil().max(1.0) as usize;
        let outcome = service.offer(rate, batches)?;
        refused += outcome.refused;
        let (fields, line) = outcome.report(rate, percent);
        rates.push(fields);
        summary += &line;
    }
    drop(service.outlet);
    service.sealer.join().ok_or_else(|| Failure::fault("the sealer panicked"))?;
    let result = json!({
        "capacity_batches_per_s": rounded(capacity), "sealing_threads": sealers, "seconds": load.as_secs_f64(), "rates": rates,
        "refused": refused,
    });
    let problem = (refused > 0).then(|| format!("{refused} lanes were not sealed"));
    Ok(Report { summary, result, problem })
}

/// When a batch was due and when it was handed to the sealer, nanoseconds on the world's clock.
type Sent = [u64; 2];

/// One seal: when it was released, how long it took, and when each batch that it covers was sent.
struct Group {
    released_ns: u64,
    seal_ns: u64,
    sent: Vec<Sent>,
}

/// Hands over released seals, with the time; nothing for a refused lane.
struct Released {
    clock: Arc<WorldClock>,
    sealed: Sender<(u64, Option<Sealed<Sent>>)>,
}

impl Released {
    fn send(&self, sealed: Option<Sealed<Sent>>) {
        // If the receiver is gone, nothing waits for the groups.
        self.sealed.send((self.clock.monotonic_ns(), sealed)).unwrap_or_default();
    }
}

impl Release<Sent> for Released {
    fn sealed(&self, sealed: Sealed<Sent>) {
        self.send(Some(sealed));
    }

    fn refused(&self, _: Sent, _: Refusal) {
        self.send(None);
    }
}

/// A sealer, and the ends of its queues.
struct Service {
    clock: Arc<WorldClock>,
    outlet: Outlet<Sent>,
    sealed: Receiver<(u64, Option<Sealed<Sent>>)>,
    sealer: Sealer<Sent>,
    idle: Vec<Bound<Sent>>,
}

/// The result of the batches offered at one rate.
#[derive(Default)]
struct Outcome {
    groups: Vec<Group>,
    /// Batches of these.
    sealed: usize,
    refused: u64,
    /// Batches to resend, because making one takes longer than everything that is measured about it.
    idle: Vec<Bound<Sent>>,
}

impl Service {
    /// A fresh sealer whose precomputation is done.
    fn start(extent: Extent, sealers: usize) -> Result<Self, Failure> {
        let (mut keys, _) = signing_keys()?;
        precompute(&mut keys, extent)?;
        let clock = Arc::new(WorldClock::start());
        let (sender, sealed) = unbounded();
        let release = Arc::new(Released { clock: Arc::clone(&clock), sealed: sender });
        let (outlet, sealer) = sealer(keys, (Cadence::Group, sealers), &clock, release, |_| {})?;
        let idle = (0..UNSEALED_MAX).map(batch).collect();
        Ok(Self { clock, outlet, sealed, sealer, idle })
    }

    fn seal(&mut self, batch: Bound<Sent>) -> Result<(), Failure> {
        if self.outlet.seal(batch) { Ok(()) } else { Err(Failure::fault("the sealer stopped")) }
    }

    /// Batches per second that the sealer keeps up with, and lanes that were refused. While one group is sealed the next
    /// gathers, so one seal covers half of the batches that a service lets in, and the loop is closed over that half.
    fn capacity(&mut self, load: Duration) -> Result<(f64, u64), Failure> {
        let group = UNSEALED_MAX / 2;
        let waiting = self.idle.split_off(group);
        let mut outcome = Outcome { idle: std::mem::take(&mut self.idle), ..Outcome::default() };
        // The first seals cover few batches, because the rest had not arrived yet.
        let (warm, mut from, mut to) = (8 * group, None, (0, 0));
        while from.is_none_or(|(ns, _)| to.0 - ns < load.as_nanos() as u64) && outcome.refused == 0 {
            for batch in outcome.idle.drain(..) {
                self.seal(batch)?;
            }
            to = (self.receive(&mut outcome)?, outcome.sealed);
            from = from.or((to.1 >= warm).then_some(to));
        }
        while outcome.idle.len() < group && outcome.refused == 0 {
            self.receive(&mut outcome)?;
        }
        self.idle = outcome.idle;
        self.idle.extend(waiting);
        let (from_ns, already) = from.unwrap_or_default();
        Ok(((to.1 - already) as f64 / (to.0 - from_ns) as f64 * 1e9, outcome.refused))
    }

    /// Waits for the next release, and returns its time.
    fn receive(&self, outcome: &mut Outcome) -> Result<u64, Failure> {
        let (at, sealed) = self.sealed.recv().map_err(|_| Failure::fault("the sealer stopped"))?;
        outcome.take(at, sealed);
        Ok(at)
    }

    /// Offers `batches` at `rate` per second, and waits for the last seal.
    fn offer(&mut self, rate: f64, batches: usize) -> Result<Outcome, Failure> {
        let first_ns = self.clock.monotonic_ns();
        let mut outcome = Outcome { idle: std::mem::take(&mut self.idle), ..Outcome::default() };
        for number in 0..batches {
            let due = first_ns + (number as f64 / rate * 1e9) as u64;
            let mut batch = outcome.idle.pop().unwrap_or_else(|| batch(number));
            // On this thread, so that the sealer's thread continues with the next seal.
            self.sealed.try_iter().for_each(|(at, sealed)| outcome.take(at, sealed));
            while number >= outcome.sealed + UNSEALED_MAX && outcome.refused == 0 {
                self.receive(&mut outcome)?;
            }
            batch.lanes[0].reply = [due, wait_until(&self.clock, due)];
            self.seal(batch)?;
        }
        while outcome.sealed < batches && outcome.refused == 0 {
            self.receive(&mut outcome)?;
        }
        self.idle = std::mem::take(&mut outcome.idle);
        Ok(outcome)
    }
}

/// Waits, and returns the time after that. It sleeps for a tick at least, so that the processor is free for the sealer
/// meanwhile: batches that are due within one are sent together at its end.
fn wait_until(clock: &WorldClock, due: u64) -> u64 {
    const TICK_NS: u64 = 200_000;
    loop {
        let now = clock.monotonic_ns();
        match due.checked_sub(now) {
            None | Some(0) => return now,
            Some(left) => std::thread::sleep(Duration::from_nanos(left.max(TICK_NS))),
        }
    }
}

/// A decided batch. The sealer reads digests only, so statements are left empty.
fn batch(number: usize) -> Bound<Sent> {
    let lane = |lane: usize| {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&number.to_be_bytes());
        digest[8] = lane as u8;
        BoundLane { reply: [0; 2], decision: Some(Decision::Match), statement: Vec::new(), digest }
    };
    Bound { lanes: (0..LANES).map(lane).collect(), refused: Vec::new(), times: StageTimes::default() }
}

impl Outcome {
    fn take(&mut self, released_ns: u64, sealed: Option<Sealed<Sent>>) {
        match sealed {
            None => self.refused += 1,
            Some(Sealed { batches, seal_ns, .. }) => {
                let sent = batches.iter().map(|batch| batch.lanes[0].reply).collect();
                self.sealed += batches.len();
                self.groups.push(Group { released_ns, seal_ns, sent });
                self.idle.extend(batches);
            }
        }
    }

    /// The latency that sealing adds to every batch: the time from its hand-over to the release of its seal. By design that is at
    /// most the rest of the seal, or of the half that is signed, when it came, and its own seal, with which and the one before it is
    /// compared. Counted from when a batch was due, it includes the wait outside and the generator's lateness.
    fn report(self, rate: f64, percent: u32) -> (Value, String) {
        let [mut added_us, mut from_due_us, mut of_bound] = [const { Vec::new() }; 3];
        // The first has no predecessor, so it counts twice its own.
        let mut previous_ns = self.groups.first().map_or(0, |group| group.seal_ns);
        for Group { released_ns, seal_ns, sent } in &self.groups {
            for [due, sent] in sent {
                let added_ns = released_ns - sent;
                added_us.push(added_ns as f64 / 1e3);
                from_due_us.push((released_ns - due) as f64 / 1e3);
                of_bound.push(added_ns as f64 / (previous_ns + seal_ns) as f64);
            }
            previous_ns = *seal_ns;
        }
        let batches = added_us.len();
        let signing = Distribution::of_ns(self.groups.iter().map(|group| group.seal_ns));
        let us_per_batch = signing.runs().iter().sum::<f64>() / batches as f64;
        let [added, from_due, bound] = [added_us, from_due_us, of_bound].map(Distribution::new);
        let shown = |of: &Distribution| {
            let [p50, p99, max] = [50, 99, 100].map(|percent| rounded(of.percentile(percent)));
            json!({ "p50": p50, "p99": p99, "max": max })
        };
        let fields = json!({
            "percent_of_capacity": percent, "batches_per_s": rounded(rate), "batches": batches,
            "seals": self.groups.len(), "batches_per_seal": rounded(batches as f64 / self.groups.len() as f64),
            "us_per_batch": rounded(us_per_batch), "added_us": shown(&added), "added_from_due_us": shown(&from_due),
            "signing_us": shown(&signing), "added_of_two_own_signings": shown(&bound),
        });
        let line = format!(
            "  {percent:>3} %: {rate:>8.0} batches/s, {us_per_batch:.1} us each; added p50 {:.0} p99 {:.0} max {:.0} us; signing p50 {:.0} us\n",
            added.percentile(50),
            added.percentile(99),
            added.percentile(100),
            signing.percentile(50),
        );
        (fields, line)
    }
}
