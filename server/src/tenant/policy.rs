//! What a tenant's requests are decided under.

use crate::problem::{Code, Problem};
use serde::{Deserialize, Serialize};
use trefoil_attest::ProbeMode;
use trefoil_matching::{AttemptPolicy, DecisionPolicy, KeyStructure};

/// Number of a tenant's only policy so far.
pub const POLICY_ID: u32 = 1;
/// Its version.
pub const POLICY_VERSION: u32 = 1;
/// Audiences of one tenant.
const AUDIENCES_MAX: usize = 256;
/// Audiences that a refusal names.
const AUDIENCES_NAMED: usize = 4;
/// Largest possible score of two unit vectors at scale 175.
const SCORE_MAX: i32 = 32_768;

/// What a tenant's requests are decided under, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Embedding model whose vectors are compared, 1 to 64 bytes.
    pub embedder: String,
    /// When two vectors match.
    pub threshold: Threshold,
    /// Relying parties that attestations may be made for.
    pub audiences: Vec<String>,
    /// Lowest credential level that a session must prove.
    #[serde(default)]
    pub level_min: u8,
    /// Attempts allowed before a subject is denied whatever the probe.
    #[serde(default)]
    pub attempts: Attempts,
    /// Life of an attestation in seconds, 1 to 120.
    #[serde(default = "attestation_lifetime_default")]
    pub attestation_lifetime_s: u64,
    /// How probes and templates reach the service.
    #[serde(default)]
    pub probe: Probe,
}

/// How probes and templates reach the service, and with that how templates are encrypted; for good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probe {
    /// The service gets the vector, normalises and quantises it, and so knows that it is short. Each template has a key of its own, 48 KiB,
    /// and is shredded by itself.
    #[default]
    Plain,
    /// The device quantises and splits it: a share to the service, a share sealed to the key-holder. Nobody can check that it is
    /// short: about 0.3 of garbage probes match, so this is for devices whose key the tenant trusts. One key for all templates, 96 KiB
    /// each: a service that lies can learn it bit by bit, so this is for services that are curious and honest.
    Shared,
}

impl Probe {
    /// How templates are encrypted.
    pub fn keys(self) -> KeyStructure {
        match self {
            Probe::Plain => KeyStructure::PerSubject,
            Probe::Shared => KeyStructure::PerTenant,
        }
    }

    /// As attestations call it.
    pub fn mode(self) -> ProbeMode {
        match self {
            Probe::Plain => ProbeMode::Plain,
            Probe::Shared => ProbeMode::Shared,
        }
    }
}

/// A false-match class, or a score that the operator has calibrated to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Threshold {
    /// The score calibrated for the policy's embedder, see [`CALIBRATED`].
    FmrClass(u8),
    /// A score of the operator's own calibration.
    Calibrated {
        /// Smallest inner product that matches, at scale 175 (unit vectors have 30,625).
        score: i32,
        /// k of the false-match rate 10^-k that it was calibrated to; copied into attestations.
        fmr_class: u8,
    },
}

/// Scores per embedder and false-match class: 2,566 probes against 352 templates of LFW, one enrolment photo each,
/// thresholds at the empirical false-match rate. A set of this size does not establish rates below 1e-3; the score for
/// class 4 is where the set has it, not a promise.
const CALIBRATED: [(&str, u8, i32); 3] =
    [("facenet-128", 2, 11_781), ("facenet-128", 3, 16_046), ("facenet-128", 4, 21_362)];

/// How often a template may be tried. What these allow bounds what a service that lies can learn of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Attempts {
    /// Failures in a row before a delay.
    pub consecutive: u32,
    /// The delay, seconds.
    pub delay_s: u64,
    /// Failures per day.
    pub failures_per_day: u32,
    /// Failures in the life of a template.
    pub failures_per_generation: u32,
    /// Attempts per day, matches included.
    pub attempts_per_day: u32,
    /// Attempts in the life of a template, matches included.
    pub attempts_per_generation: u32,
}

impl Default for Attempts {
    fn default() -> Attempts {
        AttemptPolicy::default().into()
    }
}

impl From<AttemptPolicy> for Attempts {
    fn from(policy: AttemptPolicy) -> Attempts {
        let AttemptPolicy { consecutive, delay_s, failures_per_day, failures_per_generation, .. } = policy;
        let AttemptPolicy { attempts_per_day, attempts_per_generation, .. } = policy;
        Attempts {
            consecutive,
            delay_s,
            failures_per_day,
            failures_per_generation,
            attempts_per_day,
            attempts_per_generation,
        }
    }
}

impl From<Attempts> for AttemptPolicy {
    fn from(attempts: Attempts) -> AttemptPolicy {
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
}

fn attestation_lifetime_default() -> u64 {
    trefoil_attest::LIFETIME_SECONDS_MAX
}

impl Policy {
    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), Problem> {
        let wrong = |pointer: &str, detail: String| Err(Problem::field(Code::FieldInvalid, pointer, detail));
        let name = |text: &str, bytes_max: usize| {
            (1..=bytes_max).contains(&text.len()) && !text.chars().any(char::is_control)
        };
        if !name(&self.embedder, trefoil_attest::MODEL_BYTES_MAX) {
            return wrong("/policy/embedder", "expected 1 to 64 bytes of text".to_owned());
        }
        if !(1..=AUDIENCES_MAX).contains(&self.audiences.len()) {
            return wrong("/policy/audiences", format!("expected 1 to {AUDIENCES_MAX} audiences"));
        }
        if let Some(i) = self.audiences.iter().position(|a| !name(a, trefoil_attest::NAME_BYTES_MAX)) {
            return wrong(&format!("/policy/audiences/{i}"), "expected 1 to 255 bytes of text".to_owned());
        }
        if !(1..=trefoil_attest::LIFETIME_SECONDS_MAX).contains(&self.attestation_lifetime_s) {
            return wrong("/policy/attestation_lifetime_s", "expected 1 to 120 seconds".to_owned());
        }
        let Some((score, _)) = self.threshold_score() else {
            let known: Vec<String> =
                CALIBRATED.iter().map(|(name, class, _)| format!("{name} {class}")).collect();
            let detail =
                format!("no calibration for this embedder and class; known are {}", known.join(", "));
            return wrong("/policy/threshold", detail);
        };
        if !(-SCORE_MAX..=SCORE_MAX).contains(&score) {
            return wrong(
                "/policy/threshold/calibrated/score",
                format!("expected -{SCORE_MAX} to {SCORE_MAX}"),
            );
        }
        Ok(())
    }

    /// Refuses an audience that attestations are not made for.
    pub fn check_audience(&self, audience: &str) -> Result<(), Problem> {
        if self.audiences.iter().any(|known| known == audience) {
            return Ok(());
        }
        let named: Vec<&str> = self.audiences.iter().take(AUDIENCES_NAMED).map(String::as_str).collect();
        let more = if self.audiences.len() > named.len() { " and others" } else { "" };
        let detail = format!(
            "the tenant's policy allows the audiences {}{more}; use one of them as it is written, or a tenant made for \
             the other one, because a policy cannot be changed",
            named.join(", ")
        );
        Err(Problem::new(Code::AudienceNotAllowed, detail))
    }

    /// What the key-holder decides under. To be called on a checked policy.
    pub fn decision(&self) -> DecisionPolicy {
        let threshold = self.threshold_score().map_or(SCORE_MAX, |(score, _)| score);
        DecisionPolicy { threshold, attempts: self.attempts.into() }
    }

    /// What attestations say.
    pub(super) fn attested(&self) -> trefoil_pipeline::Policy {
        trefoil_pipeline::Policy {
            id: POLICY_ID,
            version: POLICY_VERSION,
            fmr_class: self.threshold_score().map_or(0, |(_, class)| class),
            embedder: self.embedder.clone(),
            level_min: self.level_min,
            attestation_lifetime_s: self.attestation_lifetime_s,
            probe: self.probe.mode(),
        }
    }

    fn threshold_score(&self) -> Option<(i32, u8)> {
        match self.threshold {
            Threshold::Calibrated { score, fmr_class } => Some((score, fmr_class)),
            Threshold::FmrClass(class) => CALIBRATED
                .iter()
                .find(|(name, known, _)| *name == self.embedder && *known == class)
                .map(|(_, class, score)| (*score, *class)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> Policy {
        Policy {
            embedder: "facenet-128".to_owned(),
            threshold: Threshold::FmrClass(3),
            audiences: vec!["shop.example".to_owned()],
            level_min: 0,
            attempts: Attempts::default(),
            attestation_lifetime_s: 120,
            probe: Probe::Plain,
        }
    }

    #[test]
    fn a_policy_out_of_range_is_refused_with_a_pointer() {
        assert_eq!(policy().check(), Ok(()));
        assert_eq!(policy().decision().threshold, 16_046);
        let refused = |policy: Policy, pointer: &str| {
            let problem = policy.check().unwrap_err();
            assert_eq!(problem.code(), Code::FieldInvalid);
            assert!(format!("{problem:?}").contains(pointer), "{problem:?}");
        };
        refused(Policy { embedder: String::new(), ..policy() }, "/policy/embedder");
        refused(Policy { audiences: vec![], ..policy() }, "/policy/audiences");
        refused(
            Policy { audiences: vec!["a".to_owned(), "\n".to_owned()], ..policy() },
            "/policy/audiences/1",
        );
        refused(Policy { attestation_lifetime_s: 121, ..policy() }, "/policy/attestation_lifetime_s");
        refused(Policy { threshold: Threshold::FmrClass(9), ..policy() }, "/policy/threshold");
        let threshold = Threshold::Calibrated { score: 32_769, fmr_class: 3 };
        refused(Policy { threshold, ..policy() }, "/policy/threshold/calibrated/score");
    }

    #[test]
    fn a_policy_in_json_reads_as_documented() {
        let json =
            r#"{"embedder": "facenet-128", "threshold": {"fmr_class": 3}, "audiences": ["shop.example"]}"#;
        assert_eq!(serde_json::from_str::<Policy>(json).unwrap(), policy());
        let json = json.replace(r#"{"fmr_class": 3}"#, r#"{"calibrated": {"score": 16046, "fmr_class": 3}}"#);
        assert_eq!(serde_json::from_str::<Policy>(&json).unwrap().decision(), policy().decision());
    }
}
