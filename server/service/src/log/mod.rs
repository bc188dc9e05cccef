//! The log of seals: how it is extended, kept, checked and pruned.

pub mod audit;
pub(crate) mod cosignatures;
pub mod log_audit;
pub mod log_store;
pub(crate) mod receipts;
pub mod retention;
pub mod seal_log;
pub mod tiles;
