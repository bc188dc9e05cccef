//! Closed loop: workers run prepared batches as fast as they can; a lane counts once it is sealed.

mod load;
mod plan;
mod report;
mod worker;

use std::sync::Arc;

use trefoil_cache::Cache;
use trefoil_pipeline::Verdict;
use trefoil_pipeline::affinity::{Pin, Placement};

use self::load::{Driven, Load};
pub use self::plan::Run;
pub(crate) use self::plan::{Plan, Proofs};
use self::report::report;
pub(crate) use self::report::{cadence_name, median_stages, window_json};
use crate::Failure;
use crate::Report;
use crate::audit::{Audit, audit};
use crate::clock::WorldClock;
use crate::population::Population;
use crate::processor::process_cpu_ns;
use crate::seals::Submitted;
use crate::sessions::Settled;
use crate::spending::{Spending, Spent};
use crate::warmup::{WarmingUp, Warmup};
use crate::window::{Window, windows};
use crate::wiring::{OverCache, over_cache};
use crate::workload::{self, Prepared};
use crate::world::{Ground, World, capacity, signing_keys};

/// Runs the loop.
///
/// # Errors
/// When the world cannot be made. Wrong outputs are in the report, not here.
pub fn run(parameters: Run, population: Arc<Population>) -> Result<Report, Failure> {
    let closed_loop = ClosedLoop { parameters, population: Arc::clone(&population) };
    over_cache(parameters.cache, capacity(&population), closed_loop)?
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
        let outcome = stand.run()?;
        Ok(report(&parameters, &stand.world, &stand.placement, outcome))
    }
}

/// A world over one cache that can be loaded again and again.
pub(crate) struct Stand<C: Cache<Verdict>> {
    parameters: Run,
    pub(crate) world: Arc<World<C>>,
    /// The batches that the workers cycle through.
    prepared: Arc<Vec<Prepared>>,
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
        let prepared = Arc::new(workload::prepare(&ground, batches, seed, popularity)?);
        Ok(Common { ground, prepared })
    }

    /// The people.
    pub(crate) fn population(&self) -> &Population {
        &self.ground.population
    }
}

/// The result of one load.
pub(crate) struct Outcome {
    pub(crate) windows: Vec<Window>,
    /// The workers' time in each of them, and its length, nanoseconds.
    pub(crate) spent: Vec<(Spent, u64)>,
    /// The rates of a warm-up that ended by a rule.
    pub(crate) warmup: Option<WarmingUp>,
    pub(crate) audit: Audit,
    /// Processor time of the process for each sealed lane, from the first batch to the last seal.
    pub(crate) cpu_ns_per_lane: f64,
    /// Processor time of the workers alone for each lane: everything but the seals, which workers make per batch.
    pub(crate) worker_cpu_ns_per_lane: f64,
    /// What was done for sessions, from the first batch to the last.
    pub(crate) settled: Settled,
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
        let placement = Placement::new(Some(parameters.workers), Pin::Auto);
        Stand { parameters, world: Arc::new(world), prepared: Arc::clone(&common.prepared), placement }
    }

    /// Loads the pipeline through warm-up and windows, drains it and audits what it gave, all verdicts cached.
    pub(crate) fn run(&self) -> Result<Outcome, Failure> {
        let Run { seconds, warmup_s, repeats, .. } = self.parameters;
        let plan = Plan { warmup: Warmup::Seconds(warmup_s), windows: vec![seconds; repeats] };
        self.load(&plan, &Proofs::Cached, &Arc::new(WorldClock::start()))
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
            prepared: Arc::clone(&self.prepared),
            clock: Arc::clone(clock),
            proofs: proofs.clone(),
            books: (0..self.parameters.workers).map(|_| Spending::default()).collect(),
        };
        let began = process_cpu_ns();
        let Driven { tally, submitted, passed } = load.drive(keys, &self.placement, plan)?;
        let cpu_ns = process_cpu_ns() - began;
        let spent = passed.spent();
        let windows = windows(&tally.seals, &passed.marks)?;
        let audit = audit(&tally, &submitted, &self.world.ground.population, &trust_root);
        let Submitted { lanes, settled, cpu_ns: worker_cpu_ns, .. } = submitted;
        let per_lane = |ns: u64| ns as f64 / lanes as f64;
        Ok(Outcome {
            windows,
            spent,
            warmup: passed.warmup,
            audit,
            cpu_ns_per_lane: per_lane(cpu_ns),
            worker_cpu_ns_per_lane: per_lane(worker_cpu_ns),
            settled,
        })
    }
}
