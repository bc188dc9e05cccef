//! Benchmarks that verify what they time. `trefoil-bench --help` lists them with examples.
//!
//! A run whose outputs are wrong is an error, whatever its speed: every decision is compared with the one that
//! the clear arithmetic predicts, and sampled attestations are verified as a relying party would.
//! `METHODOLOGY.md` and `whitepaper/LIMITS.md` say how to read the numbers.

mod against;
mod args;
mod audit;
mod cache;
pub mod cli;
mod clock;
mod exact;
mod faces;
mod fhe_peers;
mod hit_ratio;
mod host;
mod in_pipeline;
mod ladder;
mod limits;
mod load;
mod match_stages;
mod overhead;
mod parallel;
mod population;
mod record;
mod registry;
mod remote;
mod roles;
mod run;
mod scaling;
mod seals;
mod sessions;
mod sign;
mod spending;
mod stages;
mod trace;
mod visits;
mod warmup;
mod warnings;
mod window;
mod wiring;
mod workload;
mod world;
mod zkp;

pub use trefoil_lab::{Failure, Report};
// The contention laboratory is a crate of its own; its parts keep their names here.
use trefoil_lab::{distribution, paired, peers, processor};
