//! Caches compared in the whole pipeline: real matches, keys and seals, with every proof cached; group commit. Rounds of
//! raw, other, other, raw or of other, raw, raw, other, as a seeded coin falls, in one process, each run audited like a
//! `run`. All candidates read the same people, templates, keys and batches at the same addresses; only the cache differs.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use trefoil_cache::Off;
use trefoil_matching::Tier;
use trefoil_pipeline::Cadence;

use crate::Failure;
use crate::args::WorldArgs;
use crate::clock::WorldClock;
use crate::distribution::{Distribution, rounded};
use crate::paired::{Interval, Rounds, Side, order};
use crate::run::{Common, Erect, Outcome, Run, Stand};
use crate::warmup::Warmup;
use crate::wiring::{self, CacheChoice};
use crate::workload::Popularity;
use crate::world::capacity;
use trefoil_lab::ladder::{OverObserver, Rung};

/// A comparison that is set up: what candidates share, and how they are loaded.
pub(crate) struct Comparison {
    run: Run,
    common: Common,
    pub(crate) repeats: usize,
    pub(crate) seconds: f64,
}

/// A pipeline over one cache.
pub(crate) struct Candidate {
    name: &'static str,
    stand: Box<dyn Stand>,
}

impl Comparison {
    /// Enrols the people.
    ///
    /// # Errors
    /// When an enrolment is refused.
    pub(crate) fn new(
        world: &WorldArgs,
        workers: usize,
        seconds: f64,
        repeats: usize,
        tier: Tier,
    ) -> Result<Self, Failure> {
        let run = Run {
            workers,
            cadence: Cadence::Group,
            // The kind of cache does not matter here, because the cache itself is given.
            cache: CacheChoice::DEFAULT,
            users: world.users,
            popularity: Popularity::Uniform,
            batches: 256,
            seed: world.seed,
            samples: 16,
            tier,
        };
        let common = Common::new(world.population(world.people)?, &run)?;
        Ok(Comparison { run, common, repeats, seconds })
    }

    fn erect(&self) -> Erect<'_> {
        Erect { common: &self.common, run: self.run, warm: true }
    }

    /// The map under the observer of a rung.
    pub(crate) fn on_map(&self, rung: Rung) -> Result<Candidate, Failure> {
        Ok(Candidate { name: rung.name(), stand: rung.over(self.erect())? })
    }

    /// The engine with everything.
    pub(crate) fn engine(&self) -> Result<Candidate, Failure> {
        let capacity = capacity(self.common.population());
        let stand = wiring::over_cache(CacheChoice::Engine, capacity, self.erect())??;
        Ok(Candidate { name: "engine", stand })
    }

    /// Runs every candidate against the raw map, forwards and backwards in turn. Whether raw runs outside or inside of a round is
    /// drawn, so that nothing periodic on the machine favours a side.
    ///
    /// # Errors
    /// When a pipeline stops. Wrong outputs are in [`Compared::problem`].
    pub(crate) fn compare(&self, others: &[Candidate]) -> Result<Vec<Compared>, Failure> {
        let raw = Candidate { name: "raw", stand: OverObserver::over::<Off>(self.erect())? };
        let mut compared: Vec<Compared> = others
            .iter()
            .map(|other| Compared { name: other.name, rounds: Rounds::default(), problem: None })
            .collect();
        let mut coin = StdRng::seed_from_u64(self.run.seed);
        for round in 0..self.repeats {
            for index in order(round, others.len()) {
                eprintln!("pipeline: round {} of {}, {}", round + 1, self.repeats, others[index].name);
                let inside: bool = coin.random();
                let is_raw = |side| (side == Side::A) == inside;
                let runs = Rounds::once(|side| {
                    let candidate = if is_raw(side) { &raw } else { &others[index] };
                    let warmup = Warmup::Seconds(self.seconds / 5.0);
                    candidate.stand.load(warmup, self.seconds, None, &Arc::new(WorldClock::start()))
                });
                let [a, b, c, d] = runs;
                let runs = [a?, b?, c?, d?];
                let entry = &mut compared[index];
                entry.problem =
                    entry.problem.take().or(runs.iter().find_map(|run| run.audit.problem.clone()));
                let [a, b, c, d] = runs.map(RunFigures::of);
                entry.rounds.0.push(if inside { [a, b, c, d] } else { [b, a, d, c] });
            }
        }
        Ok(compared)
    }

    /// For the record.
    pub(crate) fn json(&self) -> Value {
        let Run { workers, users, batches, seed, tier, .. } = self.run;
        json!({
            "workers": workers, "seconds": self.seconds, "repeats": self.repeats, "users": users, "prepared_batches": batches,
            "seed": seed, "tier": tier.name(), "cadence": "group",
            "order": "raw, other, other, raw or other, raw, raw, other in every round, as a seeded coin falls",
            "interval": "95 %, Student's t over the logarithms of the rounds' ratios",
        })
    }
}

/// The rounds of one candidate, raw as the first side.
pub(crate) struct Compared {
    pub(crate) name: &'static str,
    rounds: Rounds<RunFigures>,
    problem: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct RunFigures {
    auth_per_s: f64,
    cpu_us: f64,
    worker_us: f64,
}

type Figure = fn(&RunFigures) -> f64;

impl RunFigures {
    fn of(outcome: Outcome) -> RunFigures {
        RunFigures {
            auth_per_s: outcome.window.auth_per_s(),
            cpu_us: outcome.cpu_ns_per_lane / 1e3,
            worker_us: outcome.worker_cpu_ns_per_lane / 1e3,
        }
    }
}

impl Compared {
    /// The problem with a run, if there was one.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.as_ref().map(|problem| format!("{}: {problem}", self.name))
    }

    /// Rate over raw, by the wall clock.
    pub(crate) fn of_raw(&self) -> Interval {
        self.rounds.ratio(|run| run.auth_per_s)
    }

    /// Authentications per unit of processor time, over raw.
    pub(crate) fn of_raw_cpu(&self) -> Interval {
        self.rounds.ratio(|run| 1.0 / run.cpu_us)
    }

    /// How much more processor time the workers use than with the raw map, per cent of the whole processor time of a raw
    /// authentication. What the seals cost depends on how many batches happen to share one, and is left out.
    pub(crate) fn worker_overhead_percent(&self) -> Interval {
        let whole = self.raw_cpu_us();
        let more = self.rounds.0.iter().map(|round| {
            let [a, b, c, d] = round.map(|run| run.worker_us);
            100.0 * (b + c - a - d) / 2.0 / whole
        });
        Interval::of_mean(&more.collect::<Vec<_>>())
    }

    /// Median rate.
    pub(crate) fn auth_per_s(&self) -> f64 {
        self.rounds.figures(Side::B, |run| run.auth_per_s).median()
    }

    /// Median processor time of the raw map's runs for one authentication, all threads together.
    pub(crate) fn raw_cpu_us(&self) -> f64 {
        self.rounds.figures(Side::A, |run| run.cpu_us).median()
    }

    /// Everything, every run included.
    pub(crate) fn json(&self) -> Value {
        let mut json = json!({ "of_raw": self.of_raw().json(), "of_raw_cpu": self.of_raw_cpu().json() });
        for (side, prefix) in [(Side::B, ""), (Side::A, "raw_")] {
            let figures: [(&str, Figure); 3] = [
                ("auth_per_s", |run| run.auth_per_s),
                ("cpu_us_per_auth", |run| run.cpu_us),
                ("worker_cpu_us_per_auth", |run| run.worker_us),
            ];
            for (name, figure) in figures {
                let runs: Distribution = self.rounds.figures(side, figure);
                json[format!("{prefix}{name}")] = json!(rounded(runs.median()));
                json[format!("{prefix}{name}_runs")] = runs.runs_json();
            }
        }
        json
    }
}
