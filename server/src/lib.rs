//! Trefoil as a service: HTTPS, tenants, logins, the log of seals.
//!
//! This is the only crate that serves HTTP. It turns bytes into requests that cannot be malformed, asks
//! the pipeline, and turns sealed results into answers. Decisions leave it; scores, embeddings and keys never do.
//!
//! Start reading at [`server`] (what is started in which order) and `api::authentications` (one request).

mod api;
mod app;
pub mod backup;
mod bodies;
pub mod certificate;
mod chains;
pub mod clock;
pub mod config;
mod counters;
mod directory;
mod door;
pub mod key_holder_watch;
pub mod listener;
pub mod log_audit;
pub mod log_store;
mod metrics;
mod pace;
pub mod problem;
pub mod process;
mod proofs;
mod refusals;
pub mod refused;
mod replay;
pub mod retention;
mod rotation;
mod seal_log;
pub mod server;
pub mod service;
mod sessions;
pub mod signing_keys;
mod templates;
pub mod tenant;
pub mod time;
pub mod tls;
mod verdicts;
pub mod wiring;
