//! Arguments of `run`.

use clap::{Args, ValueEnum};
use trefoil_kernels::Tier;
use trefoil_pipeline::Cadence;

use super::numbers::{seconds, workers};
use super::output::{Output, cores, refuse_debug_build};
use super::world::WorldArgs;
use crate::Failure;
use crate::Report;
use crate::canonical::{Canonical, REFERENCE_WORKERS, Scale, canonical};
use crate::faces::FaceSource;
use crate::run::{Run, run};
use crate::wiring::CacheChoice;
use crate::workload::Popularity;

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// The workload for comparing records: 32,768 photographs of 1,024 people, sessions that end, a cache too small for all of
    /// them, a warm-up until the rate is flat, five windows of 30 s and one of 120 s, each audited
    #[arg(long, conflicts_with_all = ["seconds", "repeats", "warmup", "batches", "users", "people", "faces"])]
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
    /// Attestations to verify after the run
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    verify: u32,
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
            tier,
        };
        run(parameters, self.world.population()?)
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
        canonical(parameters, self.world.population_of(parameters.scale.people)?)
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
