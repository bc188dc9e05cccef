//! The closed loop with ever more workers, over both caches and in both cadences.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use trefoil_kernels::Tier;
use trefoil_pipeline::Cadence;
use trefoil_pipeline::affinity::{Pin, Placement};

use crate::args::{WorldArgs, cores, count, seconds, workers};
use crate::clock::WorldClock;
use crate::distribution::{Distribution, rounded};
use crate::faces::SET;
use crate::paired::order;
use crate::run::{Common, Erect, Run, cadence_name};
use crate::warmup::Warmup;
use crate::warnings::warnings;
use crate::wiring::{CacheChoice, over_cache};
use crate::workload::Popularity;
use crate::world::capacity;
use crate::{Failure, Report};

/// More workers than cores share them: such a rate shows time slicing, and the record says so.
#[derive(Debug, Args)]
pub(crate) struct Scaling {
    /// Numbers of workers [default: powers of two up to twice the cores and at least 96, and the cores]
    #[arg(long, value_name = "N,..", value_delimiter = ',', value_parser = workers)]
    workers: Vec<usize>,
    /// Over which caches
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [CacheChoice::Engine, CacheChoice::Dashmap])]
    caches: Vec<CacheChoice>,
    /// Rounds, all of which are kept
    #[arg(long, default_value_t = 3, value_parser = count::<1, 100>)]
    rounds: usize,
    /// Length of one window; a third of it goes before
    #[arg(long, default_value = "2", value_parser = seconds)]
    seconds: Duration,
    #[command(flatten)]
    world: WorldArgs,
}

/// Powers of two up to twice the cores, at least up to 96, and the cores themselves.
fn workers_of(cores: usize) -> Vec<usize> {
    let most = (2 * cores).max(96);
    let powers = (0..usize::BITS).map(|power| 1 << power).take_while(|&workers| workers < most);
    let mut all: Vec<usize> = powers.chain([cores, most]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Distinct batches.
const BATCHES: usize = 2_048;

/// A window of the loop, again in each round.
struct Point {
    run: Run,
    rates: Vec<f64>,
}

/// Measures, forwards and backwards in turn.
///
/// # Errors
/// When the world cannot be made. Wrong outputs are in the report, not here.
pub(crate) fn scaling(args: &Scaling, tier: Tier) -> Result<Report, Failure> {
    let WorldArgs { users, people, seed, .. } = args.world;
    let numbers = if args.workers.is_empty() { workers_of(cores()) } else { args.workers.clone() };
    let mut points = Vec::new();
    for cadence in [Cadence::Group, Cadence::PerBatch] {
        for &cache in &args.caches {
            points.extend(numbers.iter().map(|&workers| {
                let (popularity, batches, samples) = (Popularity::Zipf, BATCHES.min(users), 16);
                let run = Run { workers, cadence, cache, users, popularity, batches, seed, samples, tier };
                Point { run, rates: Vec::new() }
            }));
        }
    }
    let first = points.first().ok_or_else(|| Failure::usage("give a cache"))?;
    let common = Common::new(args.world.population(people)?, &first.run)?;
    let (capacity, mut problem) = (capacity(common.population()), None);
    for round in 0..args.rounds {
        for at in order(round, points.len()) {
            let run = points[at].run;
            eprintln!("scaling: round {} of {}, {}", round + 1, args.rounds, name(&run));
            let stand = over_cache(run.cache, capacity, Erect { common: &common, run, warm: true })??;
            let (seconds, clock) = (args.seconds.as_secs_f64(), Arc::new(WorldClock::start()));
            let outcome = stand.load(Warmup::Seconds(seconds / 3.0), seconds, None, &clock)?;
            points[at].rates.push(outcome.window.auth_per_s());
            problem = problem.or(outcome.audit.problem);
        }
    }
    let mut report = report(&points, numbers.iter().copied().max(), problem);
    report.put(json!({
        "workers": numbers, "rounds": args.rounds, "seconds": args.seconds.as_secs_f64(), "users": users, "people": people,
        "popularity": Popularity::Zipf.name(), "faces": SET, "seed": seed, "tier": tier.name(),
    }));
    Ok(report)
}

fn name(run: &Run) -> String {
    format!("{:<10} {:<8} {:>4}", cadence_name(run.cadence), run.cache.name(), run.workers)
}

fn report(points: &[Point], most: Option<usize>, problem: Option<String>) -> Report {
    let placement = Placement::new(most, Pin::Auto);
    let cores = placement.physical_cores.max(1);
    let mut summary = format!("authentications/s on {cores} cores (*: workers share cores)\n");
    let mut shown = Vec::new();
    for Point { run, rates } in points {
        let (rate, shared) = (Distribution::new(rates.clone()), run.workers > cores);
        let _ =
            writeln!(summary, "  {}{} {:>10.0}", name(run), if shared { "*" } else { " " }, rate.median());
        shown.push(json!({
            "cadence": cadence_name(run.cadence), "cache": run.cache.name(), "workers": run.workers, "oversubscribed": shared,
            "auth_per_s": rounded(rate.median()), "auth_per_s_runs": rate.runs_json(),
        }));
    }
    let batches = points.first().map(|point| point.run.batches);
    let result = json!({
        "physical_cores": cores, "warnings": warnings(&placement), "prepared_batches": batches, "points": shown,
    });
    Report { summary, result, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_go_to_twice_the_cores_and_to_the_reference() {
        assert_eq!(workers_of(2), [1, 2, 4, 8, 16, 32, 64, 96]);
        assert_eq!(workers_of(6), [1, 2, 4, 6, 8, 16, 32, 64, 96]);
        assert_eq!(workers_of(96), [1, 2, 4, 8, 16, 32, 64, 96, 128, 192]);
    }
}
