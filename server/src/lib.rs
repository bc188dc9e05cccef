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
pub mod client_ca;
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
pub mod tls;
