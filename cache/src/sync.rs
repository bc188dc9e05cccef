//! The atomics of code that is also run under a model checker, which brings its own.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};
