//! The contention laboratory: what each way of observing a cache, and each way of sharing a registry, costs the threads that use it.
//!
//! * [`exhibits`] are the locks and counters of a published account, kept to be measured;
//! * [`ladder`] removes them one after another;
//! * [`registry`] times reads of an entry that all threads read;
//! * [`peers`] are the caches and maps that are measured beside ours, and [`timing`] times one operation of one of them.
//!
//! It links caches and no server, so building it on another machine builds no HTTP and no database.
//! `trefoil-bench` has its commands, and adds what needs a whole service.

pub mod distribution;
pub mod exhibits;
mod failure;
pub mod ladder;
pub mod paired;
pub mod peers;
pub mod processor;
pub mod registry;
pub mod timing;
pub mod wiring;

pub use failure::{Failure, Report};
