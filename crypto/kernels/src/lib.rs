//! Kernels: the few loops worth writing for a particular processor, each with a portable twin.
//!
//! This is the only crate of the workspace that may contain `unsafe`, and only in its private `arch`
//! module. A kernel takes a [`Cpu`], a token that can only be made by detection, so that an instruction
//! is never reached on a processor that lacks it. Every tier of a kernel gives the same bits: one shared
//! checker compares each tier that the machine has with the portable twin.
//!
//! Invariants: no allocation, no branch or address that depends on the data, slices of the wrong length
//! panic before anything is written.

pub mod cpu;

pub use cpu::{Cpu, Tier};
