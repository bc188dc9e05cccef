//! The ladder's rungs, and its climbs that need no service: look-ups that do nothing else, and each lock and counter alone with ever more
//! contenders.

pub mod contenders;
pub mod lookups;
pub mod rungs;

pub use contenders::Contention;
pub use lookups::{Asked, Lookups, Measured};
pub use rungs::{LADDER, OverObserver, Rung};
