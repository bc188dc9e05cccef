//! The closed loop with ever more workers, over both caches and in both cadences.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use trefoil_cache::Cache;
use trefoil_kernels::Tier;
use trefoil_pipeline::affinity::{Pin, Placement};
use trefoil_pipeline::{Cadence, Verdict};

use crate::Failure;
use crate::Report;
use crate::clock::WorldClock;
use crate::distribution::{Distribution, rounded};
use crate::faces::FaceSource;
use crate::population::Population;
use crate::run::{Common, Plan, Proofs, Run, Stand, cadence_name};
use crate::warmup::Warmup;
use crate::warnings::warnings;
use crate::window::Window;
use crate::wiring::{CacheChoice, OverCache, over_cache};
use crate::workload::Popularity;
use crate::world::capacity;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Scaling {
    /// Numbers of workers.
    pub workers: Vec<usize>,
    /// Over which caches.
    pub caches: Vec<CacheChoice>,
    /// Rounds over all points, all of which are kept.
    pub rounds: usize,
    /// Length of a window; a third of it goes before.
    pub seconds: f64,
    /// Price of this machine for an hour, in any currency.
    pub price_per_hour: Option<f64>,
    /// Enrolled templates.
    pub users: usize,
    /// Distinct batches that workers cycle through.
    pub batches: usize,
    /// Seed of the workload.
    pub seed: u64,
    /// Highest tier to compute on.
    pub tier: Tier,
}

const CADENCES: [Cadence; 2] = [Cadence::Group, Cadence::PerBatch];

impl Scaling {
    fn run(&self, workers: usize, cadence: Cadence, cache: CacheChoice) -> Run {
        Run {
            workers,
            seconds: self.seconds,
            warmup_s: self.seconds / 3.0,
            repeats: 1,
            cadence,
            cache,
            users: self.users,
            faces: FaceSource::Bundled,
            popularity: Popularity::Zipf,
            batches: self.batches,
            seed: self.seed,
            samples: 16,
            tier: self.tier,
        }
    }

    /// In the order of the report.
    fn points(&self) -> Vec<Point> {
        let of = |cadence| {
            let caches = self.caches.iter();
            caches.flat_map(move |&cache| self.workers.iter().map(move |&workers| (cadence, cache, workers)))
        };
        CADENCES.into_iter().flat_map(of).collect()
    }
}

type Point = (Cadence, CacheChoice, usize);

fn name((cadence, cache, workers): Point) -> String {
    format!("{} {} {workers}", cadence_name(cadence), cache.name())
}

/// Measures, forwards and backwards in turn.
///
/// # Errors
/// When the world cannot be made. Wrong outputs are in the report, not here.
pub fn scaling(parameters: &Scaling, population: &Arc<Population>) -> Result<Report, Failure> {
    let first = parameters.run(1, Cadence::Group, CacheChoice::DEFAULT);
    let common = Common::new(Arc::clone(population), &first)?;
    let mut rates: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut problem = None;
    for round in 0..parameters.rounds {
        let mut points = parameters.points();
        if round % 2 == 1 {
            points.reverse();
        }
        for point @ (cadence, cache, workers) in points {
            eprintln!("scaling: round {} of {}, {}", round + 1, parameters.rounds, name(point));
            let work = PointOver { run: parameters.run(workers, cadence, cache), common: &common };
            let (rate, wrong) = over_cache(cache, capacity(common.population()), work)??;
            rates.entry(name(point)).or_default().push(rate);
            problem = problem.or(wrong);
        }
    }
    Ok(report(parameters, population.people.len(), &rates, problem))
}

/// One window of the loop.
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
        let plan = Plan { warmup: Warmup::Seconds(warmup_s), windows: vec![seconds] };
        let outcome = stand.load(&plan, &Proofs::Cached, &Arc::new(WorldClock::start()))?;
        let rate = outcome.windows.first().map_or(f64::NAN, Window::auth_per_s);
        Ok((rate, outcome.audit.problem))
    }
}

fn report(
    parameters: &Scaling,
    people: usize,
    rates: &BTreeMap<String, Vec<f64>>,
    problem: Option<String>,
) -> Report {
    let Scaling { workers, rounds, seconds, price_per_hour, users, batches, seed, tier, .. } = parameters;
    let placement = Placement::new(workers.iter().copied().max(), Pin::Auto);
    let cores = placement.physical_cores.max(1);
    let mut summary = format!("authentications/s on {cores} cores (*: workers share cores)\n");
    let mut points = Vec::new();
    for point @ (cadence, cache, workers) in parameters.points() {
        let rate = Distribution::new(rates.get(&name(point)).cloned().unwrap_or_default());
        let shared = workers > cores;
        let price = price_per_hour.map(|price| price_per_million(price, rate.median()));
        let _ = writeln!(
            summary,
            "  {:<10} {:<8} {workers:>4}{} {:>10.0}{}",
            cadence_name(cadence),
            cache.name(),
            if shared { "*" } else { " " },
            rate.median(),
            price.map_or_else(String::new, |price| format!("  {price:.6} for a million")),
        );
        points.push(json!({
            "cadence": cadence_name(cadence), "cache": cache.name(), "workers": workers, "oversubscribed": shared,
            "auth_per_s": rounded(rate.median()), "auth_per_s_runs": rate.runs_json(), "price_per_million": price,
        }));
    }
    let result: Value = json!({
        "workers": workers, "physical_cores": cores, "warnings": warnings(&placement), "rounds": rounds,
        "seconds": seconds, "users": users, "people": people, "prepared_batches": batches, "popularity": "zipf",
        "faces": "bundled", "seed": seed, "tier": tier.name(), "price_per_hour": price_per_hour, "points": points,
    });
    Report { summary, result, problem }
}

/// To six decimals: a million authentications cost little.
fn price_per_million(price_per_hour: f64, auth_per_s: f64) -> f64 {
    (price_per_hour / 3_600.0 / auth_per_s * 1e12).round() / 1e6
}
