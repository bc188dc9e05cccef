//! A world over one cache that can be loaded again and again.

use std::sync::Arc;

use trefoil_cache::{Cache, Observer};
use trefoil_lab::ladder::OverObserver;
use trefoil_pipeline::Verdict;
use trefoil_pipeline::affinity::{Pin, Placement};

use super::plan::Run;
use super::threads::{Driven, Load};
use crate::Failure;
use crate::audit::{Audit, audit};
use crate::clock::WorldClock;
use crate::population::Population;
use crate::processor::process_cpu_ns;
use crate::seals::Submitted;
use crate::sessions::{Rows, Settled};
use crate::spending::{Spending, Spent};
use crate::warmup::{WarmingUp, Warmup};
use crate::window::{Window, window};
use crate::wiring::{OverCache, over_dashmap};
use crate::workload::{self, Prepared};
use crate::world::{Ground, World, capacity, signing_keys};

/// See the module.
pub(crate) trait Stand {
    /// Loads the pipeline through warm-up and a window, drains it and audits what it gave. Without `rows` all verdicts stay cached.
    fn load(
        &self,
        warmup: Warmup,
        seconds: f64,
        rows: Option<&Arc<Rows>>,
        clock: &Arc<WorldClock>,
    ) -> Result<Outcome, Failure>;

    fn placement(&self) -> &Placement;

    fn cache_capacity(&self) -> usize;
}

struct StandOver<C: Cache<Verdict>> {
    run: Run,
    world: Arc<World<C>>,
    /// The batches that the workers cycle through.
    prepared: Arc<Vec<Prepared>>,
    placement: Placement,
}

/// The state that stands over different caches share: people, templates and batches, each in one place in memory.
pub(crate) struct Common {
    pub(crate) ground: Arc<Ground>,
    prepared: Arc<Vec<Prepared>>,
}

impl Common {
    /// Enrols all people and prepares batches, the same for all workers.
    ///
    /// # Errors
    /// When an enrolment is refused.
    pub(crate) fn new(population: Arc<Population>, run: &Run) -> Result<Self, Failure> {
        let ground = Arc::new(Ground::new(population, run.users)?);
        let prepared = Arc::new(workload::prepare(&ground, run.batches, run.seed, run.popularity)?);
        Ok(Common { ground, prepared })
    }

    /// The people.
    pub(crate) fn population(&self) -> &Population {
        &self.ground.population
    }
}

/// The result of one load.
pub(crate) struct Outcome {
    pub(crate) window: Window,
    /// The workers' time in it, and its length, nanoseconds.
    pub(crate) spent: (Spent, u64),
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

/// How to make a stand that shares everything but the cache with others. All verdicts are cached if it is `warm`.
pub(crate) struct Erect<'a> {
    pub(crate) common: &'a Common,
    pub(crate) run: Run,
    pub(crate) warm: bool,
}

impl OverCache for Erect<'_> {
    type Output = Result<Box<dyn Stand>, Failure>;

    fn over<C: Cache<Verdict>>(self, cache: C) -> Self::Output {
        let Erect { common, run, warm } = self;
        let world = Arc::new(World::new(cache, &common.ground, run.tier, warm)?);
        let placement = Placement::new(Some(run.workers), Pin::Auto);
        Ok(Box::new(StandOver { run, world, prepared: Arc::clone(&common.prepared), placement }))
    }
}

impl OverObserver for Erect<'_> {
    type Output = Result<Box<dyn Stand>, Failure>;

    /// Over a DashMap under this observer.
    fn over<O: Observer>(self) -> Self::Output {
        over_dashmap::<O, _>(capacity(self.common.population()), self)?
    }
}

impl<C: Cache<Verdict>> Stand for StandOver<C> {
    fn placement(&self) -> &Placement {
        &self.placement
    }

    fn cache_capacity(&self) -> usize {
        self.world.cache.capacity()
    }

    fn load(
        &self,
        warmup: Warmup,
        seconds: f64,
        rows: Option<&Arc<Rows>>,
        clock: &Arc<WorldClock>,
    ) -> Result<Outcome, Failure> {
        let (keys, trust_root) = signing_keys()?;
        let load = Load {
            run: self.run,
            world: Arc::clone(&self.world),
            prepared: Arc::clone(&self.prepared),
            clock: Arc::clone(clock),
            rows: rows.cloned(),
            books: (0..self.run.workers).map(|_| Spending::default()).collect(),
        };
        let began = process_cpu_ns();
        let Driven { tally, submitted, marks, books, warmup } =
            load.drive(keys, &self.placement, warmup, seconds)?;
        let cpu_ns = process_cpu_ns() - began;
        let Submitted { lanes, settled, cpu_ns: worker_cpu_ns, .. } = submitted;
        Ok(Outcome {
            window: window(&tally.seals, marks)?,
            spent: (books[1].since(&books[0]), marks[1] - marks[0]),
            warmup,
            audit: audit(&tally, &submitted, &self.world.ground.population, &trust_root),
            cpu_ns_per_lane: cpu_ns as f64 / lanes as f64,
            worker_cpu_ns_per_lane: worker_cpu_ns as f64 / lanes as f64,
            settled,
        })
    }
}
