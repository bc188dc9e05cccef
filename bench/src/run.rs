//! Closed loop: workers run prepared batches as fast as they can; a lane counts once it is sealed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use trefoil_cache::Cache;
use trefoil_matching::{LANES, Tier};
use trefoil_pipeline::affinity::{Pin, Placement};
use trefoil_pipeline::{
    COMPUTING_PER_WORKER, Cadence, ChainHead, Clock, Floor, Open, Origin, Outlet, Pool, Release, Sealer,
    Sequence, UNSEALED_MAX, Verdict, Worker,
};

use crate::audit::{Audit, audit};
use crate::clock::WorldClock;
use crate::distribution::{Distribution, rounded};
use crate::failure::Failure;
use crate::population::Population;
use crate::processor::{process_cpu_ns, thread_cpu_ns};
use crate::record::Report;
use crate::renewal::Renewals;
use crate::seals::{Ledger, Submitted, Tally};
use crate::window::{Window, windows};
use crate::wiring::{CacheChoice, OverCache, over_cache};
use crate::workload::{self, Prepared, Share, Ticket};
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
    /// Distinct batches that the workers go round.
    pub batches: usize,
    /// Fixes users, probes and impostors.
    pub seed: u64,
    /// Attestations to verify afterwards.
    pub samples: usize,
    /// Highest tier to compute on.
    pub tier: Tier,
}

/// Runs the loop.
///
/// # Errors
/// When the world cannot be made. Wrong outputs are in the report, not here.
pub fn run(parameters: Run, population: Arc<Population>) -> Result<Report, Failure> {
    over_cache(parameters.cache, capacity(&population), ClosedLoop { parameters, population })?
}

struct ClosedLoop {
    parameters: Run,
    population: Arc<Population>,
}

impl OverCache for ClosedLoop {
    type Output = Result<Report, Failure>;

    fn over<C: Cache<Verdict>>(self, cache: C) -> Self::Output
    where
        C::Session: 'static,
    {
        let ClosedLoop { parameters, population } = self;
        let stand = Stand::new(cache, population, parameters)?;
        for warning in &stand.placement.warnings {
            eprintln!("warning: {warning}");
        }
        let Outcome { windows, audit, .. } = stand.run(None)?;
        Ok(report(&parameters, &stand.world, &stand.placement, &windows, audit))
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
        let Run { users, batches, seed, .. } = *parameters;
        let ground = Arc::new(Ground::new(population, users)?);
        let prepared = Arc::new(workload::prepare(&ground, batches, seed, Share::ALL)?);
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
    pub(crate) audit: Audit,
    /// Processor time of the process for each sealed lane, from the first batch to the last seal.
    pub(crate) cpu_ns_per_lane: f64,
    /// Processor time of the workers alone for each lane: everything but the seals, which workers make per batch.
    pub(crate) worker_cpu_ns_per_lane: f64,
    /// Requests and proofs verified between them, from the first batch to the last.
    pub(crate) requests: u64,
    pub(crate) proofs: u64,
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
        let mut stand = Self::without_batches(cache, &common.ground, parameters)?;
        stand.prepared.extend(std::iter::repeat_n(Arc::clone(&common.prepared), parameters.workers));
        Ok(stand)
    }

    /// Enrols everybody and prepares batches of other people for every worker.
    pub(crate) fn apart(cache: C, population: Arc<Population>, parameters: Run) -> Result<Self, Failure> {
        let ground = Arc::new(Ground::new(population, parameters.users)?);
        let mut stand = Self::without_batches(cache, &ground, parameters)?;
        let Run { workers, batches, seed, .. } = parameters;
        for index in 0..workers {
            let share = Share { index, of: workers };
            stand.prepared.push(Arc::new(workload::prepare(&ground, batches, seed, share)?));
        }
        Ok(stand)
    }

    fn without_batches(cache: C, ground: &Arc<Ground>, parameters: Run) -> Result<Self, Failure> {
        let world = Arc::new(World::new(cache, ground, parameters.tier)?);
        let placement = Placement::new(Some(parameters.workers), Pin::Auto);
        Ok(Stand { parameters, world, prepared: Vec::new(), placement })
    }

    /// Loads the pipeline through warm-up and windows, drains it and audits what it gave. Each session's proof is
    /// verified again once per `requests_per_proof`, never if none; for that workers need people of their own.
    pub(crate) fn run(&self, requests_per_proof: Option<u32>) -> Result<Outcome, Failure> {
        let (keys, trust_root) = signing_keys()?;
        let clock = Arc::new(WorldClock::start());
        let load = Load {
            parameters: self.parameters,
            world: Arc::clone(&self.world),
            prepared: self.prepared.clone(),
            clock,
            requests_per_proof,
        };
        let began = process_cpu_ns();
        let (tally, submitted, marks) = load.drive(keys, &self.placement)?;
        let cpu_ns = process_cpu_ns() - began;
        let windows = windows(&tally.seals, &marks)?;
        let audit = audit(&tally, &submitted, &self.world.ground.population, &trust_root);
        let Submitted { lanes: requests, given_up, proofs, cpu_ns: worker_cpu_ns, .. } = submitted;
        let per_lane = |ns: u64| ns as f64 / requests as f64;
        Ok(Outcome {
            windows,
            audit,
            cpu_ns_per_lane: per_lane(cpu_ns),
            worker_cpu_ns_per_lane: per_lane(worker_cpu_ns),
            requests,
            given_up,
            proofs,
        })
    }
}

struct Load<C: Cache<Verdict>> {
    parameters: Run,
    world: Arc<World<C>>,
    prepared: Vec<Arc<Vec<Prepared>>>,
    clock: Arc<WorldClock>,
    requests_per_proof: Option<u32>,
}

impl<C: Cache<Verdict>> Load<C>
where
    C::Session: 'static,
{
    /// Starts workers and sealer, lets them run for all windows, drains. Returns what was released, what was
    /// submitted, and the ends of the windows on the clock (one more than windows).
    fn drive(
        &self,
        keys: trefoil_sign::SigningKeys,
        placement: &Placement,
    ) -> Result<(Tally, Submitted, Vec<u64>), Failure> {
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
        for (index, prepared) in self.prepared.iter().enumerate() {
            let looping = WorkerLoop {
                index,
                world: Arc::clone(&self.world),
                prepared: Arc::clone(prepared),
                requests_per_proof: self.requests_per_proof,
                clock: Arc::clone(&self.clock),
                pool: Arc::clone(&pool),
                permits: permits.clone(),
                outlet: outlet.clone(),
                stop: Arc::clone(&stop),
            };
            let done = done.clone();
            pool.spawn(move || done.send(looping.run(workers)).unwrap_or_default());
        }
        drop((outlet, done, permits));
        let marks = self.wait(&ledger);
        stop.store(true, Ordering::Relaxed);
        let mut submitted = Submitted::default();
        for worker in totals {
            submitted.add(&worker);
        }
        sealer.join().ok_or_else(|| Failure::fault("the sealer panicked"))?;
        Ok((ledger.take(), submitted, marks))
    }

    /// Sleeps through warm-up and windows, each of which lasts until at least one seal was made in it. Returns the
    /// ends of the windows on the clock.
    fn wait(&self, ledger: &Ledger) -> Vec<u64> {
        let Run { seconds, warmup_s, repeats, .. } = self.parameters;
        let pass = |seconds: f64| {
            let seals = ledger.seals();
            std::thread::sleep(Duration::from_secs_f64(seconds));
            let deadline = self.clock.monotonic_ns() + SEAL_PATIENCE_NS;
            while ledger.seals() == seals && self.clock.monotonic_ns() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            self.clock.monotonic_ns()
        };
        let mut marks = vec![pass(warmup_s)];
        for repeat in 0..repeats {
            marks.push(pass(seconds));
            if repeats > 1 {
                eprintln!("window {} of {repeats}", repeat + 1);
            }
        }
        marks
    }
}

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
    prepared: Arc<Vec<Prepared>>,
    requests_per_proof: Option<u32>,
    clock: Arc<WorldClock>,
    pool: Arc<Pool<Worker<C>>>,
    permits: crossbeam_channel::Receiver<()>,
    outlet: Outlet<Ticket>,
    stop: Arc<AtomicBool>,
}

impl<C: Cache<Verdict>> WorkerLoop<C>
where
    C::Session: 'static,
{
    /// Runs batches until told to stop. Workers start at different batches of the round and number their
    /// tickets in ranges of their own.
    fn run(mut self, workers: usize) -> Submitted {
        let pipeline = &self.world.pipeline;
        let mut worker = self.pool.worker(|| pipeline.worker());
        let audience = workload::audience();
        let mut renewals = self.requests_per_proof.map(|every| Renewals::new(&self.world, every));
        let mut submitted = Submitted::default();
        let mut ticket = (self.index as u64) << 48;
        let mut at = self.index * self.prepared.len() / workers;
        let began = thread_cpu_ns();
        while !self.stop.load(Ordering::Relaxed) && self.permits.recv().is_ok() {
            let prepared = &self.prepared[at];
            at = (at + 1) % self.prepared.len();
            let batch = prepared.batch(&self.world.ground, &audience, ticket);
            ticket += LANES as u64;
            submitted.lanes += batch.lanes.len() as u64;
            submitted.matches += prepared.matches();
            let renewing_ns = renewals.as_mut().map_or(0, |renewals| renewals.before(prepared));
            let mut bound = pipeline.run(batch, &mut worker, self.clock.as_ref(), &Open);
            bound.times.proof_lookup_ns += renewing_ns;
            match renewals {
                Some(_) => submitted.note_beside_renewals(&bound.refused),
                None => submitted.note(&bound.refused),
            }
            // A batch of which nothing was decided needs no seal.
            if !bound.lanes.is_empty() && !self.outlet.seal(bound) {
                break;
            }
        }
        submitted.cpu_ns = thread_cpu_ns() - began;
        submitted.proofs = renewals.map_or(0, |renewals| renewals.verified());
        submitted
    }
}

fn report<C: Cache<Verdict>>(
    parameters: &Run,
    world: &World<C>,
    placement: &Placement,
    windows: &[Window],
    audit: Audit,
) -> Report {
    let Run { workers, seconds, warmup_s, repeats, cadence, cache, users, batches, seed, samples: _, tier } =
        *parameters;
    let over = |figure: fn(&Window) -> f64| Distribution::new(windows.iter().map(figure).collect());
    let rate = over(Window::auth_per_s);
    let stage_names = windows.first().map(|w| w.stages.iter().map(|(name, _)| *name)).into_iter().flatten();
    let stages: serde_json::Map<_, _> = stage_names
        .enumerate()
        .map(|(at, name)| {
            let medians = windows.iter().map(|w| w.stages[at].1.median()).collect();
            (name.to_owned(), json!(rounded(Distribution::new(medians).median())))
        })
        .collect();
    let stats = world.cache.stats();
    let cadence_name = match cadence {
        Cadence::Group => "group",
        Cadence::PerBatch => "per-batch",
    };
    let result = json!({
        "auth_per_s": rounded(rate.median()),
        "auth_per_s_runs": rate.runs_json(),
        "seals_per_s": rounded(over(Window::seals_per_s).median()),
        "batches_per_seal": rounded(over(Window::batches_per_seal).median()),
        "stages_us": stages,
        "seal_us": rounded(over(|window| window.seal.median()).median()),
        "windows": windows.iter().map(Window::json).collect::<Vec<_>>(),
        "workers": workers, "physical_cores": placement.physical_cores, "placement": placement.cpus,
        "warnings": placement.warnings, "cadence": cadence_name, "cache": cache.name(),
        "seconds": seconds, "warmup_seconds": warmup_s, "repeats": repeats,
        "mode": "plain", "keys": "per-subject", "users": users,
        "people": world.ground.population.people.len(), "prepared_batches": batches, "seed": seed,
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
