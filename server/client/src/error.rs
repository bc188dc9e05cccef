//! Why a call of the client failed.

use serde::Deserialize;
use thiserror::Error;

/// A problem document (RFC 9457) as the service sends it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Error)]
#[error("{status} {code}: {detail}{}", after(cure))]
pub struct ProblemDocument {
    /// URI of the kind of problem.
    pub r#type: String,
    /// The meaning of the kind.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// Stable name of the kind, such as `session-expired`.
    pub code: String,
    /// The cause of this problem and what to do.
    pub detail: String,
    /// What to do next; empty if the service does not say.
    #[serde(default)]
    pub cure: String,
    /// Names the request in the service's log.
    #[serde(default)]
    pub request_id: String,
}

/// A cure in the form that follows a detail.
fn after(cure: &str) -> String {
    if cure.is_empty() { String::new() } else { format!(". {cure}") }
}

/// Why a call failed.
#[derive(Clone, Debug, Error)]
pub enum ClientError {
    /// The service declined or failed, and said why.
    #[error("the service answered {0}")]
    Problem(Box<ProblemDocument>),
    /// A status that is not a success, without a problem document.
    #[error("{route} answered {status} without a problem document: is this a Trefoil service?")]
    Status {
        /// Method and path.
        route: String,
        /// HTTP status.
        status: u16,
    },
    /// The client cannot parse the answer.
    #[error("{route} answered something else than expected: {cause}; client and service differ in version")]
    Answer {
        /// Method and path.
        route: String,
        /// The fault in it.
        cause: String,
    },
    /// No answer came.
    #[error("{route} was not answered: {cause}{}", advice(cause))]
    Unreachable {
        /// Method and path.
        route: String,
        /// The message of the network or of TLS.
        cause: String,
    },
    /// The service's certificate cannot be pinned.
    #[error(
        "certificate: {0}; give a PEM file: the one that the service wrote into its data directory, or its authority's"
    )]
    Certificate(String),
    /// The caller's own certificate cannot be used.
    #[error("{0}; give a PEM file with your certificate and its key")]
    Identity(String),
    /// The address or the credential cannot be sent in a request.
    #[error("{0}")]
    Argument(&'static str),
}

impl ClientError {
    /// Whether the session of a request has ended. The request was not attempted and may be made in a new session.
    #[must_use]
    pub fn is_session_over(&self) -> bool {
        matches!(self.code(), Some("session-expired" | "session-unknown"))
    }

    /// Whether the service was restarted. The request was not attempted and may be repeated with a later time.
    #[must_use]
    pub fn is_before_restart(&self) -> bool {
        self.code() == Some("before-restart")
    }

    /// Whether there was no connection, so that the service did not see the request.
    #[must_use]
    pub fn is_unsent(&self) -> bool {
        // Kinds of hyper's errors.
        matches!(self, ClientError::Unreachable { cause, .. } if cause.contains("(Connect)"))
    }

    /// Whether the connection ended before the answer was there. The service may have carried out the request.
    #[must_use]
    pub fn is_answer_lost(&self) -> bool {
        match self {
            ClientError::Unreachable { cause, .. } => !self.is_unsent() && !cause.starts_with(NO_ANSWER),
            _ => false,
        }
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

/// How the cause of a request begins that was not answered in time, on a connection that stayed open.
pub(crate) const NO_ANSWER: &str = "no answer within";

/// What to do about a connection that failed with this message of the network or of TLS.
fn advice(cause: &str) -> &'static str {
    // A refusal of the caller's certificate comes after the handshake, and the connection may close before it is read.
    const CLOSED: &str = "; the service closed the connection. If it demands a certificate of its callers, give yours and its key with \
                          --identity; else its log says why";
    let advices = [
        (
            "UnknownIssuer",
            "; the service showed a certificate that is neither the expected one nor signed by it. Give its own with --ca \
             (tls-certificate.pem in its data directory), or check the address",
        ),
        (
            "not valid for name",
            "; its certificate is for other names. Use one of them in the address, or have the operator add this name (tls.names)",
        ),
        (
            "certificate expired",
            "; its certificate has expired, or the clock of this machine is ahead. Check the clock, then renew the certificate",
        ),
        (
            "not valid yet",
            "; its certificate is not valid yet, or the clock of this machine is behind. Check the clock",
        ),
        (
            "CertificateRequired",
            "; the service demands a certificate of its callers besides the API key. Give yours and its key with --identity",
        ),
        (
            "UnknownCA",
            "; the service takes no certificate of those who signed yours. Give another with --identity, or have the operator add them (tls.client_ca)",
        ),
        ("InvalidContentType", "; this port does not speak TLS. Check the port"),
        ("refused", "; nothing listens there. Start the service (`trefoil serve`), or correct host and port"),
        ("lookup", "; the name cannot be looked up. Correct it in the address"),
        ("HTTP/2", "; this port does not speak HTTP/2. Check the address"),
        // Kinds of hyper's errors on an established connection.
        ("(SendRequest)", CLOSED),
        ("(Canceled)", CLOSED),
        ("(ChannelClosed)", CLOSED),
    ];
    advices.iter().find(|(word, _)| cause.contains(word)).map_or("", |(_, advice)| advice)
}

/// The service's answer is invalid.
pub(crate) fn answer(route: &str, cause: &dyn std::fmt::Display) -> ClientError {
    ClientError::Answer { route: route.to_owned(), cause: cause.to_string() }
}
