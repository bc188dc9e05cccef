//! Encrypted scores, in both key structures and probe modes.

mod modes;
mod scores;
