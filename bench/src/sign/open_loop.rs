//! Batches that arrive on a schedule at the sealer of the service, whether or not it keeps up.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Sender, unbounded};
use serde_json::{Map, Value, json};
use trefoil_attest::Decision;
use trefoil_matching::LANES;
use trefoil_pipeline::{
    Bound, BoundLane, Cadence, ChainHead, Clock, Refusal, Release, Sealed, Sealer, StageTimes,
};

use super::Section;
use crate::clock::WorldClock;
use crate::distribution::rounded;
use crate::failure::Failure;
use crate::world::{ISSUER, signing_keys};

/// Shares of the capacity at which load is offered, percent.
const LOADS: [u32; 5] = [1, 10, 40, 70, 100];

/// Batches that measure the capacity, all there at once: twice what one seal covers.
const BACKLOG: usize = 2_048;

pub(super) fn measure(load: Duration) -> Result<Section, Failure> {
    // The tree over so many batches costs more than the signatures: this is the most that the sealer can do.
    let backlog = offer(f64::INFINITY, BACKLOG)?;
    let capacity = BACKLOG as f64 / (backlog.last_ns - backlog.first_ns) as f64 * 1e9;
    let mut text = format!("sealer under load, capacity {capacity:.0} batches/s\n");
    let mut rates = Vec::new();
    let mut refused = backlog.refused;
    for percent in LOADS {
        let rate = capacity * f64::from(percent) / 100.0;
        let batches = (rate * load.as_secs_f64()).ceil().max(1.0) as usize;
        let outcome = offer(rate, batches)?;
        refused += outcome.refused;
        let (fields, line) = outcome.report(rate, percent);
        rates.push(fields);
        text.push_str(&line);
    }
    let fields = json!({
        "capacity_batches_per_s": rounded(capacity), "seconds": load.as_secs_f64(), "rates": rates,
        "refused": refused,
    });
    let problem = (refused > 0).then(|| format!("{refused} lanes were not sealed"));
    Ok(Section { fields: Map::from_iter([("open_loop".to_owned(), fields)]), text, problem })
}

/// When a batch was to arrive, nanoseconds on the world's clock.
type Due = u64;

/// One seal: when it was begun and released, and the arrival of each batch that it covers.
struct Group {
    released_ns: u64,
    seal_ns: u64,
    due: Vec<Due>,
}

/// Passes on what is released: a group, or nothing for a refused lane.
struct Arrivals {
    clock: Arc<WorldClock>,
    groups: Sender<Option<Group>>,
}

impl Arrivals {
    fn send(&self, group: Option<Group>) {
        // A receiver that is gone has nobody who waits for the groups.
        self.groups.send(group).unwrap_or_default();
    }
}

impl Release<Due> for Arrivals {
    fn sealed(&self, sealed: Sealed<Due>) {
        let released_ns = self.clock.monotonic_ns();
        let due = sealed.lanes.iter().step_by(LANES).map(|lane| lane.bound.reply).collect();
        self.send(Some(Group { released_ns, seal_ns: sealed.seal_ns, due }));
    }

    fn refused(&self, _: Due, _: Refusal) {
        self.send(None);
    }
}

/// What came of the batches offered at one rate.
struct Outcome {
    groups: Vec<Group>,
    refused: u64,
    /// How late the generator itself was, worst case: included in every latency.
    late_ns: u64,
    first_ns: u64,
    last_ns: u64,
}

/// Offers `batches` at `rate` per second to a fresh sealer.
fn offer(rate: f64, batches: usize) -> Result<Outcome, Failure> {
    let (keys, _) = signing_keys()?;
    let clock = Arc::new(WorldClock::start());
    let (groups, released) = unbounded();
    let arrivals = Arc::new(Arrivals { clock: Arc::clone(&clock), groups });
    let (sender, sealer) = Sealer::start(
        keys,
        ISSUER.to_owned(),
        ChainHead::GENESIS,
        Cadence::Group,
        Arc::clone(&clock) as Arc<dyn Clock>,
        Arc::clone(&arrivals) as Arc<dyn Release<Due>>,
        |_| {},
    )
    .map_err(Failure::in_step("sealer"))?;
    let first_ns = clock.monotonic_ns();
    let mut late_ns = 0;
    for number in 0..batches {
        let due = first_ns + (number as f64 / rate * 1e9) as u64;
        let batch = batch(due, number);
        late_ns = late_ns.max(wait_until(&clock, due) - due);
        sender.send(batch).map_err(|_| Failure::fault("the sealer stopped"))?;
    }
    drop(sender);
    sealer.join().ok_or_else(|| Failure::fault("the sealer panicked"))?;
    let released: Vec<Option<Group>> = released.try_iter().collect();
    let refused = released.iter().filter(|group| group.is_none()).count() as u64;
    let groups: Vec<Group> = released.into_iter().flatten().collect();
    let last_ns = groups.last().map_or(first_ns + 1, |group| group.released_ns);
    Ok(Outcome { groups, refused, late_ns, first_ns, last_ns })
}

/// Waits, and returns the time after that. Sleeps are inexact, so the end of a wait is spun away.
fn wait_until(clock: &WorldClock, due: u64) -> u64 {
    const SPUN_NS: u64 = 100_000;
    loop {
        let now = clock.monotonic_ns();
        match due.checked_sub(now) {
            None | Some(0) => return now,
            Some(left) if left > 2 * SPUN_NS => std::thread::sleep(Duration::from_nanos(left - SPUN_NS)),
            Some(_) => std::hint::spin_loop(),
        }
    }
}

/// A decided batch. The sealer reads digests only, so statements are left empty.
fn batch(due: Due, number: usize) -> Bound<Due> {
    let lane = |lane: usize| {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&number.to_be_bytes());
        digest[8] = lane as u8;
        BoundLane { reply: due, decision: Decision::Match, statement: Vec::new(), digest }
    };
    Bound { lanes: (0..LANES).map(lane).collect(), times: StageTimes::default() }
}

impl Outcome {
    /// Added latency of every batch: from its scheduled arrival to its release. The bound of group commit is the seal
    /// that was being signed when it arrived, and its own.
    fn report(&self, rate: f64, percent: u32) -> (Value, String) {
        let (mut added_us, mut of_bound) = (Vec::new(), Vec::new());
        let mut previous_ns = 0;
        for Group { released_ns, seal_ns, due } in &self.groups {
            for due in due {
                let added_ns = released_ns - due;
                added_us.push(added_ns as f64 / 1e3);
                // The first has nobody before it.
                of_bound.push(added_ns as f64 / (previous_ns + seal_ns) as f64);
            }
            previous_ns = *seal_ns;
        }
        let mut signing_us: Vec<f64> = self.groups.iter().map(|group| group.seal_ns as f64 / 1e3).collect();
        let batches = added_us.len();
        let [added, signing, bound] =
            [&mut added_us, &mut signing_us, &mut of_bound].map(|values| Quantiles::of(values));
        let beyond = of_bound.iter().filter(|share| **share > 1.0).count() as f64 / batches.max(1) as f64;
        let fields = json!({
            "percent_of_capacity": percent, "batches_per_s": rounded(rate), "batches": batches,
            "seals": self.groups.len(), "batches_per_seal": rounded(batches as f64 / self.groups.len() as f64),
            "added_us": added.json(), "signing_us": signing.json(),
            "added_in_median_signings": {
                "p50": rounded(added.p50 / signing.p50), "p99": rounded(added.p99 / signing.p50),
                "max": rounded(added.max / signing.p50),
            },
            "added_of_two_own_signings": bound.json(), "beyond_two_own_signings": rounded(beyond),
            "generator_late_us_max": rounded(self.late_ns as f64 / 1e3),
        });
        let line = format!(
            "  {percent:>3} %: {:>8.0} batches/s, added p50 {:.0} p99 {:.0} max {:.0} us; signing p50 {:.0} us; of \
             two signings p99 {:.2}, beyond {:.1} %\n",
            rate,
            added.p50,
            added.p99,
            added.max,
            signing.p50,
            bound.p99,
            100.0 * beyond,
        );
        (fields, line)
    }
}

/// The quoted points of a distribution.
struct Quantiles {
    p50: f64,
    p99: f64,
    max: f64,
}

impl Quantiles {
    fn of(values: &mut [f64]) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |share: f64| match values.len() {
            0 => f64::NAN,
            n => values[((n as f64 * share).ceil() as usize).clamp(1, n) - 1],
        };
        Quantiles { p50: at(0.5), p99: at(0.99), max: at(1.0) }
    }

    fn json(&self) -> Value {
        json!({ "p50": rounded(self.p50), "p99": rounded(self.p99), "max": rounded(self.max) })
    }
}
