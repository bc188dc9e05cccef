//! What a tenant asks of a match.

/// When a match is accepted and how often one may try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecisionPolicy {
    /// Accept when the inner product of the two embeddings is at least this; -32,768..=32,768.
    pub threshold: i32,
    /// How many failures a template may see.
    pub attempts: AttemptPolicy,
}

/// How many failures a template may see before it answers only "no".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptPolicy {
    /// Failures in a row before a delay.
    pub consecutive: u32,
    /// The delay, in seconds.
    pub delay_s: u64,
    /// Failures per day (UTC).
    pub per_day: u32,
    /// Failures in the life of one template generation, after which the subject enrols again.
    pub per_generation: u32,
}

impl Default for AttemptPolicy {
    /// 5 in a row, then 30 s; 20 a day; 100 per template generation.
    fn default() -> AttemptPolicy {
        AttemptPolicy { consecutive: 5, delay_s: 30, per_day: 20, per_generation: 100 }
    }
}
