//! The benchmarks, in process and as a program.

mod benchmarks;
mod caches;
mod command_line;
#[cfg(all(feature = "cache-engine", feature = "cache-dashmap"))]
mod laboratory;
mod report;
mod scores;
mod signing;
