//! Arguments that commands share.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use trefoil_matching::LANES;
use trefoil_pipeline::affinity::{Pin, Placement};

use crate::population::Population;
use crate::{Failure, record};

/// Lets a debug build run anyway, for tests of the program itself.
const ANY_BUILD: &str = "TREFOIL_TEST_ANY_BUILD";

#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Print the record as JSON instead of a summary
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Also write it to bench/records/NAME.json; NAME may be FOLDER/NAME
    #[arg(long, value_name = "NAME", value_parser = record::check_name, global = true)]
    pub(crate) record: Option<String>,
    /// Words that name this machine in the record
    #[arg(long, value_name = "TEXT", global = true)]
    pub(crate) label: Option<String>,
}

/// The people and templates of a world.
#[derive(Clone, Debug, Args)]
pub(crate) struct WorldArgs {
    /// Enrolled templates, 48 KiB each; a multiple of 32. Few make the match cheap and the cache's share large
    #[arg(long, default_value_t = 4_096, value_parser = multiple_of_32)]
    pub(crate) users: usize,
    /// People who hold them, each with their own credential proof; a multiple of 32
    #[arg(long, default_value_t = 256, value_parser = multiple_of_32)]
    pub(crate) people: usize,
    /// Seed: who is drawn, which faces they show and who is an impostor
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

impl WorldArgs {
    /// So many people, whose proofs are made now.
    pub(crate) fn population(&self, people: usize) -> Result<Arc<Population>, Failure> {
        Ok(Arc::new(Population::new(people, cores())?))
    }
}

/// Workers that fit this machine.
pub(crate) fn cores() -> usize {
    Placement::new(None, Pin::Auto).workers()
}

/// A time without optimisation is meaningless.
pub(crate) fn refuse_debug_build() -> Result<(), Failure> {
    if cfg!(debug_assertions) && std::env::var_os(ANY_BUILD).is_none() {
        return Err(Failure::usage(
            "this is a debug build: its times mean nothing. Use cargo run --release -p trefoil-bench -- ...",
        ));
    }
    Ok(())
}

/// A path below the folder of this crate.
pub(crate) fn in_source_tree(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A number within these bounds.
pub(crate) fn count<const LEAST: usize, const MOST: usize>(text: &str) -> Result<usize, String> {
    let number = text.parse().map_err(|_| "not a number".to_owned())?;
    if (LEAST..=MOST).contains(&number) { Ok(number) } else { Err(format!("give {LEAST} to {MOST}")) }
}

/// Threads: well above any machine, well below what a typo can request.
pub(crate) fn workers(text: &str) -> Result<usize, String> {
    count::<1, 1_024>(text)
}

pub(crate) fn multiple_of_32(text: &str) -> Result<usize, String> {
    let number: usize = text.parse().map_err(|_| "not a number".to_owned())?;
    if number.is_multiple_of(LANES) && (LANES..=USERS_MAX).contains(&number) {
        Ok(number)
    } else {
        Err(format!("give a multiple of {LANES} from {LANES} to {USERS_MAX}, so that every batch is full"))
    }
}

pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.001..=600.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("give 0.001 to 600 seconds".to_owned())
    }
}

/// Most templates: 48 GiB of them.
const USERS_MAX: usize = 1 << 20;
