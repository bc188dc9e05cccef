//! The signing keys of the service, and the state of the key-holder.

pub mod budget_trips;
pub mod key_holder_watch;
pub mod signing_keys;
