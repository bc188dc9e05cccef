//! Why a benchmark did not give a number.

use std::fmt;

/// Why a benchmark did not give a number.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The request makes no sense: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// Something that should have worked did not: exit code 1.
    #[error("{0}")]
    Fault(String),
}

impl Failure {
    /// A usage failure.
    pub fn usage(message: impl Into<String>) -> Self {
        Failure::Usage(message.into())
    }

    /// A fault.
    pub fn fault(message: impl Into<String>) -> Self {
        Failure::Fault(message.into())
    }

    /// Wraps an error with what was being done, for `map_err`.
    pub fn in_step<E: fmt::Display>(step: impl fmt::Display) -> impl FnOnce(E) -> Self {
        move |error| Failure::Fault(format!("{step}: {error}"))
    }
}
