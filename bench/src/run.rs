//! Closed loop: workers run prepared batches as fast as they can; a lane counts once it is sealed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use trefoil_cache::Cache;
use trefoil_matching::Tier;
use trefoil_pipeline::affinity::{Pin, Placement};
use trefoil_pipeline::{
    COMPUTING_PER_WORKER, Cadence, ChainHead, Clock, Floor, Open, Origin, Outlet, Pool, Refusal, Release,
    Sealer, Sequence, Stale, UNSEALED_MAX, Verdict, Worker,
};

use crate::audit::{Audit, audit};
use crate::clock::{SlowSeals, WorldClock};
use crate::distribution::{Distribution, rounded};
use crate::faces::FaceSource;
use crate::failure::Failure;
use crate::live::Live;
use crate::pace::{Pace, latencies_ns};
use crate::population::Population;
use crate::processor::{process_cpu_ns, thread_cpu_ns};
use crate::profile::Sampling;
use crate::record::Report;
use crate::renewal::Renewals;
use crate::seals::{Ledger, Submitted, Tally};
use crate::sessions::{Rows, Sessions, Settled};
use crate::spending::{Purpose, Spending, Spent};
use crate::system::Disturbances;
use crate::visits::Visits;
use crate::warmup::{Flatness, WarmingUp, Warmup};
use crate::window::{Window, windows};
use crate::wiring::{CacheChoice, OverCache, over_cache};
use crate::workload::{self, Popularity, Prepared, Share, Ticket};
use crate::world::{Ground, World, capacity, signing_keys};

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Pinned workers.
    pub workers: usize,
    /// Length of a window, seconds.
    pub seconds: f64,
    /// Time before the first window, seconds.
    pub warmup_s: f64,
    /// Windows.
    pub repeats: usize,
    /// Batches per seal.
    pub cadence: Cadence,
    /// The cache that verdicts are looked up in.
    pub cache: CacheChoice,
    /// Enrolled templates; a multiple of 32.
    pub users: usize,
    /// What people look like.
    pub faces: FaceSource,
    /// Who asks how often.
    pub popularity: Popularity,
    /// Distinct batches that the workers go round.
    pub batches: usize,
    /// Fixes users, probes and impostors.
    pub seed: u64,
    /// Attestations to verify afterwards.
    pub samples: usize,
    /// How much slower each seal is made, to see whether a comparison finds it.
    pub slow_seals: Duration,
    /// Highest tier to compute on.
    pub tier: Tier,
}

/// What follows the closed loop.
#[derive(Clone, Debug, Default)]
pub struct More {
    /// Where to draw what samples after its last window show.
    pub flame_graph: Option<PathBuf>,
    /// Parts of its rate at which batches arrive by themselves, in a window for each.
    pub open: Vec<f64>,
}

/// Runs the loop.
///
/// # Errors
/// When the world cannot be made. Wrong outputs are in the report, not here.
pub fn run(parameters: Run, population: Arc<Population>, more: More) -> Result<Report, Failure> {
    let closed_loop = ClosedLoop { parameters, population: Arc::clone(&population), more };
    over_cache(parameters.cache, capacity(&population), closed_loop)?
}

struct ClosedLoop {
    parameters: Run,
    population: Arc<Population>,
    more: More,
}

impl OverCache for ClosedLoop {
    type Output = Result<Report, Failure>;

    fn over<C: Cache<Verdict>>(self, cache: C) -> Self::Output
    where
        C::Session: 'static,
    {
        let ClosedLoop { parameters, population, more: More { flame_graph, open } } = self;
        let stand = Stand::new(cache, population, parameters)?;
        for warning in &stand.placement.warnings {
            eprintln!("warning: {warning}");
        }
        let plan = Plan { flame_graph, ..stand.plan() };
        let outcome = stand.load(&plan, &Proofs::Cached, &Arc::new(WorldClock::start()))?;
        let mut report = report(&parameters, &stand.world, &stand.placement, outcome);
        let rate = report.result["auth_per_s"].as_f64().unwrap_or(f64::NAN);
        let open = open.iter().map(|share| stand.open(*share, rate)).collect::<Result<Vec<_>, _>>()?;
        add_open(&mut report, open);
        Ok(report)
    }
}

/// A world over one cache that can be loaded again and again.
pub(crate) struct Stand<C: Cache<Verdict>> {
    parameters: Run,
    pub(crate) world: Arc<World<C>>,
    /// What each worker goes round.
    prepared: Vec<Arc<Vec<Prepared>>>,
    pub(crate) placement: Placement,
}

/// What stands over different caches share: people, templates and batches, each in one place in memory.
pub(crate) struct Common {
    ground: Arc<Ground>,
    prepared: Arc<Vec<Prepared>>,
}

impl Common {
    /// Enrols everybody and prepares batches.
    ///
    /// # Errors
    /// When an enrolment is refused.
    pub(crate) fn new(population: Arc<Population>, parameters: &Run) -> Result<Self, Failure> {
        let Run { users, batches, seed, faces, popularity, .. } = *parameters;
        let ground = Arc::new(Ground::new(population, users, faces)?);
        let prepared = Arc::new(workload::prepare(&ground, batches, seed, Share::ALL, popularity)?);
        Ok(Common { ground, prepared })
    }

    /// The people.
    pub(crate) fn population(&self) -> &Population {
        &self.ground.population
    }
}

/// What one load gave.
pub(crate) struct Outcome {
    pub(crate) windows: Vec<Window>,
    /// What the workers spent in each of them, and its length, nanoseconds.
    pub(crate) spent: Vec<(Spent, u64)>,
    /// What the system did to the process in each of them.
    pub(crate) disturbed: Vec<Disturbances>,
    /// Of an open loop's batches in all of them, from the time at which each was due.
    pub(crate) latencies_ns: Vec<u64>,
    /// Where the time went after them, if that was asked for.
    pub(crate) profile: Option<Value>,
    /// The rates of a warm-up that ended by a rule.
    pub(crate) warmup: Option<WarmingUp>,
    pub(crate) audit: Audit,
    /// Processor time of the process for each sealed lane, from the first batch to the last seal.
    pub(crate) cpu_ns_per_lane: f64,
    /// Processor time of the workers alone for each lane: everything but the seals, which workers make per batch.
    pub(crate) worker_cpu_ns_per_lane: f64,
    /// Requests and what was done for their sessions between them, from the first batch to the last.
    pub(crate) requests: u64,
    pub(crate) settled: Settled,
    /// Lanes, not among `requests`, whose session's verdict was not found beside a worker that renewed one.
    pub(crate) given_up: u64,
}

impl<C: Cache<Verdict>> Stand<C>
where
    C::Session: 'static,
{
    /// Enrols everybody and prepares batches, the same for all workers.
    pub(crate) fn new(cache: C, population: Arc<Population>, parameters: Run) -> Result<Self, Failure> {
        Self::over(cache, &Common::new(population, &parameters)?, parameters)
    }

    /// A stand that shares everything but the cache with others.
    pub(crate) fn over(cache: C, common: &Common, parameters: Run) -> Result<Self, Failure> {
        Ok(Self::in_world(World::new(cache, &common.ground, parameters.tier)?, common, parameters))
    }

    /// A stand whose cache holds nobody's verdict.
    pub(crate) fn cold(cache: C, population: Arc<Population>, parameters: Run) -> Result<Self, Failure> {
        let common = Common::new(population, &parameters)?;
        let world = World::without_verdicts(cache, &common.ground, parameters.tier);
        Ok(Self::in_world(world, &common, parameters))
    }

    fn in_world(world: World<C>, common: &Common, parameters: Run) -> Self {
        let mut stand = Self::without_batches(world, parameters);
        stand.prepared.extend(std::iter::repeat_n(Arc::clone(&common.prepared), parameters.workers));
        stand
    }

    /// Enrols everybody and prepares batches of other people for every worker.
    pub(crate) fn apart(cache: C, population: Arc<Population>, parameters: Run) -> Result<Self, Failure> {
        let Run { workers, batches, seed, users, faces, popularity, .. } = parameters;
        let ground = Arc::new(Ground::new(population, users, faces)?);
        let mut stand = Self::without_batches(World::new(cache, &ground, parameters.tier)?, parameters);
        for index in 0..workers {
            let share = Share { index, of: workers };
            stand.prepared.push(Arc::new(workload::prepare(&ground, batches, seed, share, popularity)?));
        }
        Ok(stand)
    }

    fn without_batches(world: World<C>, parameters: Run) -> Self {
        let placement = Placement::new(Some(parameters.workers), Pin::Auto);
        Stand { parameters, world: Arc::new(world), prepared: Vec::new(), placement }
    }

    /// Loads the pipeline through warm-up and windows, drains it and audits what it gave. Each session's proof is
    /// verified again once per `requests_per_proof`, never if none; for that workers need people of their own.
    pub(crate) fn run(&self, requests_per_proof: Option<u32>) -> Result<Outcome, Failure> {
        let proofs = requests_per_proof.map_or(Proofs::Cached, Proofs::Every);
        self.load(&self.plan(), &proofs, &Arc::new(WorldClock::start()))
    }

    fn plan(&self) -> Plan {
        let Run { seconds, warmup_s, repeats, .. } = self.parameters;
        Plan { warmup: Warmup::Seconds(warmup_s), windows: vec![seconds; repeats], ..Plan::default() }
    }

    /// One window in which batches arrive at this part of a rate.
    fn open(&self, share: f64, auth_per_s: f64) -> Result<OpenLoop, Failure> {
        let Run { seconds, warmup_s, .. } = self.parameters;
        let wanted_per_s = share * auth_per_s;
        let plan = Plan { windows: vec![seconds], wanted_per_s: Some(wanted_per_s), ..self.plan() };
        eprintln!("open loop at {wanted_per_s:.0} authentications/s, for {:.1} s", seconds + warmup_s);
        let outcome = self.load(&plan, &Proofs::Cached, &Arc::new(WorldClock::start()))?;
        Ok(OpenLoop { share, wanted_per_s, outcome })
    }

    /// The same by any plan, at the time of `clock`.
    pub(crate) fn load(
        &self,
        plan: &Plan,
        proofs: &Proofs,
        clock: &Arc<WorldClock>,
    ) -> Result<Outcome, Failure> {
        let (keys, trust_root) = signing_keys()?;
        let load = Load {
            parameters: self.parameters,
            world: Arc::clone(&self.world),
            prepared: self.prepared.clone(),
            clock: Arc::clone(clock),
            proofs: proofs.clone(),
            books: (0..self.parameters.workers).map(|_| Spending::default()).collect(),
            pace: plan
                .wanted_per_s
                .map(|wanted| Pace::new(wanted, plan.seconds(), self.parameters.seed, clock)),
        };
        let began = process_cpu_ns();
        let Driven { tally, submitted, passed, due } = load.drive(keys, &self.placement, plan)?;
        let cpu_ns = process_cpu_ns() - began;
        let (spent, disturbed) = (passed.spent(), passed.disturbed());
        let ends = passed.marks.first().zip(passed.marks.last());
        let latencies_ns = ends.map_or(Vec::new(), |(from, to)| latencies_ns(&tally.seals, &due, *from, *to));
        let windows = windows(&tally.seals, &passed.marks)?;
        let sampled = passed.sampling.zip(plan.flame_graph.as_ref());
        let profile = sampled.map(|(sampling, file)| sampling.finish()?.drawn(file)).transpose()?;
        let audit = audit(&tally, &submitted, &self.world.ground.population, &trust_root);
        let Submitted { lanes: requests, given_up, settled, cpu_ns: worker_cpu_ns, .. } = submitted;
        let per_lane = |ns: u64| ns as f64 / requests as f64;
        Ok(Outcome {
            windows,
            spent,
            disturbed,
            profile,
            latencies_ns,
            warmup: passed.warmup,
            audit,
            cpu_ns_per_lane: per_lane(cpu_ns),
            worker_cpu_ns_per_lane: per_lane(worker_cpu_ns),
            requests,
            given_up,
            settled,
        })
    }
}

/// How long to load.
pub(crate) struct Plan {
    pub(crate) warmup: Warmup,
    /// Lengths of the windows, seconds.
    pub(crate) windows: Vec<f64>,
    /// Where to draw what samples after the last window show.
    pub(crate) flame_graph: Option<PathBuf>,
    /// Authentications a second that arrive by themselves; none where workers take the next batch as soon as they are free.
    pub(crate) wanted_per_s: Option<f64>,
}

impl Plan {
    /// All of it, about.
    fn seconds(&self) -> f64 {
        let warmup = match self.warmup {
            Warmup::Seconds(seconds) => seconds,
            Warmup::UntilFlat(rule) => rule.span_s * rule.spans_max as f64,
        };
        warmup + self.windows.iter().sum::<f64>()
    }
}

impl Default for Plan {
    fn default() -> Self {
        Plan { warmup: Warmup::Seconds(0.0), windows: Vec::new(), flame_graph: None, wanted_per_s: None }
    }
}

/// What becomes of sessions.
#[derive(Clone)]
pub(crate) enum Proofs {
    /// All verdicts are cached and stay so.
    Cached,
    /// A session's proof is verified again at every so manieth of its requests.
    Every(u32),
    /// Sessions end, and verdicts are evicted.
    Ending(Arc<Rows>),
}

/// Warm-up and windows as they were.
struct Passed {
    /// Ends of the windows on the clock, one more than windows.
    marks: Vec<u64>,
    /// The workers' books at each of them.
    books: Vec<Spent>,
    /// What the system had done at each of them.
    disturbances: Vec<Disturbances>,
    /// After the windows.
    sampling: Option<Sampling>,
    /// The rates of a warm-up that ended by a rule.
    warmup: Option<WarmingUp>,
}

impl Passed {
    /// What was spent in each window, with its length, nanoseconds.
    fn spent(&self) -> Vec<(Spent, u64)> {
        let lengths = self.marks.windows(2).map(|ends| ends[1] - ends[0]);
        let spent = self.books.windows(2).map(|ends| ends[1].since(&ends[0]));
        spent.zip(lengths).collect()
    }

    fn disturbed(&self) -> Vec<Disturbances> {
        self.disturbances.windows(2).map(|ends| ends[1].since(&ends[0])).collect()
    }
}

struct Load<C: Cache<Verdict>> {
    parameters: Run,
    world: Arc<World<C>>,
    prepared: Vec<Arc<Vec<Prepared>>>,
    clock: Arc<WorldClock>,
    proofs: Proofs,
    books: Arc<[Spending]>,
    /// Of an open loop.
    pace: Option<Pace>,
}

/// What a load left.
struct Driven {
    /// What was released.
    tally: Tally,
    submitted: Submitted,
    /// What passed meanwhile.
    passed: Passed,
    /// For each worker, when its batches were due.
    due: Vec<Vec<u64>>,
}

impl<C: Cache<Verdict>> Load<C>
where
    C::Session: 'static,
{
    /// Starts workers and sealer, lets them run for all windows, drains.
    fn drive(
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

    /// Keeps the load going while samples are taken.
    fn sample(&self, ledger: &Ledger, live: &mut Live) -> Result<Sampling, Failure> {
        let seconds = self.parameters.seconds.min(SAMPLED_S_MAX);
        let sampling = Sampling::start(seconds)?;
        self.sleep(ledger, seconds + SAMPLING_BEGINS_S, live, "samples");
        Ok(sampling)
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
/// About what perf takes to begin.
const SAMPLING_BEGINS_S: f64 = 0.3;
/// A thousand times what a seal takes: a longer wait is for something that has stopped.
const SEAL_PATIENCE_NS: u64 = 10_000_000_000;

/// Batches that may be decided and not yet sealed. The service's own bound where seals take all that waits;
/// where each batch is sealed alone, a queue of that length would only be waiting time.
fn unsealed_max(cadence: Cadence, workers: usize) -> usize {
    match cadence {
        Cadence::Group => UNSEALED_MAX,
        Cadence::PerBatch => COMPUTING_PER_WORKER * workers,
    }
}

struct WorkerLoop<C: Cache<Verdict>> {
    index: usize,
    world: Arc<World<C>>,
    visits: Visits,
    proofs: Proofs,
    clock: Arc<WorldClock>,
    pool: Arc<Pool<Worker<C>>>,
    permits: crossbeam_channel::Receiver<()>,
    outlet: Outlet<Ticket>,
    stop: Arc<AtomicBool>,
    books: Arc<[Spending]>,
    pace: Option<Pace>,
    /// When its batches were due.
    due: Vec<u64>,
}

impl<C: Cache<Verdict>> WorkerLoop<C>
where
    C::Session: 'static,
{
    /// Runs batches until told to stop, and then those in which requests come again. Every interval between two readings of the clock
    /// is booked.
    fn run(mut self) -> (Submitted, Vec<u64>) {
        let (pipeline, pool, books) =
            (Arc::clone(&self.world.pipeline), Arc::clone(&self.pool), Arc::clone(&self.books));
        let mut worker = pool.worker(|| pipeline.worker());
        let book = &books[self.index];
        let mut sessions = SessionWork::new(&self.world, &self.proofs);
        let mut submitted = Submitted::default();
        let mut has_permit = false;
        let cpu_began = thread_cpu_ns();
        let mut since = self.clock.monotonic_ns();
        let mut lap = |clock: &WorldClock| {
            let began = std::mem::replace(&mut since, clock.monotonic_ns());
            since - began
        };
        loop {
            let fresh = !self.stop.load(Ordering::Relaxed);
            let is_done = !fresh && self.visits.is_settled();
            if is_done || !(has_permit || self.permits.recv().is_ok()) || !self.is_due(fresh) {
                break;
            }
            book.book(Purpose::Waiting, lap(&self.clock));
            let renewing_ns = sessions.before(self.visits.coming());
            book.book(Purpose::Sessions, renewing_ns);
            let batch = self.visits.batch(&self.world.ground, fresh, &mut submitted);
            book.book(Purpose::Requests, lap(&self.clock).saturating_sub(renewing_ns));
            let mut bound = pipeline.run(batch, &mut worker, self.clock.as_ref(), &Open);
            book.book_run(&bound.times, lap(&self.clock));
            bound.times.proof_lookup_ns += renewing_ns;
            sessions.after(&mut bound.refused, &mut self.visits, self.clock.unix_s(), &mut submitted);
            book.book(Purpose::Sessions, lap(&self.clock));
            // A batch of which nothing was decided needs no seal, and keeps its permit for the next.
            has_permit = bound.lanes.is_empty();
            if !has_permit && !self.outlet.seal(bound) {
                break;
            }
            book.book(Purpose::Sealing, lap(&self.clock));
            book.end_batch();
        }
        submitted.cpu_ns = thread_cpu_ns() - cpu_began;
        submitted.settled = sessions.settled();
        (submitted, self.due)
    }

    /// Waits until its next new batch is due; false where none will be.
    fn is_due(&mut self, fresh: bool) -> bool {
        let Some(pace) = self.pace.as_ref().filter(|_| fresh) else { return true };
        let due = pace.wait(&self.clock);
        self.due.extend(due);
        due.is_some()
    }
}

/// What a worker does for the sessions of its requests.
enum SessionWork<C: Cache<Verdict>> {
    None,
    Renewals(Renewals<C>),
    Ending(Sessions<C>),
}

impl<C: Cache<Verdict>> SessionWork<C> {
    fn new(world: &Arc<World<C>>, proofs: &Proofs) -> Self {
        match proofs {
            Proofs::Cached => SessionWork::None,
            Proofs::Every(requests) => SessionWork::Renewals(Renewals::new(world, *requests)),
            Proofs::Ending(rows) => SessionWork::Ending(Sessions::new(world, rows)),
        }
    }

    /// Before a batch; the time that it took.
    fn before(&mut self, batch: &Prepared) -> u64 {
        match self {
            SessionWork::Renewals(renewals) => renewals.before(batch),
            SessionWork::None | SessionWork::Ending(_) => 0,
        }
    }

    /// Sees to what the pipeline refused.
    fn after(
        &mut self,
        refused: &mut Vec<(Ticket, Refusal)>,
        visits: &mut Visits,
        now_s: u64,
        submitted: &mut Submitted,
    ) {
        match self {
            SessionWork::None => submitted.note(refused),
            SessionWork::Renewals(_) => submitted.note_beside_renewals(refused),
            SessionWork::Ending(sessions) => {
                for (ticket, why) in refused.drain(..) {
                    let comes_again = matches!(why, Refusal::Session(Stale::Missing | Stale::Expired));
                    match comes_again.then(|| sessions.settle(ticket.person, now_s)) {
                        Some(Ok(revived)) => visits.again(ticket, revived),
                        Some(Err(_)) | None => submitted.note(&[(ticket, why)]),
                    }
                }
            }
        }
    }

    fn settled(&self) -> Settled {
        match self {
            SessionWork::None => Settled::default(),
            SessionWork::Renewals(renewals) => Settled { revived: 0, proofs: renewals.verified() },
            SessionWork::Ending(sessions) => sessions.settled,
        }
    }
}

/// An open loop at a part of the closed loop's rate.
struct OpenLoop {
    share: f64,
    wanted_per_s: f64,
    outcome: Outcome,
}

/// Adds open loops to the report of the closed one, and the first problem of all.
fn add_open(report: &mut Report, open: Vec<OpenLoop>) {
    let mut all = Vec::new();
    for OpenLoop { share, wanted_per_s, outcome } in open {
        let Outcome { windows, latencies_ns, audit, .. } = outcome;
        let rate = windows.first().map_or(f64::NAN, Window::auth_per_s);
        let us = Distribution::of_ns(latencies_ns.iter().copied());
        let [p50, p90, p99, max] = [50, 90, 99, 100].map(|percent| rounded(us.percentile(percent)));
        let ms = [p50, p90, p99, max].map(|us| us / 1e3);
        report.summary += &format!(
            "open loop at {share} of that, {rate:.0} authentications/s: from due to sealed p50 {:.1} ms, p90 {:.1} ms, p99 {:.1} ms, max {:.1} ms\n",
            ms[0], ms[1], ms[2], ms[3]
        );
        all.push(json!({
            "share": share, "wanted_per_s": rounded(wanted_per_s), "auth_per_s": rounded(rate), "batches": latencies_ns.len(),
            "latency_us": { "p50": p50, "p90": p90, "p99": p99, "max": max }, "verified": audit.counts,
        }));
        report.problem = report.problem.take().or(audit.problem);
    }
    if !all.is_empty() {
        report.result["open"] = all.into();
    }
}

/// The name on the command line.
pub(crate) fn cadence_name(cadence: Cadence) -> &'static str {
    match cadence {
        Cadence::Group => "group",
        Cadence::PerBatch => "per-batch",
    }
}

/// Medians over windows of each stage's median.
pub(crate) fn median_stages(windows: &[&Window]) -> Value {
    let names = windows.first().map(|w| w.stages.iter().map(|(name, _)| *name)).into_iter().flatten();
    let median = |(at, name): (usize, &str)| {
        let medians = windows.iter().map(|w| w.stages[at].1.median()).collect();
        (name.to_owned(), json!(rounded(Distribution::new(medians).median())))
    };
    names.enumerate().map(median).collect::<serde_json::Map<_, _>>().into()
}

/// A window with what its workers spent.
pub(crate) fn window_json(
    window: &Window,
    (spent, ns): &(Spent, u64),
    disturbed: &Disturbances,
    workers: usize,
) -> Value {
    let mut json = window.json();
    json["worker_time"] = spent.json(*ns * workers as u64);
    json["system"] = disturbed.json(*ns as f64 / 1e9);
    json
}

fn report<C: Cache<Verdict>>(
    parameters: &Run,
    world: &World<C>,
    placement: &Placement,
    outcome: Outcome,
) -> Report {
    let Run {
        workers,
        seconds,
        warmup_s,
        repeats,
        cadence,
        cache,
        users,
        faces,
        popularity,
        batches,
        seed,
        tier,
        slow_seals,
        ..
    } = *parameters;
    let Outcome { windows, spent, disturbed, profile, audit, .. } = outcome;
    let over = |figure: fn(&Window) -> f64| Distribution::new(windows.iter().map(figure).collect());
    let rate = over(Window::auth_per_s);
    let stats = world.cache.stats();
    let cadence_name = cadence_name(cadence);
    let all = windows.iter().zip(&spent).zip(&disturbed);
    let all = all.map(|((window, spent), disturbed)| window_json(window, spent, disturbed, workers));
    let result = json!({
        "auth_per_s": rounded(rate.median()),
        "auth_per_s_runs": rate.runs_json(),
        "seals_per_s": rounded(over(Window::seals_per_s).median()),
        "batches_per_seal": rounded(over(Window::batches_per_seal).median()),
        "stages_us": median_stages(&windows.iter().collect::<Vec<_>>()),
        "seal_us": rounded(over(|window| window.seal.median()).median()),
        "windows": all.collect::<Vec<_>>(), "profile": profile,
        "workers": workers, "physical_cores": placement.physical_cores, "placement": placement.cpus,
        "warnings": placement.warnings, "cadence": cadence_name, "cache": cache.name(),
        "seconds": seconds, "warmup_seconds": warmup_s, "repeats": repeats,
        "mode": "plain", "keys": "per-subject", "users": users, "faces": faces.name(), "popularity": popularity.name(),
        "people": world.ground.population.people.len(), "prepared_batches": batches, "seed": seed,
        "slow_seals_us": (!slow_seals.is_zero()).then_some(slow_seals.as_micros()),
        "unsealed_batches_max": unsealed_max(cadence, workers), "tier": tier.name(),
        "template_store_bytes": world.ground.template_bytes(),
        "cache_stats": {"hits": stats.hits, "misses": stats.misses, "capacity": world.cache.capacity()},
        "verified": audit.counts,
    });
    let windows: Vec<String> = rate.runs().iter().map(|rate| format!("{rate:.0}")).collect();
    let summary = format!(
        "{:.0} authentications/s (windows: {})\n{workers} workers, {} cache, cadence {cadence_name}, {:.1} batches per seal\n",
        rate.median(),
        windows.join(", "),
        cache.name(),
        over(Window::batches_per_seal).median(),
    );
    Report { summary, result, problem: audit.problem }
}
