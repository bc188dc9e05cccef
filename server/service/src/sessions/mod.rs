//! Proof sessions.

pub(crate) mod flights;
pub mod opening;
pub mod proofs;
pub mod rows;
