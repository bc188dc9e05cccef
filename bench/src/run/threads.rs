//! The threads of a loop, from the first batch to the last seal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use trefoil_cache::Cache;
use trefoil_pipeline::affinity::Placement;
use trefoil_pipeline::{
    COMPUTING_PER_WORKER, Cadence, Clock as _, Pool, Release, UNSEALED_MAX, Verdict, Worker,
};

use super::plan::Run;
use super::worker::WorkerLoop;
use crate::Failure;
use crate::clock::WorldClock;
use crate::seals::{Ledger, Submitted, Tally};
use crate::sessions::Rows;
use crate::spending::{Spending, Spent};
use crate::visits::Visits;
use crate::warmup::{Flatness, WarmingUp, Warmup};
use crate::workload::{Prepared, Ticket};
use crate::world::{World, sealer};

pub(super) struct Load<C: Cache<Verdict>> {
    pub(super) run: Run,
    pub(super) world: Arc<World<C>>,
    pub(super) prepared: Arc<Vec<Prepared>>,
    pub(super) clock: Arc<WorldClock>,
    /// When sessions end, if they do.
    pub(super) rows: Option<Arc<Rows>>,
    pub(super) books: Arc<[Spending]>,
}

/// The result of a load.
pub(super) struct Driven {
    /// The released seals.
    pub(super) tally: Tally,
    pub(super) submitted: Submitted,
    /// Start and end of the window on the clock, and the workers' time accounts then.
    pub(super) marks: [u64; 2],
    pub(super) books: [Spent; 2],
    /// The rates of a warm-up that ended by a rule.
    pub(super) warmup: Option<WarmingUp>,
}

impl<C: Cache<Verdict>> Load<C> {
    /// Starts workers and sealer, lets them run for a warm-up and a window, drains.
    pub(super) fn drive(
        &self,
        keys: trefoil_sign::SigningKeys,
        placement: &Placement,
        warmup: Warmup,
        seconds: f64,
    ) -> Result<Driven, Failure> {
        let Run { workers, cadence, samples, .. } = self.run;
        let ledger = Arc::new(Ledger::new(Arc::clone(&self.clock), samples));
        // One permit per batch that may be unsealed: a worker takes it, the sealer gives it back.
        let unsealed = unsealed_max(cadence, workers);
        let (give, permits) = crossbeam_channel::bounded(unsealed);
        for _ in 0..unsealed {
            give.send(()).map_err(Failure::in_step("permits"))?;
        }
        let give_back = move |batches| (0..batches).for_each(|_| give.send(()).unwrap_or_default());
        let release = Arc::clone(&ledger) as Arc<dyn Release<Ticket>>;
        let sequence = (cadence, placement.sealers());
        let (outlet, sealer) = sealer(keys, sequence, &self.clock, release, give_back)?;
        let pool = Arc::new(Pool::<Worker<C>>::new(placement).map_err(Failure::in_step("workers"))?);
        let stop = Arc::new(AtomicBool::new(false));
        let (done, totals) = crossbeam_channel::bounded(workers);
        for index in 0..workers {
            let looping = WorkerLoop {
                index,
                world: Arc::clone(&self.world),
                visits: Visits::new(&self.prepared, index, workers),
                rows: self.rows.clone(),
                clock: Arc::clone(&self.clock),
                pool: Arc::clone(&pool),
                permits: permits.clone(),
                outlet: outlet.clone(),
                stop: Arc::clone(&stop),
                books: Arc::clone(&self.books),
            };
            let done = done.clone();
            pool.spawn(move || done.send(looping.run()).unwrap_or_default());
        }
        drop((outlet, done, permits));
        let warmup = match warmup {
            Warmup::Seconds(seconds) => {
                self.sleep(&ledger, seconds);
                None
            }
            Warmup::UntilFlat(rule) => Some(self.warm(&ledger, rule)),
        };
        let mark = || (self.clock.monotonic_ns(), Spent::read(&self.books));
        let (from, before) = mark();
        self.sleep(&ledger, seconds);
        let (to, after) = mark();
        stop.store(true, Ordering::Relaxed);
        let mut submitted = Submitted::default();
        totals.iter().for_each(|worker| submitted.add(&worker));
        sealer.join().ok_or_else(|| Failure::fault("the sealer panicked"))?;
        Ok(Driven { tally: ledger.take(), submitted, marks: [from, to], books: [before, after], warmup })
    }

    fn warm(&self, ledger: &Ledger, rule: Flatness) -> WarmingUp {
        let mut warming = WarmingUp::by(rule);
        while !warming.is_over() {
            let (lanes, began) = (ledger.lanes(), self.clock.monotonic_ns());
            self.sleep(ledger, rule.span_s);
            let ns = self.clock.monotonic_ns() - began;
            warming.note((ledger.lanes() - lanes) as f64 / (ns as f64 / 1e9));
        }
        warming
    }

    /// Sleeps, and then until there is a seal, so that a window has one.
    fn sleep(&self, ledger: &Ledger, seconds: f64) {
        let seals = ledger.seals();
        std::thread::sleep(Duration::from_secs_f64(seconds));
        let deadline = self.clock.monotonic_ns() + SEAL_PATIENCE_NS;
        while ledger.seals() == seals && self.clock.monotonic_ns() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A thousand times a seal's time: after a longer wait, something has stopped.
const SEAL_PATIENCE_NS: u64 = 10_000_000_000;

/// Batches that may be decided and not yet sealed. The service's own bound if seals cover all waiting batches;
/// if each batch is sealed alone, a queue of that length would only add waiting time.
fn unsealed_max(cadence: Cadence, workers: usize) -> usize {
    match cadence {
        Cadence::Group => UNSEALED_MAX,
        Cadence::PerBatch => COMPUTING_PER_WORKER * workers,
    }
}
