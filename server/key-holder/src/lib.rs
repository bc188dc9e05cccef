//! What the key-holder needs to be a process of its own, and what both programs need on disk.
//!
//! This crate links neither the template store nor the signer, nor HTTP, so that somebody else can run the role.

pub mod data_dir;
pub mod database;
pub mod tls;
pub mod vault;
pub mod wrap;
