//! Trefoil as a service, without a protocol: tenants, sessions, logins, the log of seals.
//!
//! It knows no HTTP, no JSON and no problem documents. A refusal is a [`Refused`], which the crate above turns into a
//! problem. Decisions leave it; scores, embeddings and keys never do.
//!
//! Start reading at [`Service`] (its parts), [`logins`] (one login), [`door`] (its checks) and [`seal_log`] (when it is answered).
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

pub mod ahead;
pub mod audit;
pub mod backup;
pub mod budget_trips;
pub mod chains;
mod changing;
pub mod clock;
mod cosignatures;
pub mod counters;
pub mod deletion;
pub mod directory;
pub mod distinct_failures;
pub mod door;
pub mod enrolments;
pub mod face;
pub mod fleet;
mod flights;
pub mod idempotency;
pub mod key_holder_watch;
pub mod leftovers;
mod lockouts;
pub mod log_audit;
pub mod log_store;
pub mod logins;
pub mod notes;
pub mod operators;
pub mod pace;
pub mod proofs;
mod receipts;
mod refused;
pub mod register;
pub mod replay;
pub mod retention;
pub mod revocation;
pub mod rotation;
#[cfg(test)]
mod scratch;
pub mod seal_log;
pub mod second_look;
mod service;
pub mod sessions;
pub mod signing_keys;
pub mod sources;
pub mod templates;
pub mod tenant;
pub mod tiles;
pub mod usage;
pub mod verdicts;
pub mod wiring;

pub use refused::{NotFresh, Refused};
pub use service::{POSTGRES_MARK, STORE_FILE, Service};
pub use trefoil_types::time;
