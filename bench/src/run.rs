//! Closed loop: workers run prepared batches as fast as they can; a lane counts once it is sealed. Then open loops, in which batches
//! arrive on a schedule.

mod load;
mod plan;
mod report;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use trefoil_cache::Cache;
use trefoil_matching::LANES;
use trefoil_pipeline::Verdict;
use trefoil_pipeline::affinity::{Pin, Placement};

use self::load::{Driven, Load};
pub use self::plan::Run;
pub(crate) use self::plan::{Plan, Proofs};
use self::report::{OpenLoop, add_open, report};
pub(crate) use self::report::{cadence_name, median_stages, window_json};
use crate::Failure;
use crate::Report;
use crate::audit::{Audit, audit};
use crate::clock::WorldClock;
use crate::pace::{Pace, latencies_ns};
use crate::population::Population;
use crate::processor::process_cpu_ns;
use crate::profile::Sampling;
use crate::seals::Submitted;
use crate::sessions::Settled;
use crate::spending::{Spending, Spent};
use crate::system::Disturbances;
use crate::warmup::{WarmingUp, Warmup};
use crate::window::{Window, windows};
use crate::wiring::{OverCache, over_cache};
use crate::workload::{self, Prepared, Share};
use crate::world::{Ground, World, capacity, signing_keys};

/// What follows the closed loop.
#[derive(Clone, Debug, Default)]
pub struct More {
    /// Where to draw the flame graph of the samples after its last window.
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
    /// The batches that each worker cycles through.
    prepared: Vec<Arc<Vec<Prepared>>>,
    pub(crate) placement: Placement,
}

/// The state that stands over different caches share: people, templates and batches, each in one place in memory.
pub(crate) struct Common {
    ground: Arc<Ground>,
    prepared: Arc<Vec<Prepared>>,
}

impl Common {
    /// Enrols all people and prepares batches.
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

    /// People with their templates.
    pub(crate) fn ground(&self) -> &Arc<Ground> {
        &self.ground
    }

    /// The batches that workers cycle through.
    pub(crate) fn prepared(&self) -> &Arc<Vec<Prepared>> {
        &self.prepared
    }

    /// Bytes of templates that a batch reads.
    pub(crate) fn batch_bytes(&self) -> usize {
        self.ground.template_bytes() / self.ground.users.len() * LANES
    }
}

/// The result of one load.
pub(crate) struct Outcome {
    pub(crate) windows: Vec<Window>,
    /// The workers' time in each of them, and its length, nanoseconds.
    pub(crate) spent: Vec<(Spent, u64)>,
    /// The system's effects on the process in each of them.
    pub(crate) disturbed: Vec<Disturbances>,
    /// Of an open loop's batches in all of them, from the time at which each was due.
    pub(crate) latencies_ns: Vec<u64>,
    /// Where the time went after them, if requested.
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
    /// Enrols all people and prepares batches, the same for all workers.
    pub(crate) fn new(cache: C, population: Arc<Population>, parameters: Run) -> Result<Self, Failure> {
        Self::over(cache, &Common::new(population, &parameters)?, parameters)
    }

    /// A stand that shares everything but the cache with others.
    pub(crate) fn over(cache: C, common: &Common, parameters: Run) -> Result<Self, Failure> {
        Ok(Self::in_world(World::new(cache, &common.ground, parameters.tier)?, common, parameters))
    }

    /// A stand with an empty cache.
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

    /// Enrols all people and prepares batches of different people for every worker.
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

    /// The same for any plan, at the time of `clock`.
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
        let profile = sampled.map(|(sampled, file)| profile(sampled, file)).transpose()?;
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

/// The record of a period in which samples were taken and allocations counted.
fn profile((sampling, allocations): (Sampling, Value), file: &Path) -> Result<Value, Failure> {
    let mut profile = sampling.finish()?.drawn(file)?;
    profile["allocations"] = allocations;
    Ok(profile)
}
