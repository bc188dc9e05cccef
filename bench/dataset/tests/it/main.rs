//! The reader of embedding sets, and the committed sets.

mod npy;
mod reference;
mod sets;
