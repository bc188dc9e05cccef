//! Why a call of the client failed.

use serde::Deserialize;
use thiserror::Error;

/// A problem document (RFC 9457) as the service sends it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Error)]
#[error("{status} {code}: {detail}")]
pub struct ProblemDocument {
    /// URI of the kind of problem.
    pub r#type: String,
    /// What the kind means.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// Stable name of the kind, such as `session-expired`.
    pub code: String,
    /// What happened this time and what to do.
    pub detail: String,
    /// Names the request in the service's log.
    #[serde(default)]
    pub request_id: String,
}

/// Why a call failed.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The service declined or failed, and said why.
    #[error("the service answered {0}")]
    Problem(Box<ProblemDocument>),
    /// A status that is no success, without a problem document.
    #[error("{route} answered {status} without a problem document: is this a Trefoil service?")]
    Status {
        /// Method and path.
        route: String,
        /// HTTP status.
        status: u16,
    },
    /// The answer is not what this client understands.
    #[error("{route} answered something else than expected: {cause}; client and service differ in version")]
    Answer {
        /// Method and path.
        route: String,
        /// What was wrong with it.
        cause: String,
    },
    /// No answer came.
    #[error("{route} was not answered: {cause}")]
    Unreachable {
        /// Method and path.
        route: String,
        /// The network's or TLS's words.
        cause: String,
    },
    /// The service's certificate cannot be pinned.
    #[error("certificate: {0}; give the PEM file that the service wrote into its data directory")]
    Certificate(String),
    /// The address or the credential cannot stand in a request.
    #[error("{0}")]
    Argument(&'static str),
}

impl ClientError {
    /// Whether the session of a request is over, so that the request may be made in a new one: it was not attempted.
    #[must_use]
    pub fn is_session_over(&self) -> bool {
        matches!(self.code(), Some("session-expired" | "session-unknown"))
    }

    /// Whether the service was restarted and the request may be made again with a later time: it was not attempted.
    #[must_use]
    pub fn is_before_restart(&self) -> bool {
        self.code() == Some("before-restart")
    }

    /// The stable name of the problem, if the service sent one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            ClientError::Problem(problem) => Some(&problem.code),
            _ => None,
        }
    }
}
