//! What to load a service with.

use std::time::Duration;

use clap::{Args, ValueEnum};
use trefoil_api::BATCH_MAX;

use crate::args::{count, seconds};

/// A service with the embedded defaults runs in a process of its own. Every answer must be a match, and every attestation of the sample
/// must verify offline, or the run fails.
#[derive(Clone, Debug, Args)]
pub(crate) struct Load {
    /// What happens
    #[arg(long, value_enum, default_value_t = Profile::Steady)]
    pub(super) profile: Profile,
    /// Length of a phase
    #[arg(long, default_value = "5", value_parser = seconds)]
    pub(super) seconds: Duration,
    /// Rounds of all phases
    #[arg(long, default_value_t = 3, value_parser = count::<1, 1000>)]
    pub(super) rounds: usize,
    /// People who log in, each with a session
    #[arg(long, default_value_t = 64, value_parser = count::<1, 1024>)]
    pub(super) people: usize,
    /// Connections, one number after another: of the loops (steady, fleet), of the tenant that asks for too much, of the attackers
    /// [default: 1,8,64,256; fleet 64,256,1024; overload 1024; flood 64; hostile 4096]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = count::<1, 65536>)]
    pub(super) connections: Vec<usize>,
    /// Logins per request; times are then per request
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<1, BATCH_MAX>)]
    pub(super) batch: usize,
    /// Numbers in the vector of a face
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = count::<2, 512>)]
    pub(super) numbers: usize,
    /// Verify one login in this many offline
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = count::<1, { usize::MAX }>)]
    pub(super) verify_every: usize,
    /// Seed of the arrivals at random times
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Profile {
    /// Closed loops, and half of the best rate at random times
    Steady,
    /// 20 logins a second, while another tenant asks for what the service can answer, twice and ten times as much
    Overload,
    /// Logins with and without a flood of invalid proofs
    Flood,
    /// 20 logins a second with and without connections that send nothing, read nothing or are always refused, then SIGTERM under each
    Hostile,
    /// Processor time, statements and writes of a login on one node of a fleet and on three; needs PostgreSQL's programs
    Fleet,
}

/// Logins a second that requests are made for before a rate is known; in batches so many.
pub(super) const FIRST_GUESS_PER_S: f64 = 8_000.0;
pub(super) const FIRST_GUESS_IN_BATCHES_PER_S: f64 = 60_000.0;
