//! What the service makes of a tenant's policy.

use crate::refused::Refused;
use trefoil_api::{Attempts, Policy, Probe, SCORE_MAX};
use trefoil_matching::{AttemptPolicy, DecisionPolicy, KeyStructure};

/// Number of a tenant's only policy so far.
pub const POLICY_ID: u32 = 1;
/// Its version.
pub const POLICY_VERSION: u32 = 1;

/// Audiences that a refusal names.
const AUDIENCES_NAMED: usize = 4;

/// How templates are encrypted whose probes arrive like this.
pub(crate) fn keys(probe: Probe) -> KeyStructure {
    match probe {
        Probe::Plain => KeyStructure::PerSubject,
        Probe::Shared => KeyStructure::PerTenant,
    }
}

/// Refuses an audience that attestations are not made for.
pub fn check_audience(policy: &Policy, audience: &str) -> Result<(), Refused> {
    if policy.audiences.iter().any(|known| known == audience) {
        return Ok(());
    }
    let named: Vec<&str> = policy.audiences.iter().take(AUDIENCES_NAMED).map(String::as_str).collect();
    let more = if policy.audiences.len() > named.len() { " and others" } else { "" };
    Err(Refused::Audience { allowed: named.join(", ") + more })
}

/// What the key-holder decides under. To be called on a checked policy.
pub fn decision(policy: &Policy) -> DecisionPolicy {
    let threshold = policy.threshold_score().map_or(SCORE_MAX, |(score, _)| score);
    DecisionPolicy { threshold, attempts: attempts(policy.attempts) }
}

/// What attestations say.
pub(super) fn attested(policy: &Policy) -> trefoil_pipeline::Policy {
    trefoil_pipeline::Policy {
        id: POLICY_ID,
        version: POLICY_VERSION,
        fmr_class: policy.threshold_score().map_or(0, |(_, class)| class),
        embedder: policy.embedder.clone(),
        level_min: policy.level_min,
        attestation_lifetime_s: policy.attestation_lifetime_s,
        probe: policy.probe.mode(),
    }
}

fn attempts(attempts: Attempts) -> AttemptPolicy {
    let Attempts { consecutive, delay_s, failures_per_day, failures_per_generation, .. } = attempts;
    let Attempts { attempts_per_day, attempts_per_generation, .. } = attempts;
    AttemptPolicy {
        consecutive,
        delay_s,
        failures_per_day,
        failures_per_generation,
        attempts_per_day,
        attempts_per_generation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits that the documents promise a liar at most are worked out for the key-holder's default.
    #[test]
    fn what_clients_are_told_is_what_holds() {
        assert_eq!(attempts(Attempts::default()), AttemptPolicy::default());
        assert_eq!(trefoil_api::DIM, trefoil_matching::DIM);
        assert_eq!(trefoil_wallet::credentials::LIVE_ROOTS_MAX, trefoil_pipeline::LIVE_ROOTS_MAX);
    }
}
