//! Trefoil as a service: HTTPS, tenants, logins, the log of seals.
//!
//! This is the only crate that serves HTTP. It parses bytes into requests that cannot be malformed, asks
//! the pipeline, and turns sealed results into answers. Decisions leave it; scores, embeddings and keys never do.
//!
//! Start reading at [`server`] (what is started in which order) and `api::authentications` (one request).
//!
//! ```
//! use trefoil_server::description;
//! use trefoil_server::openapi::Listener;
//!
//! // What `GET /openapi.json` answers: made from the routes, so it cannot name another one.
//! let document = description::of(Listener::Public);
//! assert!(document["paths"]["/v1/authentications"]["post"].is_object());
//! ```

mod api;
mod app;
mod bodies;
pub mod certificate;
pub mod config;
pub mod description;
pub mod findings;
mod limits;
pub mod listener;
mod metrics;
pub mod openapi;
pub mod problem;
pub mod process;
mod refusals;
mod reload;
pub mod server;
mod standby;
mod status;
mod text;
pub mod tls;

/// Version and commit.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("COMMIT_OF_BUILD"), ")");

/// The machine, whose name is cut where the database would cut the whole, and the process.
pub(crate) fn node_name() -> String {
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{:.26}/{}", machine.trim(), std::process::id())
}
