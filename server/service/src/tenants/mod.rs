//! Tenants, their API keys, policies and roots, and the operators of the service.

pub(crate) mod changing;
pub mod directory;
pub mod notes;
pub mod operators;
pub mod second_look;
pub mod tenant;
pub mod usage;
pub mod verdicts;
pub mod wiring;
