//! Arguments of `scaling`.

use std::path::PathBuf;

use clap::Args;
use trefoil_kernels::Tier;

use super::numbers::{Spread, seconds, spread};
use super::output::{Output, cores, refuse_debug_build};
use super::world::WorldArgs;
use crate::Failure;
use crate::Report;
use crate::chart;
use crate::scaling::{Scaling, drawing, scaling};
use crate::wiring::CacheChoice;

const EXAMPLES: &str = "\
Examples:
    trefoil-bench scaling
    trefoil-bench scaling --workers 1,2,4 --rounds 2 --seconds 1 --price-per-hour 0.10
    trefoil-bench scaling --workers 1..192 --memory-gb-per-s 800 --svg scaling.svg

Each round first measures what every step costs alone: a batch on its worker (with one core busy and with all, with few and with many
unsealed batches in memory), a seal, its release, the dispatcher, memory. Then it measures the loop. The model knows the costs and not the
rates; how far it is from each rate is in the record. Rates of machines with a core for each worker are the model's output and say so.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ScalingArgs {
    /// Numbers of workers to measure; A..B stands for A, B and the powers of two and half ways between [default: powers of two up to
    /// twice the cores and at least 96, and the cores]
    #[arg(long, value_name = "N,A..B", value_parser = spread)]
    workers: Option<Spread>,
    /// Over which caches
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [CacheChoice::Engine, CacheChoice::Dashmap])]
    caches: Vec<CacheChoice>,
    /// Rounds over costs and rates, all of which are kept
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Length of one window; a third of it goes before
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
    /// Length of one measurement of what a batch costs
    #[arg(long, default_value_t = 0.5, value_parser = seconds)]
    cost_seconds: f64,
    /// Numbers of workers to draw, each with a core of its own
    #[arg(long, value_name = "N,A..B", default_value = "1..192", value_parser = spread)]
    draw: Spread,
    /// Memory bandwidth of the machine that is drawn; twelve channels of DDR5-5600 have 538 at most
    #[arg(long, value_name = "GB/S", default_value_t = 400.0, value_parser = positive)]
    memory_gb_per_s: f64,
    /// What this machine costs for an hour, in any currency; the record then has the price of a million authentications
    #[arg(long, value_name = "PRICE", value_parser = positive)]
    price_per_hour: Option<f64>,
    /// Draw measured and modelled rates
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    world: WorldArgs,
    #[command(flatten)]
    pub(super) output: Output,
}

fn positive(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (1e-6..=1e6).contains(&value) { Ok(value) } else { Err("give 0.000001 to 1000000".to_owned()) }
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

/// Bytes that each thread reads to measure memory: more than a cache holds.
const MEMORY_BYTES: usize = 256 << 20;
/// Distinct batches.
const BATCHES: usize = 2_048;

impl ScalingArgs {
    pub(super) fn run(&self, tier: Tier) -> Result<Report, Failure> {
        refuse_debug_build()?;
        let parameters = Scaling {
            workers: self.workers.as_ref().map_or_else(|| workers_of(cores()), |spread| spread.0.clone()),
            caches: self.caches.clone(),
            rounds: self.rounds as usize,
            seconds: self.seconds,
            cost_seconds: self.cost_seconds,
            drawn: self.draw.0.clone(),
            memory_gb_per_s: self.memory_gb_per_s,
            price_per_hour: self.price_per_hour,
            users: self.world.users,
            batches: BATCHES.min(self.world.users),
            memory_bytes: MEMORY_BYTES,
            seed: self.world.seed,
            tier,
        };
        let report = scaling(&parameters, &self.world.population()?)?;
        if let Some(file) = &self.svg {
            chart::write(file, &drawing(&report.result))?;
        }
        Ok(report)
    }
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
