//! The benchmarks, in process and as a program, with parameters so small that their numbers mean nothing.

mod benchmarks;
mod caches;
mod command_line;
#[cfg(all(feature = "cache-engine", feature = "cache-dashmap"))]
mod laboratory;
mod load;
mod right;
mod scores;
mod signing;
