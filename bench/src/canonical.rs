//! The workload for comparing records: every step of a login, for long enough that nothing is still warming up.
//!
//! Photographs of many people, uniform or Zipf; a real proof for each session; sessions that end and are proven again; a cache that has
//! room for three in four of them, the others' verdicts coming from their rows; real seals. The loop is warm when its rate is flat.
//! Then come windows of the same length and a long one. Each is a run of its own, from its first batch to its last seal, and is
//! audited before the next one begins.

use std::sync::Arc;

use serde_json::{Value, json};
use trefoil_cache::Cache;
use trefoil_kernels::Tier;
use trefoil_pipeline::affinity::Placement;
use trefoil_pipeline::{Cadence, Verdict};

use crate::Failure;
use crate::Report;
use crate::clock::WorldClock;
use crate::distribution::{Distribution, rounded};
use crate::faces::FaceSource;
use crate::population::Population;
use crate::run::{Outcome, Plan, Proofs, Run, Stand, cadence_name, median_stages, window_json};
use crate::sessions::Rows;
use crate::spending::Spent;
use crate::warmup::{Flatness, WarmingUp, Warmup};
use crate::warnings::{say, warnings};
use crate::window::Window;
use crate::wiring::{CacheChoice, OverCache, over_cache};
use crate::workload::Popularity;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Canonical {
    /// Pinned workers.
    pub workers: usize,
    /// Batches per seal.
    pub cadence: Cadence,
    /// Cache to look verdicts up in.
    pub cache: CacheChoice,
    /// Distribution of requests over people.
    pub popularity: Popularity,
    /// How much of it.
    pub scale: Scale,
    /// Seed: who is drawn, which faces they show and who is an impostor.
    pub seed: u64,
    /// Attestations of each window to verify.
    pub samples: usize,
    /// Highest tier to compute on.
    pub tier: Tier,
}

/// Sizes and times.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Enrolled templates; a multiple of 32.
    pub users: usize,
    /// People who hold them, each with one session; a multiple of 32.
    pub people: usize,
    /// Distinct batches that the workers cycle through.
    pub batches: usize,
    /// Lifetime of a session, seconds.
    pub session_s: u64,
    /// When the loop is warm.
    pub flatness: Flatness,
    /// Windows of the same length.
    pub repeats: usize,
    /// Their length, seconds.
    pub window_s: f64,
    /// Length of the last window, seconds, if there is one more.
    pub long_window_s: Option<f64>,
}

impl Scale {
    /// What records have: five windows of 30 s and one of 120 s.
    pub const RECORD: Scale = Scale {
        users: 32_768,
        people: 1_024,
        batches: 2_048,
        session_s: 240,
        flatness: Flatness { span_s: 5.0, within: 0.05, spans_max: 12 },
        repeats: 5,
        window_s: 30.0,
        long_window_s: Some(120.0),
    };
    /// To try the command: its numbers are meaningless.
    pub const SHORT: Scale = Scale {
        users: 256,
        people: 64,
        batches: 32,
        session_s: 1,
        flatness: Flatness { span_s: 0.2, within: 0.05, spans_max: 3 },
        repeats: 2,
        window_s: 0.3,
        long_window_s: Some(0.5),
    };
}

/// Workers of the machine in the published figures.
pub const REFERENCE_WORKERS: usize = 96;

/// Runs it.
///
/// # Errors
/// When the world cannot be made. Wrong outputs are in the report, not here.
pub fn canonical(parameters: Canonical, population: Arc<Population>) -> Result<Report, Failure> {
    let capacity = population.people.len() * 3 / 4;
    over_cache(parameters.cache, capacity, CanonicalLoad { parameters, population })?
}

struct CanonicalLoad {
    parameters: Canonical,
    population: Arc<Population>,
}

/// A window with its audit.
struct Audited {
    window: Window,
    spent: (Spent, u64),
    outcome: Value,
}

impl OverCache for CanonicalLoad {
    type Output = Result<Report, Failure>;

    fn over<C: Cache<Verdict>>(self, cache: C) -> Self::Output
    where
        C::Session: 'static,
    {
        let CanonicalLoad { parameters, population } = self;
        let stand = Stand::cold(cache, population, parameters.closed_loop())?;
        let doubts = warnings(&stand.placement);
        say(&doubts);
        let scale = parameters.scale;
        let clock = Arc::new(WorldClock::start());
        let proofs =
            Proofs::Ending(Arc::new(Rows::new(stand.world.ground.population.people.len(), scale.session_s)));
        let lengths = std::iter::repeat_n(scale.window_s, scale.repeats).chain(scale.long_window_s);
        let (mut windows, mut warming, mut problem) = (Vec::new(), None, None);
        for (at, seconds) in lengths.enumerate() {
            // Each window's loop starts with empty queues; the time to fill them is not counted.
            let warmup = match at {
                0 => Warmup::UntilFlat(scale.flatness),
                _ => Warmup::Seconds(scale.flatness.span_s),
            };
            let plan = Plan { warmup, windows: vec![seconds] };
            let (audited, warmed, wrong) = audited(stand.load(&plan, &proofs, &clock)?)?;
            windows.push(audited);
            warming = warming.or(warmed);
            problem = problem.or(wrong);
            if problem.is_some() {
                break;
            }
        }
        let world = &stand.world;
        let result = json!({
            "users": world.ground.users.len(), "sessions": world.ground.population.people.len(),
            "template_store_bytes": world.ground.template_bytes(),
            "cache_capacity": world.cache.capacity(), "warnings": doubts,
        });
        Ok(report(&parameters, &stand.placement, result, &windows, warming.as_ref(), problem))
    }
}

fn audited(outcome: Outcome) -> Result<(Audited, Option<WarmingUp>, Option<String>), Failure> {
    let Outcome { windows, spent, warmup, audit, settled, .. } = outcome;
    let Some((window, spent)) = windows.into_iter().zip(spent).next() else {
        return Err(Failure::fault("a window is missing"));
    };
    let outcome = json!({
        "verified": audit.counts, "revived": settled.revived, "proofs_verified": settled.proofs,
    });
    Ok((Audited { window, spent, outcome }, warmup, audit.problem))
}

impl Canonical {
    fn closed_loop(&self) -> Run {
        let Canonical { workers, cadence, cache, popularity, scale, seed, samples, tier } = *self;
        Run {
            workers,
            seconds: scale.window_s,
            warmup_s: scale.flatness.span_s,
            repeats: scale.repeats,
            cadence,
            cache,
            users: scale.users,
            faces: FaceSource::Bundled,
            popularity,
            batches: scale.batches,
            seed,
            samples,
            tier,
        }
    }
}

fn report(
    parameters: &Canonical,
    placement: &Placement,
    mut result: Value,
    windows: &[Audited],
    warming: Option<&WarmingUp>,
    problem: Option<String>,
) -> Report {
    let Canonical { workers, cadence, cache, popularity, scale, seed, tier, .. } = *parameters;
    let (short, long) = windows.split_at(windows.len().min(scale.repeats));
    let rate = Distribution::new(short.iter().map(|of| of.window.auth_per_s()).collect());
    let explained = |of: &Audited| of.spent.0.explained(of.spent.1 * workers as u64);
    let least = windows.iter().map(explained).fold(1.0, f64::min);
    let json = |of: &Audited| {
        let mut json = window_json(&of.window, &of.spent, workers);
        json["outcome"] = of.outcome.clone();
        json
    };
    let of_all: Vec<&Window> = short.iter().map(|of| &of.window).collect();
    let more = json!({
        "workload": "canonical", "auth_per_s": rounded(rate.median()), "auth_per_s_runs": rate.runs_json(),
        "auth_per_s_long": long.first().map(|of| rounded(of.window.auth_per_s())),
        "stages_us": median_stages(&of_all), "explained": (least * 1e4).round() / 1e4,
        "windows": short.iter().map(json).collect::<Vec<_>>(), "long_window": long.first().map(json),
        "warmup": warming.map(WarmingUp::json), "workers": workers,
        "physical_cores": placement.physical_cores, "placement": placement.cpus,
        "cadence": cadence_name(cadence), "cache": cache.name(), "popularity": popularity.name(),
        "faces": FaceSource::Bundled.name(), "window_seconds": scale.window_s,
        "long_window_seconds": scale.long_window_s, "repeats": scale.repeats,
        "session_seconds": scale.session_s, "prepared_batches": scale.batches, "seed": seed,
        "mode": "plain", "keys": "per-subject", "tier": tier.name(),
    });
    if let (Value::Object(result), Value::Object(more)) = (&mut result, more) {
        result.extend(more);
    }
    let runs: Vec<String> = rate.runs().iter().map(|rate| format!("{rate:.0}")).collect();
    let mut summary = format!(
        "{:.0} authentications/s (windows: {}; long: {})\n{workers} workers, {} cache, cadence {}, {}; at least {:.1} % of the workers' \
         time explained:\n",
        rate.median(),
        runs.join(", "),
        long.first().map_or_else(|| "none".to_owned(), |of| format!("{:.0}", of.window.auth_per_s())),
        cache.name(),
        cadence_name(cadence),
        popularity.name(),
        least * 100.0,
    );
    if let Some(of) = windows.last() {
        for (name, us) in of.spent.0.us_per_batch() {
            summary += &format!("  {name:<15} {us:>9.1} us for each batch\n");
        }
    }
    Report { summary, result, problem }
}
