//! The key-holder as a process, from outside: access, input, kills, and the contents of its memory.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "tests count, wait and share as they like"
)]

mod ages;
mod backup;
mod crash;
mod damage;
mod disk;
mod door;
mod frames;
mod jobs;
mod liar;
mod load;
mod logging;
mod memory;
mod quorum;
mod scan;
mod three;
mod world;
