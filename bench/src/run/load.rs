//! The threads of a loop, from the first batch to the last seal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use trefoil_cache::Cache;
use trefoil_kernels::allocations::{Counting, Counts};
use trefoil_pipeline::affinity::Placement;
use trefoil_pipeline::{
    COMPUTING_PER_WORKER, Cadence, ChainHead, Clock as _, Floor, Origin, Pool, Release, Sealer, Sequence,
    UNSEALED_MAX, Verdict, Worker,
};

use super::plan::{Plan, Proofs, Run};
use super::worker::WorkerLoop;
use crate::Failure;
use crate::clock::{SlowSeals, WorldClock};
use crate::live::Live;
use crate::pace::Pace;
use crate::profile::Sampling;
use crate::seals::{Ledger, Submitted, Tally};
use crate::spending::{Spending, Spent};
use crate::system::Disturbances;
use crate::visits::Visits;
use crate::warmup::{Flatness, WarmingUp, Warmup};
use crate::workload::{Prepared, Ticket};
use crate::world::World;

/// Warm-up and windows as they were.
pub(super) struct Passed {
    /// Ends of the windows on the clock, one more than windows.
    pub(super) marks: Vec<u64>,
    /// The workers' books at each of them.
    pub(super) books: Vec<Spent>,
    /// What the system had done at each of them.
    pub(super) disturbances: Vec<Disturbances>,
    /// After the windows, with what was allocated meanwhile.
    pub(super) sampling: Option<(Sampling, Value)>,
    /// The rates of a warm-up that ended by a rule.
    pub(super) warmup: Option<WarmingUp>,
}

impl Passed {
    /// What was spent in each window, with its length, nanoseconds.
    pub(super) fn spent(&self) -> Vec<(Spent, u64)> {
        let lengths = self.marks.windows(2).map(|ends| ends[1] - ends[0]);
        let spent = self.books.windows(2).map(|ends| ends[1].since(&ends[0]));
        spent.zip(lengths).collect()
    }

    pub(super) fn disturbed(&self) -> Vec<Disturbances> {
        self.disturbances.windows(2).map(|ends| ends[1].since(&ends[0])).collect()
    }
}

pub(super) struct Load<C: Cache<Verdict>> {
    pub(super) parameters: Run,
    pub(super) world: Arc<World<C>>,
    pub(super) prepared: Vec<Arc<Vec<Prepared>>>,
    pub(super) clock: Arc<WorldClock>,
    pub(super) proofs: Proofs,
    pub(super) books: Arc<[Spending]>,
    /// Of an open loop.
    pub(super) pace: Option<Pace>,
}

/// What a load left.
pub(super) struct Driven {
    /// What was released.
    pub(super) tally: Tally,
    pub(super) submitted: Submitted,
    /// What passed meanwhile.
    pub(super) passed: Passed,
    /// For each worker, when its batches were due.
    pub(super) due: Vec<Vec<u64>>,
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
        let Run { workers, cadence, samples, slow_seals: by, .. } = self.parameters;
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
            Arc::new(SlowSeals { clock: Arc::clone(&self.clock), by }),
            Arc::clone(&ledger) as Arc<dyn Release<Ticket>>,
            give_back,
        )
        .map_err(Failure::in_step("sealer"))?;
        let pool = Arc::new(Pool::<Worker<C>>::new(placement).map_err(Failure::in_step("workers"))?);
        let stop = Arc::new(AtomicBool::new(false));
        let (done, totals) = crossbeam_channel::bounded(workers);
        for (index, prepared) in self.prepared.iter().enumerate() {
            let looping = WorkerLoop {
                index,
                world: Arc::clone(&self.world),
                visits: Visits::new(prepared, index, workers),
                proofs: self.proofs.clone(),
                clock: Arc::clone(&self.clock),
                pool: Arc::clone(&pool),
                permits: permits.clone(),
                outlet: outlet.clone(),
                stop: Arc::clone(&stop),
                books: Arc::clone(&self.books),
                pace: self.pace.clone(),
                due: Vec::new(),
            };
            let done = done.clone();
            pool.spawn(move || done.send((index, looping.run())).unwrap_or_default());
        }
        drop((outlet, done, permits));
        let passed = self.pass(plan, &ledger);
        stop.store(true, Ordering::Relaxed);
        let (mut submitted, mut due) = (Submitted::default(), vec![Vec::new(); workers]);
        for (index, (worker, its_due)) in totals {
            submitted.add(&worker);
            due[index] = its_due;
        }
        sealer.join().ok_or_else(|| Failure::fault("the sealer panicked"))?;
        Ok(Driven { tally: ledger.take(), submitted, passed: passed?, due })
    }

    /// Sleeps through warm-up and windows, each of which lasts until at least one seal was made in it.
    fn pass(&self, plan: &Plan, ledger: &Ledger) -> Result<Passed, Failure> {
        let mut live = Live::new();
        let warmup = match plan.warmup {
            Warmup::Seconds(seconds) => {
                self.sleep(ledger, seconds, &mut live, "warm-up");
                None
            }
            Warmup::UntilFlat(rule) => Some(self.warm(ledger, rule, &mut live)),
        };
        let mut marks = vec![self.clock.monotonic_ns()];
        let mut books = vec![Spent::read(&self.books)];
        let mut disturbances = vec![Disturbances::read()];
        for (at, seconds) in plan.windows.iter().enumerate() {
            let name = format!("window {} of {}", at + 1, plan.windows.len());
            self.sleep(ledger, *seconds, &mut live, &name);
            marks.push(self.clock.monotonic_ns());
            books.push(Spent::read(&self.books));
            disturbances.push(Disturbances::read());
            if plan.windows.len() > 1 {
                live.line(&name);
            }
        }
        let sampling = plan.flame_graph.is_some().then(|| self.sample(ledger, &mut live)).transpose();
        live.end();
        Ok(Passed { marks, books, disturbances, sampling: sampling?, warmup })
    }

    /// Keeps the load going while samples are taken and allocations counted.
    fn sample(&self, ledger: &Ledger, live: &mut Live) -> Result<(Sampling, Value), Failure> {
        let seconds = self.parameters.seconds.min(SAMPLED_S_MAX);
        let counting = Counting::start();
        let before = (Counts::of_all_threads(), Spent::read(&self.books));
        let mut sampling = Sampling::start(seconds)?;
        let deadline = self.clock.monotonic_ns() + SAMPLING_PATIENCE_NS;
        while !sampling.is_over() && self.clock.monotonic_ns() < deadline {
            self.sleep(ledger, 0.1, live, "samples");
        }
        let all = Counts::of_all_threads().since(before.0);
        let allocations = Spent::read(&self.books).since(&before.1).allocations_json(all);
        drop(counting);
        Ok((sampling, allocations))
    }

    fn warm(&self, ledger: &Ledger, rule: Flatness, live: &mut Live) -> WarmingUp {
        let mut warming = WarmingUp::by(rule);
        while !warming.is_over() {
            let (lanes, began) = (ledger.lanes(), self.clock.monotonic_ns());
            self.sleep(ledger, rule.span_s, live, "warm-up");
            let ns = self.clock.monotonic_ns() - began;
            warming.note((ledger.lanes() - lanes) as f64 / (ns as f64 / 1e9));
        }
        warming
    }

    /// Sleeps, and then until there is a seal, and shows the rate meanwhile.
    fn sleep(&self, ledger: &Ledger, seconds: f64, live: &mut Live, name: &str) {
        let seals = ledger.seals();
        let until = self.clock.monotonic_ns() + (seconds * 1e9) as u64;
        loop {
            let left = until.saturating_sub(self.clock.monotonic_ns());
            if left == 0 {
                break;
            }
            std::thread::sleep(Duration::from_nanos(left).min(Live::EVERY));
            live.show(name, ledger.lanes(), self.clock.monotonic_ns());
        }
        let deadline = self.clock.monotonic_ns() + SEAL_PATIENCE_NS;
        while ledger.seals() == seals && self.clock.monotonic_ns() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Time for samples, which show no more after some thousands.
const SAMPLED_S_MAX: f64 = 10.0;
/// Several times that: where perf takes longer something is wrong with it.
const SAMPLING_PATIENCE_NS: u64 = 60_000_000_000;
/// A thousand times what a seal takes: a longer wait is for something that has stopped.
const SEAL_PATIENCE_NS: u64 = 10_000_000_000;

/// Batches that may be decided and not yet sealed. The service's own bound where seals take all that waits;
/// where each batch is sealed alone, a queue of that length would only be waiting time.
pub(super) fn unsealed_max(cadence: Cadence, workers: usize) -> usize {
    match cadence {
        Cadence::Group => UNSEALED_MAX,
        Cadence::PerBatch => COMPUTING_PER_WORKER * workers,
    }
}
