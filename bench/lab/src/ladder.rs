//! The ladder's rungs, and its climbs that need no service: look-ups that do nothing else, each lock and counter alone with ever more
//! contenders, and the key-holder with and without its former locks.

pub mod contenders;
pub mod key_holder;
pub mod lookups;
pub mod rungs;

pub use contenders::Contention;
pub use key_holder::KeyHolderLoad;
pub use lookups::{Asked, Lookups, Measured, Subject};
pub use rungs::{LADDER, OverObserver, Rung};
