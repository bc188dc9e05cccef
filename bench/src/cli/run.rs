//! Arguments of `run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use trefoil_kernels::Tier;
use trefoil_pipeline::Cadence;

use super::numbers::{seconds, share, workers};
use super::output::{Output, cores, refuse_debug_build};
use super::world::WorldArgs;
use crate::Failure;
use crate::Report;
use crate::canonical::{Canonical, REFERENCE_WORKERS, Scale, canonical};
use crate::faces::FaceSource;
use crate::profile;
use crate::run::{More, Run, run};
use crate::sweep::{Sweep, sweep};
use crate::wiring::CacheChoice;
use crate::workload::Popularity;

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// The workload for comparing records: 32,768 photographs of 1,024 people, sessions that end, a cache too small for all of
    /// them, a warm-up until the rate is flat, five windows of 30 s and one of 120 s, each audited
    #[arg(long, conflicts_with_all = ["seconds", "repeats", "warmup", "batches", "users", "people", "requests_per_proof", "faces"])]
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
    /// What people look like
    #[arg(long, value_enum, default_value_t = FaceSource::Synthetic)]
    faces: FaceSource,
    /// Distribution of requests over people
    #[arg(long, value_enum, default_value_t = Popularity::Uniform)]
    popularity: Popularity,
    /// Pinned workers; more workers than cores gives a warning [default: one per core]
    #[arg(long, value_parser = workers)]
    workers: Option<usize>,
    /// Length of a window
    #[arg(long, default_value_t = 5.0, value_parser = seconds)]
    seconds: f64,
    /// Windows, all of which are kept
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeats: u32,
    /// Seconds before the first window
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    warmup: f64,
    /// Batches per seal
    #[arg(long, value_enum, default_value_t = CadenceName::Group)]
    cadence: CadenceName,
    /// Cache to look verdicts up in
    #[arg(long, value_enum, default_value_t = CacheChoice::DEFAULT)]
    cache: CacheChoice,
    /// Distinct batches that workers cycle through
    #[arg(long, default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    batches: u32,
    /// Sweep: verify each session's proof again once per this many requests, then all cached; one result for each
    #[arg(long, value_name = "R,...", num_args = 0..=1, value_delimiter = ',',
          default_missing_values = ["1", "10", "100", "420", "1000"],
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    requests_per_proof: Option<Vec<u32>>,
    /// Attestations to verify after the run
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    verify: u32,
    /// Then let batches arrive at random times, at these parts of the rate, for a window each, and measure their latency from the time at
    /// which they were due
    #[arg(long, value_name = "SHARE,...", num_args = 0..=1, value_delimiter = ',', default_missing_values = ["0.5", "0.7", "0.9"],
          conflicts_with_all = ["canonical", "requests_per_proof"], value_parser = share)]
    open: Vec<f64>,
    /// Draw a flame graph of samples taken after the windows (needs Linux perf), and record the most expensive functions
    #[arg(long, value_name = "FILE.svg", conflicts_with = "requests_per_proof")]
    profile: Option<PathBuf>,
    /// Make each seal this much slower, to try `compare` and `against`
    #[arg(long, value_name = "US", default_value_t = 0, hide = true, conflicts_with = "canonical",
          value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    slow_seals_us: u64,
    #[command(flatten)]
    world: WorldArgs,
    #[command(flatten)]
    pub(super) output: Output,
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

impl RunArgs {
    pub(super) fn run(&self, tier: Tier) -> Result<Report, Failure> {
        refuse_debug_build()?;
        if self.profile.is_some() {
            profile::check()?;
        }
        if self.canonical {
            return self.canonical(tier);
        }
        let parameters = Run {
            workers: self.workers(),
            seconds: self.seconds,
            warmup_s: self.warmup,
            repeats: self.repeats as usize,
            cadence: self.cadence(),
            cache: self.cache,
            users: self.world.users,
            faces: self.faces,
            popularity: self.popularity,
            batches: self.batches as usize,
            seed: self.world.seed,
            samples: self.verify as usize,
            slow_seals: Duration::from_micros(self.slow_seals_us),
            tier,
        };
        let population = self.world.population()?;
        match self.requests_per_proof.clone() {
            None => run(
                parameters,
                population,
                More { flame_graph: self.profile.clone(), open: self.open.clone() },
            ),
            Some(requests_per_proof) => sweep(Sweep { run: parameters, requests_per_proof }, population),
        }
    }

    fn canonical(&self, tier: Tier) -> Result<Report, Failure> {
        let scale = if self.short { Scale::SHORT } else { Scale::RECORD };
        let long_window_s = scale.long_window_s.filter(|_| !self.no_long_window);
        let parameters = Canonical {
            workers: self.workers(),
            cadence: self.cadence(),
            cache: self.cache,
            popularity: self.popularity,
            scale: Scale { long_window_s, ..scale },
            seed: self.world.seed,
            samples: self.verify as usize,
            tier,
        };
        canonical(parameters, self.world.population_of(parameters.scale.people)?, self.profile.clone())
    }

    fn workers(&self) -> usize {
        match self.target {
            Some(Target::Reference) => REFERENCE_WORKERS,
            Some(Target::Here) | None => self.workers.unwrap_or_else(cores),
        }
    }

    fn cadence(&self) -> Cadence {
        match self.cadence {
            CadenceName::Group => Cadence::Group,
            CadenceName::PerBatch => Cadence::PerBatch,
        }
    }
}
