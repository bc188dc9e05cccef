//! What a tenant's requests are decided under.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use trefoil_attest::{LIFETIME_SECONDS_MAX, MODEL_BYTES_MAX, NAME_BYTES_MAX, ProbeMode};

/// Audiences of one tenant.
const AUDIENCES_MAX: usize = 256;
/// Verdicts of one tenant in memory that any service allows, 2 GB. A service has its own maximum, `proofs.sessions_in_memory_max`.
pub const SESSIONS_IN_MEMORY_MAX: u32 = 10_000_000;
/// Longest delay after failures: a year. A store counts seconds in 63 bits, so some bound there is.
const DELAY_S_MAX: u64 = 31_536_000;
/// Largest possible score of two unit vectors at scale 175.
pub const SCORE_MAX: i32 = 32_768;

/// What a tenant's requests are decided under, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Embedding model whose vectors are compared, 1 to 64 bytes.
    #[cfg_attr(feature = "openapi", schemars(with = "crate::schema::Text<64>"))]
    pub embedder: String,
    /// When two vectors match.
    pub threshold: Threshold,
    /// Relying parties that attestations may be made for.
    #[cfg_attr(
        feature = "openapi",
        schemars(with = "Vec<crate::schema::Text<255>>", length(min = 1, max = 256))
    )]
    pub audiences: Vec<String>,
    /// Whether a login needs a credential proof.
    #[serde(default, skip_serializing_if = "ProofNeed::is_credential")]
    pub proof: ProofNeed,
    /// Lowest credential level that a session must prove; 0 where no proof is needed.
    #[serde(default)]
    pub level_min: u8,
    /// Attempts allowed before a subject is denied whatever the probe.
    #[serde(default)]
    pub attempts: Attempts,
    /// Life of an attestation in seconds, 1 to 120.
    #[serde(default = "attestation_lifetime_default")]
    #[cfg_attr(feature = "openapi", schemars(range(min = 1, max = 120)))]
    pub attestation_lifetime_s: u64,
    /// How probes and templates reach the service.
    #[serde(default)]
    pub probe: Probe,
    /// Verdicts of this tenant's sessions held in memory, about 200 bytes each, in a partition that no other tenant uses; 1 to
    /// 10,000,000. Without it as many as the service is configured for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(range(min = 1, max = 10_000_000)))]
    pub sessions_in_memory: Option<u32>,
}

/// Whether a login needs a credential proof; for good, because a handle that comes from a credential must not be reachable without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProofNeed {
    /// Yes: each login is in a proof session, and the holder's key signs it.
    #[default]
    Credential,
    /// No: the API key alone vouches for a login, and each attestation says that there is no proof. For tenants without credentials. The
    /// tenant chooses its subjects' handles.
    None,
}

impl ProofNeed {
    /// A policy that says nothing else is written as it was before there was another: its digest stays the same.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_credential(&self) -> bool {
        *self == ProofNeed::Credential
    }
}

/// How probes and templates reach the service, and with that how templates are encrypted; for good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Threshold {
    /// The score calibrated for the policy's embedder, see [`CALIBRATED`].
    FmrClass(#[cfg_attr(feature = "openapi", schemars(range(min = 2, max = 4)))] u8),
    /// A score of the operator's own calibration.
    Calibrated {
        /// Smallest inner product that matches, at scale 175 (unit vectors have 30,625).
        #[cfg_attr(feature = "openapi", schemars(range(min = -32_768, max = 32_768)))]
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
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Attempts {
    /// Failures in a row before a delay.
    pub consecutive: u32,
    /// The delay, seconds.
    #[cfg_attr(feature = "openapi", schemars(range(max = 31_536_000)))]
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

impl Attempts {
    /// No limit at all: for demonstrations and benchmarks, where it must not bind.
    pub const UNLIMITED: Attempts = Attempts {
        consecutive: u32::MAX,
        delay_s: 0,
        failures_per_day: u32::MAX,
        failures_per_generation: u32::MAX,
        attempts_per_day: u32::MAX,
        attempts_per_generation: u32::MAX,
    };
}

impl Default for Attempts {
    /// 5 failures in a row, then 30 s; 20 failures and 200 attempts a day; 100 failures and 2,000 attempts per template.
    fn default() -> Attempts {
        Attempts {
            consecutive: 5,
            delay_s: 30,
            failures_per_day: 20,
            failures_per_generation: 100,
            attempts_per_day: 200,
            attempts_per_generation: 2_000,
        }
    }
}

fn attestation_lifetime_default() -> u64 {
    LIFETIME_SECONDS_MAX
}

/// A field of a policy that is out of its range.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{detail}")]
pub struct OutOfRange {
    /// Where it is in the policy, as a JSON pointer.
    pub pointer: String,
    /// What was expected.
    pub detail: String,
}

impl Policy {
    /// Checks what a type cannot say.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let wrong = |pointer: &str, detail: String| Err(OutOfRange { pointer: pointer.to_owned(), detail });
        let name = |text: &str, bytes_max: usize| {
            (1..=bytes_max).contains(&text.len()) && !text.chars().any(char::is_control)
        };
        if !name(&self.embedder, MODEL_BYTES_MAX) {
            return wrong("/embedder", "expected 1 to 64 bytes of text".to_owned());
        }
        if !(1..=AUDIENCES_MAX).contains(&self.audiences.len()) {
            return wrong("/audiences", format!("expected 1 to {AUDIENCES_MAX} audiences"));
        }
        if let Some(i) = self.audiences.iter().position(|a| !name(a, NAME_BYTES_MAX)) {
            return wrong(&format!("/audiences/{i}"), "expected 1 to 255 bytes of text".to_owned());
        }
        if !(1..=LIFETIME_SECONDS_MAX).contains(&self.attestation_lifetime_s) {
            return wrong("/attestation_lifetime_s", "expected 1 to 120 seconds".to_owned());
        }
        self.check_proof()?;
        if self.sessions_in_memory.is_some_and(|quota| !(1..=SESSIONS_IN_MEMORY_MAX).contains(&quota)) {
            return wrong("/sessions_in_memory", format!("expected 1 to {SESSIONS_IN_MEMORY_MAX}"));
        }
        if self.attempts.delay_s > DELAY_S_MAX {
            return wrong("/attempts/delay_s", format!("expected 0 to {DELAY_S_MAX} seconds"));
        }
        let Some((score, _)) = self.threshold_score() else {
            let known: Vec<String> =
                CALIBRATED.iter().map(|(name, class, _)| format!("{name} {class}")).collect();
            let detail =
                format!("no calibration for this embedder and class; known are {}", known.join(", "));
            return wrong("/threshold", detail);
        };
        if !(-SCORE_MAX..=SCORE_MAX).contains(&score) {
            return wrong("/threshold/calibrated/score", format!("expected -{SCORE_MAX} to {SCORE_MAX}"));
        }
        Ok(())
    }

    /// Without proofs there is nothing that needs a session.
    fn check_proof(&self) -> Result<(), OutOfRange> {
        let Policy { proof, level_min, probe, sessions_in_memory, .. } = self;
        if *proof == ProofNeed::Credential {
            return Ok(());
        }
        let needless = |pointer: &str, detail: &str| {
            Err(OutOfRange { pointer: pointer.to_owned(), detail: detail.to_owned() })
        };
        if *level_min != 0 {
            return needless(
                "/level_min",
                "expected 0 with `\"proof\": \"none\"`: without a credential there is no level",
            );
        }
        if sessions_in_memory.is_some() {
            return needless(
                "/sessions_in_memory",
                "expected none with `\"proof\": \"none\"`: without a proof there is no session; leave it out",
            );
        }
        if *probe == Probe::Shared {
            return needless(
                "/probe",
                "expected `plain` with `\"proof\": \"none\"`: a device seals its share of a face for a proof session, and there is none",
            );
        }
        Ok(())
    }

    /// The smallest score that matches, and k of its false-match rate 10^-k; nothing where there is no calibration.
    pub fn threshold_score(&self) -> Option<(i32, u8)> {
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
            proof: ProofNeed::Credential,
            level_min: 0,
            attempts: Attempts::default(),
            attestation_lifetime_s: 120,
            probe: Probe::Plain,
            sessions_in_memory: None,
        }
    }

    #[test]
    fn a_policy_out_of_range_is_refused_with_a_pointer() {
        assert_eq!(policy().check(), Ok(()));
        assert_eq!(policy().threshold_score(), Some((16_046, 3)));
        let refused = |policy: Policy, pointer: &str| {
            assert_eq!(policy.check().unwrap_err().pointer, pointer);
        };
        refused(Policy { embedder: String::new(), ..policy() }, "/embedder");
        refused(Policy { audiences: vec![], ..policy() }, "/audiences");
        refused(Policy { audiences: vec!["a".to_owned(), "\n".to_owned()], ..policy() }, "/audiences/1");
        refused(Policy { attestation_lifetime_s: 121, ..policy() }, "/attestation_lifetime_s");
        refused(Policy { threshold: Threshold::FmrClass(9), ..policy() }, "/threshold");
        refused(Policy { sessions_in_memory: Some(0), ..policy() }, "/sessions_in_memory");
        refused(Policy { sessions_in_memory: Some(10_000_001), ..policy() }, "/sessions_in_memory");
        let threshold = Threshold::Calibrated { score: 32_769, fmr_class: 3 };
        refused(Policy { threshold, ..policy() }, "/threshold/calibrated/score");
    }

    #[test]
    fn a_policy_without_proofs_has_nothing_of_sessions_and_one_with_them_is_written_as_before() {
        let none = Policy { proof: ProofNeed::None, ..policy() };
        assert_eq!(none.check(), Ok(()));
        for (policy, pointer) in [
            (Policy { level_min: 1, ..none.clone() }, "/level_min"),
            (Policy { sessions_in_memory: Some(1), ..none.clone() }, "/sessions_in_memory"),
            (Policy { probe: Probe::Shared, ..none.clone() }, "/probe"),
        ] {
            assert_eq!(policy.check().unwrap_err().pointer, pointer);
        }
        assert!(serde_json::to_string(&none).unwrap().contains(r#""proof":"none""#));
        assert!(!serde_json::to_string(&policy()).unwrap().contains("proof"));
    }

    #[test]
    fn a_policy_in_json_reads_as_documented() {
        let json =
            r#"{"embedder": "facenet-128", "threshold": {"fmr_class": 3}, "audiences": ["shop.example"]}"#;
        assert_eq!(serde_json::from_str::<Policy>(json).unwrap(), policy());
        let json = json.replace(r#"{"fmr_class": 3}"#, r#"{"calibrated": {"score": 16046, "fmr_class": 3}}"#);
        assert_eq!(
            serde_json::from_str::<Policy>(&json).unwrap().threshold_score(),
            policy().threshold_score()
        );
    }
}
