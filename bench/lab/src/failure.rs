//! Errors of a benchmark.

use std::fmt;

/// Why a benchmark did not give a number.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A usage error: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// An internal error: exit code 1.
    #[error("{0}")]
    Fault(String),
}

impl Failure {
    /// A usage failure.
    pub fn usage(message: impl Into<String>) -> Self {
        Failure::Usage(message.into())
    }

    /// An internal error.
    pub fn fault(message: impl Into<String>) -> Self {
        Failure::Fault(message.into())
    }

    /// Wraps an error with the failed step, for `map_err`.
    pub fn in_step<E: fmt::Display>(step: impl fmt::Display) -> impl FnOnce(E) -> Self {
        move |error| Failure::Fault(format!("{step}: {error}"))
    }
}
