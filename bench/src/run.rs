//! Closed loop: workers run prepared batches as fast as they can; a lane counts once it is sealed.
//!
//! `--canonical` is the workload that records are compared by: every step of a login, for long enough that nothing is still warming up.
//! Photographs of many people, a real proof for each session, sessions that end and are proven again, and a cache that has room for three
//! in four of them, the others' verdicts coming from their rows.
//!
//! Each window is a loop of its own, from its first batch to its last seal, and is audited before the next one begins.

mod plan;
mod stand;
mod threads;
mod worker;

use std::iter::repeat_n;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use trefoil_matching::Tier;
use trefoil_pipeline::Cadence;

pub(crate) use self::plan::Run;
pub(crate) use self::stand::{Common, Erect, Outcome, Stand};
use crate::args::{WorldArgs, cores, count, seconds, workers};
use crate::clock::WorldClock;
use crate::distribution::{Distribution, Times, rounded};
use crate::faces::SET;
use crate::population::Population;
use crate::sessions::Rows;
use crate::warmup::{Flatness, WarmingUp, Warmup};
use crate::warnings::warnings;
use crate::wiring::{CacheChoice, over_cache};
use crate::workload::Popularity;
use crate::world::capacity;
use crate::{Failure, Report};

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The workload for comparing records: 32,768 photographs of 1,024 people, sessions that end, a cache too small for all of
    /// them, a warm-up until the rate is flat, five windows of 30 s and one of 120 s, each audited
    #[arg(long, conflicts_with_all = ["seconds", "repeats", "warmup", "batches", "users", "people"])]
    canonical: bool,
    /// Seconds instead of minutes, to try `--canonical`: the numbers are meaningless
    #[arg(long, requires = "canonical")]
    short: bool,
    /// Leave out the window of 120 s
    #[arg(long, requires = "canonical")]
    no_long_window: bool,
    /// Which number of workers to run
    #[arg(long, value_enum, conflicts_with = "workers")]
    target: Option<Target>,
    /// Distribution of requests over people
    #[arg(long, value_enum, default_value_t = Popularity::Uniform)]
    popularity: Popularity,
    /// Pinned workers; more workers than cores gives a warning [default: one per core]
    #[arg(long, value_parser = workers)]
    workers: Option<usize>,
    /// Length of a window
    #[arg(long, default_value = "5", value_parser = seconds)]
    seconds: Duration,
    /// Windows, all of which are kept
    #[arg(long, default_value_t = 3, value_parser = count::<1, 1_000>)]
    repeats: usize,
    /// Seconds before each window
    #[arg(long, default_value = "2", value_parser = seconds)]
    warmup: Duration,
    /// Batches per seal
    #[arg(long, value_enum, default_value_t = CadenceName::Group)]
    cadence: CadenceName,
    /// Cache to look verdicts up in
    #[arg(long, value_enum, default_value_t = CacheChoice::DEFAULT)]
    cache: CacheChoice,
    /// Distinct batches that workers cycle through
    #[arg(long, default_value_t = 1_024, value_parser = count::<1, 65_536>)]
    batches: usize,
    /// Attestations of each window to verify
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = count::<1, 65_536>)]
    verify: usize,
    #[command(flatten)]
    world: WorldArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CadenceName {
    /// One seal over all waiting batches
    Group,
    /// One seal per batch
    PerBatch,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Target {
    /// This machine: a worker per core
    Here,
    /// The 96 workers of the published figures, however many cores there are
    Reference,
}

/// Workers of the machine in the published figures.
const REFERENCE_WORKERS: usize = 96;

/// Sizes and times of the canonical workload.
struct Scale {
    users: usize,
    people: usize,
    batches: usize,
    /// Lifetime of a session, seconds.
    session_s: u64,
    flatness: Flatness,
    repeats: usize,
    window_s: f64,
    long_window_s: f64,
}

/// What records have: five windows of 30 s and one of 120 s.
const RECORD: Scale = Scale {
    users: 32_768,
    people: 1_024,
    batches: 2_048,
    session_s: 240,
    flatness: Flatness { span_s: 5.0, within: 0.05, spans_max: 12 },
    repeats: 5,
    window_s: 30.0,
    long_window_s: 120.0,
};
/// To try the command: its numbers are meaningless.
const SHORT: Scale = Scale {
    users: 256,
    people: 64,
    batches: 32,
    session_s: 1,
    flatness: Flatness { span_s: 0.2, within: 0.05, spans_max: 3 },
    repeats: 2,
    window_s: 0.3,
    long_window_s: 0.5,
};

/// A loop and its windows.
struct Plan {
    run: Run,
    population: Arc<Population>,
    /// Lifetime of a session, seconds; if none, all verdicts are cached and stay so.
    session_s: Option<u64>,
    /// Before the first window, and before each of the others, whose loops start with empty queues.
    warmups: [Warmup; 2],
    repeats: usize,
    window_s: f64,
    long_window_s: Option<f64>,
}

/// Runs the loop.
///
/// # Errors
/// When the world cannot be made. Wrong outputs are in the report, not here.
pub(crate) fn run(args: &RunArgs, tier: Tier) -> Result<Report, Failure> {
    let plan = args.plan(tier)?;
    let people = plan.population.people.len();
    let capacity = if args.canonical { people * 3 / 4 } else { capacity(&plan.population) };
    plan.carried_out(capacity)
}

impl RunArgs {
    fn plan(&self, tier: Tier) -> Result<Plan, Failure> {
        let run = Run {
            workers: match self.target {
                Some(Target::Reference) => REFERENCE_WORKERS,
                Some(Target::Here) | None => self.workers.unwrap_or_else(cores),
            },
            cadence: match self.cadence {
                CadenceName::Group => Cadence::Group,
                CadenceName::PerBatch => Cadence::PerBatch,
            },
            cache: self.cache,
            users: self.world.users,
            popularity: self.popularity,
            batches: self.batches,
            seed: self.world.seed,
            samples: self.verify,
            tier,
        };
        if !self.canonical {
            return Ok(Plan {
                run,
                population: self.world.population(self.world.people)?,
                session_s: None,
                warmups: [Warmup::Seconds(self.warmup.as_secs_f64()); 2],
                repeats: self.repeats,
                window_s: self.seconds.as_secs_f64(),
                long_window_s: None,
            });
        }
        let Scale { users, people, batches, session_s, flatness, repeats, window_s, long_window_s } =
            if self.short { SHORT } else { RECORD };
        Ok(Plan {
            run: Run { users, batches, ..run },
            population: self.world.population(people)?,
            session_s: Some(session_s),
            warmups: [Warmup::UntilFlat(flatness), Warmup::Seconds(flatness.span_s)],
            repeats,
            window_s,
            long_window_s: (!self.no_long_window).then_some(long_window_s),
        })
    }
}

impl Plan {
    fn carried_out(&self, capacity: usize) -> Result<Report, Failure> {
        let common = Common::new(Arc::clone(&self.population), &self.run)?;
        let erect = Erect { common: &common, run: self.run, warm: self.session_s.is_none() };
        let stand = over_cache(self.run.cache, capacity, erect)??;
        let doubts = warnings(stand.placement());
        doubts.iter().for_each(|doubt| eprintln!("WARNING: {doubt}"));
        let people = self.population.people.len();
        let rows = self.session_s.map(|session_s| Arc::new(Rows::new(people, session_s)));
        let clock = Arc::new(WorldClock::start());
        let mut outcomes: Vec<Outcome> = Vec::new();
        for (at, seconds) in repeat_n(self.window_s, self.repeats).chain(self.long_window_s).enumerate() {
            outcomes.push(stand.load(self.warmups[at.min(1)], seconds, rows.as_ref(), &clock)?);
            if outcomes.last().is_some_and(|outcome| outcome.audit.problem.is_some()) {
                break;
            }
        }
        let mut report = self.report(&outcomes);
        let placement = stand.placement();
        report.put(json!({
            "users": self.run.users, "people": people, "template_store_bytes": common.ground.template_bytes(),
            "cache_capacity": stand.cache_capacity(), "warnings": doubts,
            "physical_cores": placement.physical_cores, "placement": placement.cpus,
        }));
        Ok(report)
    }

    fn report(&self, outcomes: &[Outcome]) -> Report {
        let Run { workers, cadence, cache, popularity, batches, seed, tier, .. } = self.run;
        let (short, long) = outcomes.split_at(outcomes.len().min(self.repeats));
        let rate = Distribution::new(short.iter().map(|of| of.window.auth_per_s()).collect());
        let explained = |of: &Outcome| of.spent.0.explained(of.spent.1 * workers as u64);
        let least = outcomes.iter().map(explained).fold(1.0, f64::min);
        let json = |of: &Outcome| of.json(workers);
        let long_rate = long.first().map(|of| rounded(of.window.auth_per_s()));
        let result = json!({
            "workload": self.session_s.map(|_| "canonical"), "auth_per_s": rounded(rate.median()),
            "auth_per_s_runs": rate.runs_json(), "auth_per_s_long": long_rate, "stages_us": median_stages(short),
            "explained": (least * 1e4).round() / 1e4, "verified": verified(outcomes),
            "windows": short.iter().map(json).collect::<Vec<_>>(), "long_window": long.first().map(json),
            "warmup": outcomes.iter().find_map(|of| of.warmup.as_ref()).map(WarmingUp::json),
            "workers": workers, "cadence": cadence_name(cadence), "cache": cache.name(),
            "popularity": popularity.name(), "faces": SET, "window_seconds": self.window_s,
            "long_window_seconds": self.long_window_s, "repeats": self.repeats, "session_seconds": self.session_s,
            "prepared_batches": batches, "seed": seed, "mode": "plain", "keys": "per-subject", "tier": tier.name(),
        });
        let runs: Vec<String> = rate.runs().iter().map(|rate| format!("{rate:.0}")).collect();
        let mut summary = format!(
            "{:.0} authentications/s (windows: {}; long: {})\n{workers} workers, {} cache, cadence {}, {}; at least {:.1} % of the \
             workers' time explained:\n",
            rate.median(),
            runs.join(", "),
            long_rate.map_or_else(|| "none".to_owned(), |rate| format!("{rate:.0}")),
            cache.name(),
            cadence_name(cadence),
            popularity.name(),
            least * 100.0,
        );
        if let Some(of) = outcomes.last() {
            for (name, us) in of.spent.0.us_per_batch() {
                summary += &format!("  {name:<15} {us:>9.1} us for each batch\n");
            }
        }
        Report { summary, result, problem: outcomes.iter().find_map(|of| of.audit.problem.clone()) }
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
fn median_stages(outcomes: &[Outcome]) -> Value {
    let names = outcomes.first().map(|of| of.window.stages.0.iter().map(|(name, _)| name));
    let median = |name: &String| {
        let of = |windows: &Times| windows.median(name);
        let medians = outcomes.iter().map(|outcome| of(&outcome.window.stages)).collect();
        (name.clone(), json!(rounded(Distribution::new(medians).median())))
    };
    names.into_iter().flatten().map(median).collect::<Map<_, _>>().into()
}

/// The counts of all audits together.
fn verified(outcomes: &[Outcome]) -> Value {
    let mut sums = Map::new();
    for (name, count) in outcomes.iter().flat_map(|of| &of.audit.counts) {
        let sum = sums.get(*name).and_then(Value::as_u64).unwrap_or(0) + count;
        sums.insert((*name).to_owned(), json!(sum));
    }
    sums.into()
}

impl Outcome {
    /// A window with its workers' time and its audit.
    fn json(&self, workers: usize) -> Value {
        let mut json = self.window.json();
        json["worker_time"] = self.spent.0.json(self.spent.1 * workers as u64);
        json["outcome"] = json!({
            "verified": self.audit.counts.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
            "revived": self.settled.revived, "proofs_verified": self.settled.proofs,
        });
        json
    }
}
