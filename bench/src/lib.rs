//! Benchmarks that verify what they time.
//!
//! * [`exact`] runs the encrypted matcher over a whole embedding set and compares every score with arithmetic in
//!   the clear;
//! * [`stages`] times the steps of one batch of 32 on one pinned worker;
//! * [`match_stages`] times the two roles' arithmetic in every mode, with the memory bandwidth beside it;
//! * [`fhe_peers`] computes the same inner products with another library, alternating with ours;
//! * [`run`] loads the pipeline in a closed loop and counts authentications once their seal is verified;
//! * [`canonical`] is the one of these workloads that records are compared by;
//! * [`scaling`] runs it with ever more workers;
//! * [`against`] compares two builds that run alternately;
//! * [`hit_ratio`] replays recorded requests through the engine and other caches;
//! * [`ladder`] shows what observation with locks, with shared counters and per worker costs, alone and in the pipeline;
//! * [`overhead`] compares the engine with the raw map in the pipeline, in pairs, with a confidence interval;
//! * [`registry`] times reads of an entry that all threads read;
//! * [`cache`] times look-ups in the engine, other caches and a map;
//! * [`zkp`] makes and verifies credential proofs;
//! * [`sign`] times signatures, and the sealer under a scheduled load;
//! * [`flood`] logs in over HTTPS with and without a flood of invalid proofs;
//! * [`load`] logs in over HTTPS, in a closed loop and at random times;
//! * [`overload`] sends a service in another process more logins than it can answer;
//! * [`hostile`] logs in while other connections send nothing, read nothing or are always refused;
//! * [`fleet`] counts what a login costs on one node of a fleet and on three.
//!
//! A run whose outputs are wrong is an error, whatever its speed: every decision is compared with the one that
//! the clear arithmetic predicts, and sampled attestations are verified as a relying party would.
//! `METHODOLOGY.md` and `whitepaper/LIMITS.md` say how to read the numbers.

pub mod against;
mod apart;
mod audit;
pub mod cache;
pub mod canonical;
pub mod cli;
mod clock;
pub mod exact;
pub mod faces;
pub mod fhe_peers;
pub mod fleet;
pub mod flood;
pub mod hit_ratio;
mod host;
pub mod hostile;
pub mod in_pipeline;
pub mod ladder;
mod limits;
pub mod load;
pub mod match_stages;
pub mod overhead;
pub mod overload;
mod parallel;
mod population;
mod raw;
mod record;
pub mod remote;
pub mod roles;
pub mod run;
pub mod scaling;
mod seals;
mod sessions;
pub mod sign;
mod spending;
pub mod stages;
mod trace;
mod visits;
pub mod warmup;
mod warnings;
mod window;
pub mod wiring;
pub mod workload;
mod world;
pub mod zkp;

pub use population::Population;
pub use trefoil_lab::{Failure, Report};
// The contention laboratory is a crate of its own; its parts keep their names here.
pub use trefoil_lab::registry;
use trefoil_lab::{distribution, opener, paired, peers, processor};
