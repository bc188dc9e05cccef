//! Arguments of `scaling`.

use clap::Args;
use trefoil_kernels::Tier;

use super::numbers::{seconds, workers};
use super::output::{Output, cores, refuse_debug_build};
use super::world::WorldArgs;
use crate::Failure;
use crate::Report;
use crate::scaling::{Scaling, scaling};
use crate::wiring::CacheChoice;

const EXAMPLES: &str = "\
Examples:
    trefoil-bench scaling
    trefoil-bench scaling --workers 1,2,4 --rounds 2 --seconds 1 --price-per-hour 0.10

More workers than cores share them: such a rate shows time slicing, and the record says so.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ScalingArgs {
    /// Numbers of workers [default: powers of two up to twice the cores and at least 96, and the cores]
    #[arg(long, value_name = "N,..", value_delimiter = ',', value_parser = workers)]
    workers: Vec<usize>,
    /// Over which caches
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [CacheChoice::Engine, CacheChoice::Dashmap])]
    caches: Vec<CacheChoice>,
    /// Rounds, all of which are kept
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Length of one window; a third of it goes before
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
    /// What this machine costs for an hour, in any currency; the record then has the price of a million authentications
    #[arg(long, value_name = "PRICE", value_parser = positive)]
    price_per_hour: Option<f64>,
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

/// Distinct batches.
const BATCHES: usize = 2_048;

impl ScalingArgs {
    pub(super) fn run(&self, tier: Tier) -> Result<Report, Failure> {
        refuse_debug_build()?;
        let parameters = Scaling {
            workers: if self.workers.is_empty() { workers_of(cores()) } else { self.workers.clone() },
            caches: self.caches.clone(),
            rounds: self.rounds as usize,
            seconds: self.seconds,
            price_per_hour: self.price_per_hour,
            users: self.world.users,
            batches: BATCHES.min(self.world.users),
            seed: self.world.seed,
            tier,
        };
        scaling(&parameters, &self.world.population()?)
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
