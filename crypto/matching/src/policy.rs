//! What a tenant asks of a match.

use crate::AttemptPolicy;
use serde::{Deserialize, Serialize};

/// When a match is accepted and how often one may try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionPolicy {
    /// Accept when the inner product of the two embeddings is at least this; -32,768..=32,768.
    pub threshold: i32,
    /// How often a template may be tried.
    pub attempts: AttemptPolicy,
}
