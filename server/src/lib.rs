//! Trefoil as a service: HTTPS, tenants, store, command line.
//!
//! This is the only crate that knows HTTP, SQL and signals. It turns bytes into requests that cannot be malformed, asks
//! the pipeline, and turns sealed results into answers. Decisions leave it; scores, embeddings and keys never do.
//!
//! Start reading at [`server`] (what is started in which order) and `api::authentications` (one request).

mod api;
mod app;
pub mod backup;
mod certificate;
mod chains;
pub mod cli;
pub mod clock;
pub mod config;
pub mod demo;
mod directory;
mod door;
mod key_holder_watch;
mod listener;
mod log_audit;
mod log_store;
mod metrics;
mod pace;
pub mod problem;
mod proofs;
mod replay;
pub mod retention;
mod rotation;
mod seal_log;
pub mod server;
mod sessions;
mod signing_keys;
pub mod store;
mod templates;
pub mod tenant;
pub mod tls;
mod verdicts;
pub mod wiring;
mod wrap;

pub use trefoil_api::{self as wire, trust};
pub use trefoil_client as client;
pub use trefoil_issuer as issuer;
pub use trefoil_key_holder::data_dir;
pub use trefoil_wallet::{credentials, wallet};
