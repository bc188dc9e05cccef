//! Trefoil as a service, without a protocol: tenants, sessions, logins, the log of seals.
//!
//! It knows no HTTP, no JSON and no problem documents. A refusal is a [`Refused`], which the crate above turns into a
//! problem. Decisions leave it; scores, embeddings and keys never do.
//!
//! Start reading at [`Service`] (its parts), [`login`] (one login), [`login::door`] (its checks) and [`log::seal_log`] (when it is answered).
//!
//! ```
//! use trefoil_service::time;
//!
//! assert_eq!(time::parse("2026-11-20T09:47:40Z"), Ok(1_795_168_060));
//! assert_eq!(time::format(1_795_168_060), "2026-11-20T09:47:40Z");
//! ```

#![expect(
    clippy::missing_errors_doc,
    reason = "the variants of `Refused` say when, for every function alike"
)]

pub mod backup;
pub mod counters;
pub mod fleet;
pub mod idempotency;
pub mod keys;
pub mod limits;
pub mod log;
pub mod login;
pub mod node;
mod refused;
#[cfg(test)]
mod scratch;
mod service;
pub mod sessions;
pub mod subjects;
pub mod tenants;

pub use refused::{Denied, NoFace, NotFresh, Refused};
pub use service::Service;
pub use trefoil_types::time;

/// Accepted age of a request by its `issued_at` and our clock, seconds.
pub const FRESHNESS_S: u64 = 60;
/// How far a request may be dated ahead of our clock, seconds.
pub const AHEAD_S: u64 = 5;
/// The store in the data directory.
pub const STORE_FILE: &str = "store.sqlite";
/// In the data directory of a service whose store is in PostgreSQL: how many transactions were acknowledged.
pub const POSTGRES_MARK: &str = "postgres.mark";
