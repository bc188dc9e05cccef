//! Arguments that say who there is.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::numbers::multiple_of_32;
use super::output::{cores, in_source_tree};
use crate::Failure;
use crate::population::Population;

/// A world.
#[derive(Debug, Args)]
pub(super) struct WorldArgs {
    /// Enrolled templates, 48 KiB each; a multiple of 32
    #[arg(long, default_value_t = 4_096, value_parser = multiple_of_32)]
    pub(super) users: usize,
    /// People who hold them, each with a credential proof of their own; a multiple of 32
    #[arg(long, default_value_t = 256, value_parser = multiple_of_32)]
    pub(super) people: usize,
    /// Fixes who is drawn, what they show and who is an impostor
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Folder in which proofs are kept between runs [default: target/bench-world of the source tree]
    #[arg(long, value_name = "DIR")]
    pub(super) world_dir: Option<PathBuf>,
}

/// A world small enough to be made several times over.
#[derive(Debug, Args)]
pub(super) struct SmallWorldArgs {
    /// Enrolled templates for each cache; a multiple of 32. Few make the match cheap and the cache's share large
    #[arg(long, default_value_t = 256, value_parser = multiple_of_32)]
    users: usize,
    /// People who hold them; a multiple of 32
    #[arg(long, default_value_t = 256, value_parser = multiple_of_32)]
    people: usize,
    /// Folder in which proofs are kept between runs [default: target/bench-world of the source tree]
    #[arg(long, value_name = "DIR")]
    world_dir: Option<PathBuf>,
    /// Fixes users, probes, impostors and requests
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
}

impl SmallWorldArgs {
    pub(super) fn world(&self) -> WorldArgs {
        let SmallWorldArgs { users, people, ref world_dir, seed } = *self;
        WorldArgs { users, people, seed, world_dir: world_dir.clone() }
    }
}

impl WorldArgs {
    /// The people, whose proofs are made now or taken from disk.
    pub(super) fn population(&self) -> Result<Arc<Population>, Failure> {
        self.population_of(self.people)
    }

    /// So many people.
    pub(super) fn population_of(&self, people: usize) -> Result<Arc<Population>, Failure> {
        let folder = self.world_dir.clone().unwrap_or_else(|| in_source_tree("../target/bench-world"));
        Ok(Arc::new(Population::new(people, &folder, cores())?))
    }
}
