//! Caches compared in the whole pipeline: real matches, keys and seals, with every proof cached; group commit. Rounds of
//! raw, other, other, raw or of other, raw, raw, other, as a seeded coin falls, in one process, each run audited like a
//! `run`. All candidates read the same people, templates, keys and batches at the same addresses; only the cache differs.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use trefoil_cache::{Cache, Off};
use trefoil_matching::Tier;
use trefoil_pipeline::{Cadence, Verdict};

use crate::Failure;
use crate::distribution::{Distribution, rounded};
use crate::faces::FaceSource;
use crate::paired::{Interval, Ratios};
use crate::population::Population;
use crate::run::{Common, Outcome, Run, Stand};
use crate::wiring::{self, CacheChoice, OverCache};
use crate::workload::Popularity;
use crate::world::capacity;

/// How the pipeline is loaded.
#[derive(Clone, Copy, Debug)]
pub struct PipelineLoad {
    /// Pinned workers.
    pub workers: usize,
    /// Length of one run, seconds.
    pub seconds: f64,
    /// Time before it, seconds.
    pub warmup_s: f64,
    /// Rounds of four runs, two of either side.
    pub repeats: usize,
    /// Enrolled templates; a multiple of 32. Few make the match cheap and the cache's share large.
    pub users: usize,
    /// Distinct batches that the workers cycle through.
    pub batches: usize,
    /// Fixes users, probes and impostors.
    pub seed: u64,
    /// Attestations to verify after each run.
    pub samples: usize,
    /// Highest tier to compute on.
    pub tier: Tier,
}

impl PipelineLoad {
    fn run(&self, cache: CacheChoice) -> Run {
        let PipelineLoad { workers, seconds, warmup_s, repeats: _, users, batches, seed, samples, tier } =
            *self;
        Run {
            workers,
            seconds,
            warmup_s,
            repeats: 1,
            cadence: Cadence::Group,
            cache,
            users,
            faces: FaceSource::Synthetic,
            popularity: Popularity::Uniform,
            batches,
            seed,
            samples,
            tier,
        }
    }
}

/// A pipeline over one cache, with its type erased.
pub(crate) struct Candidate {
    pub(crate) name: &'static str,
    stand: Box<dyn Loadable>,
}

trait Loadable {
    fn load(&self) -> Result<Outcome, Failure>;
}

impl<C: Cache<Verdict>> Loadable for Stand<C>
where
    C::Session: 'static,
{
    fn load(&self) -> Result<Outcome, Failure> {
        self.run()
    }
}

/// Builds the pipeline of a candidate over whatever cache it is given.
pub(crate) struct Enter {
    pub(crate) name: &'static str,
    pub(crate) load: PipelineLoad,
    pub(crate) common: Arc<Common>,
}

impl OverCache for Enter {
    type Output = Result<Candidate, Failure>;

    fn over<C: Cache<Verdict>>(self, cache: C) -> Self::Output
    where
        C::Session: 'static,
    {
        // The kind of cache does not matter here, because the cache itself is given.
        let stand = Stand::over(cache, &self.common, self.load.run(CacheChoice::DEFAULT))?;
        Ok(Candidate { name: self.name, stand: Box::new(stand) })
    }
}

impl PipelineLoad {
    /// The state that all candidates share.
    ///
    /// # Errors
    /// When an enrolment is refused.
    pub(crate) fn common(self, population: &Arc<Population>) -> Result<Arc<Common>, Failure> {
        Common::new(Arc::clone(population), &self.run(CacheChoice::DEFAULT)).map(Arc::new)
    }
}

impl Candidate {
    /// The raw map.
    pub(crate) fn raw(load: PipelineLoad, common: &Arc<Common>) -> Result<Self, Failure> {
        let enter = Enter { name: "raw", load, common: Arc::clone(common) };
        wiring::over_dashmap::<Off, _>(capacity(common.population()), enter)?
    }

    /// The engine with everything.
    pub(crate) fn engine(load: PipelineLoad, common: &Arc<Common>) -> Result<Self, Failure> {
        let enter = Enter { name: "engine", load, common: Arc::clone(common) };
        wiring::over_cache(CacheChoice::Engine, capacity(common.population()), enter)?
    }
}

/// The rounds of one candidate.
pub(crate) struct Compared {
    pub(crate) name: &'static str,
    /// Raw, other, other, raw, in whichever order they ran.
    rounds: Vec<[RunFigures; 4]>,
    problem: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct RunFigures {
    auth_per_s: f64,
    cpu_us_per_auth: f64,
    worker_us_per_auth: f64,
}

/// Runs every candidate against `raw`, forwards and backwards in turn. Whether raw runs outside or inside of a round is
/// drawn, so that nothing periodic on the machine favours a side.
///
/// # Errors
/// When a pipeline stops. Wrong outputs are in [`Compared::problem`].
pub(crate) fn compare(
    raw: &Candidate,
    others: &[Candidate],
    load: PipelineLoad,
) -> Result<Vec<Compared>, Failure> {
    let mut compared: Vec<Compared> =
        others.iter().map(|other| Compared { name: other.name, rounds: Vec::new(), problem: None }).collect();
    let PipelineLoad { repeats, seed, .. } = load;
    let mut coin = StdRng::seed_from_u64(seed);
    for round in 0..repeats {
        let mut order: Vec<usize> = (0..others.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            eprintln!("pipeline: round {} of {repeats}, {}", round + 1, others[index].name);
            let entry = &mut compared[index];
            let mut run = |candidate: &Candidate| entry.run(candidate);
            let other = &others[index];
            let figures = if coin.random() {
                [run(raw)?, run(other)?, run(other)?, run(raw)?]
            } else {
                let [a, b, c, d] = [run(other)?, run(raw)?, run(raw)?, run(other)?];
                [b, a, d, c]
            };
            entry.rounds.push(figures);
        }
    }
    Ok(compared)
}

impl Compared {
    fn run(&mut self, candidate: &Candidate) -> Result<RunFigures, Failure> {
        let Outcome { windows, audit, cpu_ns_per_lane, worker_cpu_ns_per_lane, .. } =
            candidate.stand.load()?;
        self.problem = self.problem.take().or(audit.problem);
        let auth_per_s = windows.first().map_or(f64::NAN, |window| window.auth_per_s());
        let (cpu_us_per_auth, worker_us_per_auth) = (cpu_ns_per_lane / 1e3, worker_cpu_ns_per_lane / 1e3);
        Ok(RunFigures { auth_per_s, cpu_us_per_auth, worker_us_per_auth })
    }

    /// The problem with a run, if there was one.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.as_ref().map(|problem| format!("{}: {problem}", self.name))
    }

    /// Rate over raw, by the wall clock.
    pub(crate) fn of_raw(&self) -> Interval {
        self.interval(|run| run.auth_per_s)
    }

    /// Authentications per unit of processor time, over raw.
    pub(crate) fn of_raw_cpu(&self) -> Interval {
        self.interval(|run| 1.0 / run.cpu_us_per_auth)
    }

    fn interval(&self, rate: impl Fn(&RunFigures) -> f64) -> Interval {
        let rounds: Vec<_> = self.rounds.iter().map(|round| round.each_ref().map(&rate)).collect();
        Ratios::of_quadruples(&rounds).interval()
    }

    /// How much more processor time the workers use than with the raw map, per cent of the whole processor time of a raw
    /// authentication. What the seals cost depends on how many batches happen to share one, and is left out.
    pub(crate) fn worker_overhead_percent(&self) -> Interval {
        let whole = self.raw_cpu_us_per_auth();
        let more = self.rounds.iter().map(|[a, b, c, d]| {
            let more =
                b.worker_us_per_auth + c.worker_us_per_auth - a.worker_us_per_auth - d.worker_us_per_auth;
            100.0 * more / 2.0 / whole
        });
        Interval::of_mean(&more.collect::<Vec<_>>())
    }

    /// Median rate.
    pub(crate) fn auth_per_s(&self) -> f64 {
        self.runs([1, 2], |run| run.auth_per_s).median()
    }

    /// Median processor time of the raw map's runs for one authentication, all threads together.
    pub(crate) fn raw_cpu_us_per_auth(&self) -> f64 {
        self.runs([0, 3], |run| run.cpu_us_per_auth).median()
    }

    fn runs(&self, sides: [usize; 2], figure: impl Fn(&RunFigures) -> f64) -> Distribution {
        Distribution::new(self.rounds.iter().flat_map(|round| sides.map(|at| figure(&round[at]))).collect())
    }

    /// Everything, every run included.
    pub(crate) fn json(&self) -> Value {
        let (rate, raw_rate) = (self.runs([1, 2], |r| r.auth_per_s), self.runs([0, 3], |r| r.auth_per_s));
        let (cpu, raw_cpu) =
            (self.runs([1, 2], |r| r.cpu_us_per_auth), self.runs([0, 3], |r| r.cpu_us_per_auth));
        json!({
            "auth_per_s": rounded(rate.median()), "raw_auth_per_s": rounded(raw_rate.median()),
            "cpu_us_per_auth": rounded(cpu.median()), "raw_cpu_us_per_auth": rounded(raw_cpu.median()),
            "of_raw": self.of_raw().json(), "of_raw_cpu": self.of_raw_cpu().json(),
            "auth_per_s_runs": rate.runs_json(), "raw_auth_per_s_runs": raw_rate.runs_json(),
            "worker_cpu_us_per_auth_runs": self.runs([1, 2], |r| r.worker_us_per_auth).runs_json(),
            "raw_worker_cpu_us_per_auth_runs": self.runs([0, 3], |r| r.worker_us_per_auth).runs_json(),
            "cpu_us_per_auth_runs": cpu.runs_json(), "raw_cpu_us_per_auth_runs": raw_cpu.runs_json(),
        })
    }
}
