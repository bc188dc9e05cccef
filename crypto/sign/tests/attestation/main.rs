//! Attestations end to end: signed by this crate, verified by `trefoil-attest` with public inputs only.

mod accepted;
mod changes;
mod contradictions;
mod device;
mod fixture;
mod forged;
mod json;
mod keys;
mod policy;
mod pruned;
mod rotation;
mod seals;
mod shared;
mod witness;
mod witness_format;
