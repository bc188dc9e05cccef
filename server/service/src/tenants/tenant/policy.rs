//! How the service applies a tenant's policy.

use crate::refused::Refused;
use trefoil_matching::{DecisionPolicy, KeyStructure, Model};
use trefoil_pipeline::Calibrated;
use trefoil_types::{OutOfRange, Policy, ProbeMode, ProofNeed};

/// Number of a tenant's policy: it has one, in versions that count from 1. Sessions are bound to the number, not to the version.
pub const POLICY_ID: u32 = 1;

/// Most audiences that a refusal names.
const AUDIENCES_NAMED: usize = 4;

/// The key structure of templates in this probe mode.
pub(crate) fn keys(probe: ProbeMode) -> KeyStructure {
    match probe {
        ProbeMode::Plain => KeyStructure::PerSubject,
        ProbeMode::Shared => KeyStructure::PerTenant,
    }
}

/// Refuses an audience that the policy does not list.
pub fn check_audience(policy: &Policy, audience: &str) -> Result<(), Refused> {
    if policy.audiences.iter().any(|known| known == audience) {
        return Ok(());
    }
    let named: Vec<&str> = policy.audiences.iter().take(AUDIENCES_NAMED).map(String::as_str).collect();
    let more = if policy.audiences.len() > named.len() { " and others" } else { "" };
    Err(Refused::Audience { allowed: named.join(", ") + more })
}

/// The part of the policy under which the key-holder decides. Call it on a checked policy.
///
/// # Panics
/// If the policy was not checked.
pub fn decision(policy: &Policy) -> DecisionPolicy {
    let mut models = models(policy).map(|Calibrated { model, threshold, .. }| (model, threshold));
    let (model, threshold) = models.next().expect("a policy has a model");
    DecisionPolicy { model, threshold, previous: models.next(), attempts: policy.attempts }
}

/// The models of a checked policy, that of new templates first.
fn models(policy: &Policy) -> impl Iterator<Item = Calibrated> {
    policy.models().filter_map(|(_, embedder, dimension, threshold)| {
        let (score, class) = threshold.score(embedder, dimension)?;
        Calibrated::new(embedder, dimension as usize, score, class)
    })
}

/// Whether a template of this model is of the `previous` one.
pub(crate) fn is_previous(policy: &Policy, of: &Model) -> bool {
    let previous = policy.previous.as_ref();
    previous.is_some_and(|it| Model::of(&it.embedder, it.dimension as usize) == Some(*of))
}

/// The models of `present` that `new` has no more, with their names.
pub(crate) fn dropped(present: &Policy, new: &Policy) -> impl Iterator<Item = (Model, String)> {
    let kept: Vec<Model> = models(new).map(|calibrated| calibrated.model).collect();
    let gone = models(present).filter(move |calibrated| !kept.contains(&calibrated.model));
    gone.map(|calibrated| (calibrated.model, calibrated.embedder))
}

/// The refusal of a policy without a model that templates are of.
pub(crate) fn in_use(embedder: &str, templates: u64) -> OutOfRange {
    let detail = format!(
        "{templates} of the tenant's templates, those of revoked people included, are of model {embedder}: name it as `previous`, with its dimension and threshold, until these \
         people are enrolled anew"
    );
    OutOfRange { pointer: "/previous".to_owned(), detail }
}

/// Refuses a new version of a policy that is out of range or changes a fixed field. A tenant's templates are encrypted for one probe mode,
/// under handles with or without credentials.
pub(crate) fn check_change(present: &Policy, new: &Policy) -> Result<(), OutOfRange> {
    new.check()?;
    let fixed = |pointer: &str, is: &str| {
        let detail = format!("the tenant has `{is}` for good, because its templates do; make another tenant");
        Err(OutOfRange { pointer: pointer.to_owned(), detail })
    };
    match (present.proof, new.proof) {
        (ProofNeed::Credential, ProofNeed::None) => return fixed("/proof", "credential"),
        (ProofNeed::None, ProofNeed::Credential) => return fixed("/proof", "none"),
        (ProofNeed::Credential, ProofNeed::Credential) | (ProofNeed::None, ProofNeed::None) => {}
    }
    match (present.probe, new.probe) {
        (ProbeMode::Plain, ProbeMode::Shared) => fixed("/probe", "plain"),
        (ProbeMode::Shared, ProbeMode::Plain) => fixed("/probe", "shared"),
        (ProbeMode::Plain, ProbeMode::Plain) | (ProbeMode::Shared, ProbeMode::Shared) => Ok(()),
    }
}

/// The values in attestations.
pub(super) fn attested(policy: &Policy, version: u32) -> trefoil_pipeline::Policy {
    trefoil_pipeline::Policy {
        id: POLICY_ID,
        version,
        models: models(policy).collect(),
        proof_level: (policy.proof == ProofNeed::Credential).then_some(policy.level_min),
        attestation_lifetime_s: policy.attestation_lifetime_s,
        probe: policy.probe,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_clients_are_told_is_what_holds() {
        assert_eq!(trefoil_wallet::credentials::LIVE_ROOTS_MAX, trefoil_pipeline::LIVE_ROOTS_MAX);
    }
}
