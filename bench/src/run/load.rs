//! The threads of a loop, from the first batch to the last seal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use trefoil_cache::Cache;
use trefoil_pipeline::affinity::Placement;
use trefoil_pipeline::{
    COMPUTING_PER_WORKER, Cadence, ChainHead, Clock, Floor, Origin, Pool, Release, Sealer, Sequence,
    UNSEALED_MAX, Verdict, Worker,
};

use super::plan::{Plan, Proofs, Run};
use super::worker::WorkerLoop;
use crate::Failure;
use crate::clock::WorldClock;
use crate::seals::{Ledger, Submitted, Tally};
use crate::spending::{Spending, Spent};
use crate::visits::Visits;
use crate::warmup::{Flatness, WarmingUp, Warmup};
use crate::workload::{Prepared, Ticket};
use crate::world::World;

/// Warm-up and windows as they were.
pub(super) struct Passed {
    /// Ends of the windows on the clock, one more than windows.
    pub(super) marks: Vec<u64>,
    /// The workers' time accounts at each of them.
    pub(super) books: Vec<Spent>,
    /// The rates of a warm-up that ended by a rule.
    pub(super) warmup: Option<WarmingUp>,
}

impl Passed {
    /// The time spent in each window, with its length, nanoseconds.
    pub(super) fn spent(&self) -> Vec<(Spent, u64)> {
        let lengths = self.marks.windows(2).map(|ends| ends[1] - ends[0]);
        let spent = self.books.windows(2).map(|ends| ends[1].since(&ends[0]));
        spent.zip(lengths).collect()
    }
}

pub(super) struct Load<C: Cache<Verdict>> {
    pub(super) parameters: Run,
    pub(super) world: Arc<World<C>>,
    pub(super) prepared: Arc<Vec<Prepared>>,
    pub(super) clock: Arc<WorldClock>,
    pub(super) proofs: Proofs,
    pub(super) books: Arc<[Spending]>,
}

/// The result of a load.
pub(super) struct Driven {
    /// The released seals.
    pub(super) tally: Tally,
    pub(super) submitted: Submitted,
    /// The measurements meanwhile.
    pub(super) passed: Passed,
}

impl<C: Cache<Verdict>> Load<C>
where
    C::Session: 'static,
{
    /// Starts workers and sealer, lets them run for all windows, drains.
    pub(super) fn drive(
        &self,
        keys: trefoil_sign::SigningKeys,
        placement: &Placement,
        plan: &Plan,
    ) -> Result<Driven, Failure> {
        let Run { workers, cadence, samples, .. } = self.parameters;
        let ledger = Arc::new(Ledger::new(Arc::clone(&self.clock), samples));
        // One permit per batch that may be unsealed: a worker takes it, the sealer gives it back.
        let unsealed = unsealed_max(cadence, workers);
        let (give, permits) = crossbeam_channel::bounded(unsealed);
        for _ in 0..unsealed {
            give.send(()).map_err(Failure::in_step("permits"))?;
        }
        let give_back = move |batches| (0..batches).for_each(|_| give.send(()).unwrap_or_default());
        let (outlet, sealer) = Sealer::start(
            keys,
            Origin::new(self.world.pipeline.issuer()),
            ChainHead::GENESIS,
            Sequence { cadence, floor: Floor::NONE, sealers: placement.sealers() },
            Arc::clone(&self.clock) as Arc<dyn Clock>,
            Arc::clone(&ledger) as Arc<dyn Release<Ticket>>,
            give_back,
        )
        .map_err(Failure::in_step("sealer"))?;
        let pool = Arc::new(Pool::<Worker<C>>::new(placement).map_err(Failure::in_step("workers"))?);
        let stop = Arc::new(AtomicBool::new(false));
        let (done, totals) = crossbeam_channel::bounded(workers);
        for index in 0..workers {
            let looping = WorkerLoop {
                index,
                world: Arc::clone(&self.world),
                visits: Visits::new(&self.prepared, index, workers),
                proofs: self.proofs.clone(),
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
        let passed = self.pass(plan, &ledger);
        stop.store(true, Ordering::Relaxed);
        let mut submitted = Submitted::default();
        totals.iter().for_each(|worker| submitted.add(&worker));
        sealer.join().ok_or_else(|| Failure::fault("the sealer panicked"))?;
        Ok(Driven { tally: ledger.take(), submitted, passed })
    }

    /// Sleeps through warm-up and windows, each of which lasts until at least one seal was made in it.
    fn pass(&self, plan: &Plan, ledger: &Ledger) -> Passed {
        let warmup = match plan.warmup {
            Warmup::Seconds(seconds) => {
                self.sleep(ledger, seconds);
                None
            }
            Warmup::UntilFlat(rule) => Some(self.warm(ledger, rule)),
        };
        let mut marks = vec![self.clock.monotonic_ns()];
        let mut books = vec![Spent::read(&self.books)];
        for (at, seconds) in plan.windows.iter().enumerate() {
            self.sleep(ledger, *seconds);
            marks.push(self.clock.monotonic_ns());
            books.push(Spent::read(&self.books));
            if plan.windows.len() > 1 {
                eprintln!("window {} of {}", at + 1, plan.windows.len());
            }
        }
        Passed { marks, books, warmup }
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

    /// Sleeps, and then until there is a seal.
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
pub(super) fn unsealed_max(cadence: Cadence, workers: usize) -> usize {
    match cadence {
        Cadence::Group => UNSEALED_MAX,
        Cadence::PerBatch => COMPUTING_PER_WORKER * workers,
    }
}
