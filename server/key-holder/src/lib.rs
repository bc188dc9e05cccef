//! The key-holder as a process of its own, and the gateway's connection to it.
//!
//! The role itself is [`trefoil_matching::KeyHolder`]: keys, thresholds, attempt budgets, and the checks that make malformed
//! jobs useless. This crate adds a vault on disk ([`vault`]), a list of clients ([`clients`]), a log of
//! requests ([`job_log`]) and a process ([`process`]). A gateway reaches it through [`Remote`], which is a
//! [`trefoil_matching::KeyHolding`] like the one in its own process.
//!
//! It links no template store, no signer and no HTTP, so that another operator can run it.

mod address;
pub mod backup;
mod channel;
pub mod cli;
pub mod clients;
pub mod config;
mod connection_pool;
mod handler;
pub mod job_log;
pub mod process;
mod protocol;
mod quorum;
mod remote;
mod semaphore;
pub mod tls;
pub mod vault;

pub use address::Address;
pub use connection_pool::Bounds;
pub use quorum::Quorum;
pub use remote::Remote;
