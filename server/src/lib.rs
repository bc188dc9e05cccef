//! Trefoil as a service: HTTPS, tenants, store, command line.
//!
//! This is the only crate that knows HTTP, SQL and signals. It turns bytes into requests that cannot be malformed, asks
//! the pipeline, and turns sealed results into answers. Decisions leave it; scores, embeddings and keys never do.

pub mod config;
pub mod data_dir;
pub mod listener;
pub mod problem;
pub mod store;
pub mod tls;
pub mod wrap;
