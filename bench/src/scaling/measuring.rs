//! Rounds of costs and rates, and the model with their medians.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use trefoil_cache::Cache;
use trefoil_matching::LANES;
use trefoil_pipeline::affinity::{Pin, Placement};
use trefoil_pipeline::{Cadence, Verdict};

use super::calibrate::{self, SEALED, Sealing, UNSEALED};
use super::costs::{Costs, Curve, Memory};
use super::model::{Simulated, batches_per_s};
use super::plan::{CADENCES, Scaling};
use crate::Failure;
use crate::clock::WorldClock;
use crate::distribution::Distribution;
use crate::run::{Common, Plan, Proofs, Run, Stand, cadence_name};
use crate::warmup::Warmup;
use crate::window::Window;
use crate::wiring::{CacheChoice, OverCache, over_cache};
use crate::world::{World, capacity};

/// All measured values by name, in the order of the rounds.
#[derive(Debug, Default)]
pub(super) struct Samples(pub(super) BTreeMap<String, Vec<f64>>);

impl Samples {
    fn note(&mut self, name: String, value: f64) {
        self.0.entry(name).or_default().push(value);
    }

    fn median(&self, name: &str) -> f64 {
        self.runs(name).median()
    }

    pub(super) fn runs(&self, name: &str) -> Distribution {
        Distribution::new(self.0.get(name).cloned().unwrap_or_default())
    }
}

fn batch_name(cache: CacheChoice, busy: &str, unsealed: usize) -> String {
    format!("batch/{}/{busy}/{unsealed}", cache.name())
}

pub(super) fn rate_name(cadence: Cadence, cache: CacheChoice, workers: usize) -> String {
    format!("rate/{}/{}/{workers}", cadence_name(cadence), cache.name())
}

pub(super) struct Measuring<'a> {
    pub(super) parameters: &'a Scaling,
    pub(super) common: Common,
    pub(super) cores: usize,
    pub(super) samples: Samples,
    pub(super) problem: Option<String>,
}

impl Measuring<'_> {
    /// One round of what everything costs. Seals and dispatcher know no cache, so a round has them once.
    pub(super) fn costs(&mut self, round: usize) -> Result<(), Failure> {
        eprintln!("scaling: round {} of {}, costs", round + 1, self.parameters.rounds);
        for (name, threads) in [("one", 1), ("all", self.cores)] {
            let rate = calibrate::memory_gb_per_s(threads, self.parameters.memory_bytes);
            self.samples.note(format!("memory/{name}"), rate);
        }
        for (at, &cache) in self.parameters.caches.iter().enumerate() {
            let capacity = capacity(self.common.population());
            over_cache(cache, capacity, CostsOver { measuring: self, cache, with_seals: at == 0 })??;
        }
        Ok(())
    }

    /// One round of the loop itself, forwards and backwards in turn.
    pub(super) fn rates(&mut self, round: usize) -> Result<(), Failure> {
        let Scaling { workers, caches, rounds, .. } = self.parameters;
        let of =
            |cadence| caches.iter().flat_map(move |&cache| workers.iter().map(move |&n| (cadence, cache, n)));
        let mut points: Vec<_> = CADENCES.into_iter().flat_map(of).collect();
        if round % 2 == 1 {
            points.reverse();
        }
        for (cadence, cache, workers) in points {
            let name = rate_name(cadence, cache, workers);
            eprintln!("scaling: round {} of {rounds}, {name}", round + 1);
            let run = Run { cache, ..self.parameters.run(workers, cadence) };
            let work = PointOver { run, common: &self.common };
            let (rate, problem) = over_cache(cache, capacity(self.common.population()), work)??;
            self.samples.note(name, rate);
            self.problem = self.problem.take().or(problem);
        }
        Ok(())
    }

    /// The medians of all rounds, over one cache.
    pub(super) fn costs_over(&self, cache: CacheChoice) -> Costs {
        let median = |name: String| self.samples.median(&name);
        let curve = |busy: &str| {
            let point = |unsealed: usize| (unsealed as f64, median(batch_name(cache, busy, unsealed)));
            Curve::new(UNSEALED.map(point).to_vec())
        };
        let of_seals = |what: &str| {
            let point = |batches: usize| (batches as f64, median(format!("{what}/{batches}")));
            Curve::new(SEALED.map(point).to_vec())
        };
        let memory =
            Memory { one_gb_per_s: median("memory/one".into()), all_gb_per_s: median("memory/all".into()) };
        Costs {
            batch: [curve("one"), curve("all")],
            seal: of_seals("seal"),
            seal_slower: median("own_seal/all".into()) / median("own_seal/one".into()),
            release: of_seals("release"),
            dispatch_us: median("dispatch".into()),
            batch_bytes: self.common.batch_bytes() as f64,
            measured_cores: self.cores,
            measured_memory: memory,
            memory,
        }
    }

    /// Predicted authentications a second of the loop here.
    pub(super) fn predicted(&self, cadence: Cadence, cache: CacheChoice, workers: usize) -> f64 {
        let sealers = Placement::new(Some(workers), Pin::Auto).sealers();
        let Scaling { seed, .. } = *self.parameters;
        let what = Simulated { workers, cores: self.cores, cadence, sealers, dispatched: false, seed };
        LANES as f64 * batches_per_s(&self.costs_over(cache), what)
    }

    /// Of a service on a machine that is not here.
    pub(super) fn drawn(&self, cadence: Cadence, cache: CacheChoice, workers: usize) -> f64 {
        let costs = self.costs_over(cache);
        let Scaling { seed, memory_gb_per_s, .. } = *self.parameters;
        let memory = Memory { all_gb_per_s: memory_gb_per_s, ..costs.memory };
        let sealers = 1 + usize::from(workers >= SEALERS_TWO_FROM);
        let what = Simulated { workers, cores: workers, cadence, sealers, dispatched: true, seed };
        LANES as f64 * batches_per_s(&Costs { memory, ..costs }, what)
    }
}

/// Cores from which a placement with a worker on each has two sealing threads (`Placement::sealers`).
const SEALERS_TWO_FROM: usize = 16;

/// One round of costs over a cache.
struct CostsOver<'a, 'b> {
    measuring: &'a mut Measuring<'b>,
    cache: CacheChoice,
    with_seals: bool,
}

impl OverCache for CostsOver<'_, '_> {
    type Output = Result<(), Failure>;

    fn over<C: Cache<Verdict>>(self, cache: C) -> Self::Output
    where
        C::Session: 'static,
    {
        let Measuring { parameters, common, cores, samples, .. } = self.measuring;
        let world = World::new(cache, common.ground(), parameters.tier)?;
        let duration = Duration::from_secs_f64(parameters.cost_seconds);
        for unsealed in UNSEALED {
            for (name, threads) in [("one", 1), ("all", *cores)] {
                let us = calibrate::batch_us(&world, common, threads, unsealed, duration);
                samples.note(batch_name(self.cache, name, unsealed), us);
            }
        }
        if !self.with_seals {
            return Ok(());
        }
        samples.note("dispatch".into(), calibrate::dispatch_us(&world, common)?);
        seals(&world, common, *cores, samples)
    }
}

/// One round of what seals cost.
fn seals<C: Cache<Verdict>>(
    world: &World<C>,
    common: &Common,
    cores: usize,
    samples: &mut Samples,
) -> Result<(), Failure> {
    let mut sealing = Sealing::start(world.pipeline.issuer(), Cadence::Group)?;
    let mut alone_us = 0.0;
    for batches in SEALED {
        let (mut seal, mut release) = (0.0, 0.0);
        for _ in 0..SEALS {
            let first =
                (batches > 1).then(|| calibrate::decided(world, common, 1)).and_then(|mut one| one.pop());
            let (its_seal, its_release) =
                sealing.group_us(first, calibrate::decided(world, common, batches), alone_us)?;
            seal += its_seal / SEALS as f64;
            release += its_release / SEALS as f64;
        }
        if batches == 1 {
            alone_us = seal + release;
        }
        samples.note(format!("seal/{batches}"), seal);
        samples.note(format!("release/{batches}"), release);
    }
    sealing.stop()?;
    let sealing = Sealing::start(world.pipeline.issuer(), Cadence::PerBatch)?;
    for (name, threads) in [("one", 1), ("all", cores)] {
        let batches = (0..threads).map(|_| calibrate::decided(world, common, OWN_SEALS)).collect();
        samples.note(format!("own_seal/{name}"), sealing.own_us(batches));
    }
    sealing.stop()
}

/// Seals of each size in a round: ML-DSA rejects a random number of times.
const SEALS: usize = if cfg!(debug_assertions) { 1 } else { 8 };
const OWN_SEALS: usize = if cfg!(debug_assertions) { 2 } else { 64 };

/// One point of the loop.
struct PointOver<'a> {
    run: Run,
    common: &'a Common,
}

impl OverCache for PointOver<'_> {
    type Output = Result<(f64, Option<String>), Failure>;

    fn over<C: Cache<Verdict>>(self, cache: C) -> Self::Output
    where
        C::Session: 'static,
    {
        let stand = Stand::over(cache, self.common, self.run)?;
        let Run { seconds, warmup_s, .. } = self.run;
        let plan = Plan { warmup: Warmup::Seconds(warmup_s), windows: vec![seconds], ..Plan::default() };
        let outcome = stand.load(&plan, &Proofs::Cached, &Arc::new(WorldClock::start()))?;
        let rate = outcome.windows.first().map_or(f64::NAN, Window::auth_per_s);
        Ok((rate, outcome.audit.problem))
    }
}
