//! What a benchmark gives.

use std::fmt;

use serde_json::Value;

/// The outcome of a benchmark.
pub struct Report {
    /// For people.
    pub summary: String,
    /// For programs: an object.
    pub result: Value,
    /// The problem with the outputs, if there was one. The numbers of such a run are meaningless.
    pub problem: Option<String>,
}

impl Report {
    /// Adds the fields of an object to the result.
    pub fn put(&mut self, fields: Value) {
        if let (Value::Object(result), Value::Object(fields)) = (&mut self.result, fields) {
            result.extend(fields);
        }
    }

    /// Adds another report below this one, its result under `name`.
    pub fn and(mut self, name: &str, other: Report) -> Report {
        self.result[name] = other.result;
        self.summary += &other.summary;
        self.problem = self.problem.or(other.problem);
        self
    }
}

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
