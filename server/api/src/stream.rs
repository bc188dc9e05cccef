//! Authentications in a stream.

use super::{Authenticated, Outcome};
use serde::{Deserialize, Serialize};

/// Media type of `POST /v1/authentications/stream` and of its answer: JSON values, one in each line.
pub const JSON_LINES: &str = "application/jsonl";

/// Most logins of a stream that are in flight or whose answers were not taken. Beyond that nothing more is read until an answer is taken.
pub const STREAM_IN_FLIGHT_MAX: usize = 32;

/// A line of the answer to `POST /v1/authentications/stream`. `P` is a problem document, `A` an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StreamedOutcome<P, A = Authenticated> {
    /// The line of the request that it answers, from 1.
    pub line: u64,
    /// Whether it is the last answer: this line and those after it were not attempted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// The result of the login, as in a batch.
    #[serde(flatten)]
    pub outcome: Outcome<P, A>,
}
