//! The policy that decides a tenant's requests.

use crate::calibration::{Calibrated, calibrated, known};
use crate::{NUMBERS_MAX, NUMBERS_MIN, ProbeMode, Width};
use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Longest issuer and audience, in bytes: the length of a DNS name.
pub const NAME_BYTES_MAX: usize = 255;
/// Longest embedder and quantiser name, in bytes.
pub const MODEL_BYTES_MAX: usize = 64;
/// Longest lifetime of a statement: an attestation is for immediate use and no bearer credential.
pub const LIFETIME_SECONDS_MAX: u64 = 120;
/// Most audiences of one tenant.
const AUDIENCES_MAX: usize = 256;
/// Most verdicts of one tenant in memory that any service allows, some 2.6 GB. A service has its own maximum, `proofs.sessions_in_memory_max`.
pub const SESSIONS_IN_MEMORY_MAX: u32 = 10_000_000;
/// Longest delay after failures: a year. A store counts seconds in 63 bits, so there must be a bound.
const DELAY_S_MAX: u64 = 31_536_000;
/// Largest possible score of two vectors of any width.
pub const SCORE_MAX: i32 = 32_768;

/// The policy that decides a tenant's requests, as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Policy {
    /// Embedding model whose vectors are compared, 1 to 64 bytes. `threshold` has classes for `facenet-128` and `arcface-512`; another one
    /// needs a score.
    // Absent it is empty, which `check` refuses with the models that are known.
    #[cfg_attr(feature = "serde", serde(default))]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Text<64>", !default))]
    pub embedder: String,
    /// Numbers in its vectors, 2 to 512.
    #[cfg_attr(
        feature = "serde",
        serde(default = "dimension_default", skip_serializing_if = "is_default_dimension")
    )]
    #[cfg_attr(feature = "schema", schemars(range(min = 2, max = 512)))]
    pub dimension: u32,
    /// When two vectors match.
    pub threshold: Threshold,
    /// The model of people who were enrolled before and still log in with it, while they are enrolled anew. It can go when nobody is left.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub previous: Option<PreviousModel>,
    /// Relying parties for which attestations may be made.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Vec<crate::schema::Text<255>>", length(min = 1, max = 256))
    )]
    pub audiences: Vec<String>,
    /// Whether a login needs a credential proof.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "ProofNeed::is_credential"))]
    pub proof: ProofNeed,
    /// Lowest credential level that a session must prove; 0 if no proof is needed.
    #[cfg_attr(feature = "serde", serde(default))]
    pub level_min: u8,
    /// Attempts allowed before a subject is denied whatever the probe.
    #[cfg_attr(feature = "serde", serde(default))]
    pub attempts: AttemptPolicy,
    /// Lifetime of an attestation in seconds, 1 to 120.
    #[cfg_attr(feature = "serde", serde(default = "attestation_lifetime_default"))]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 120)))]
    pub attestation_lifetime_s: u64,
    /// How probes and templates reach the service.
    #[cfg_attr(feature = "serde", serde(default))]
    pub probe: ProbeMode,
    /// Most verdicts of this tenant's sessions in memory, 256 bytes each, in a partition that no other tenant uses; 1 to
    /// 10,000,000. Absent: the service's default.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 10_000_000)))]
    pub sessions_in_memory: Option<u32>,
}

/// A model that new templates are no longer of; its fields are those of [`Policy`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct PreviousModel {
    /// See [`Policy::embedder`].
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Text<64>"))]
    pub embedder: String,
    /// See [`Policy::dimension`].
    #[cfg_attr(feature = "serde", serde(default = "dimension_default"))]
    #[cfg_attr(feature = "schema", schemars(range(min = 2, max = 512)))]
    pub dimension: u32,
    /// See [`Policy::threshold`].
    pub threshold: Threshold,
}

/// Whether a login needs a credential proof. It cannot change, because a handle from a credential must not be reachable without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum ProofNeed {
    /// Yes: each login is in a proof session, and the holder's key signs it.
    #[default]
    Credential,
    /// No: only the API key authenticates a login, and each attestation says that there is no proof. For tenants without credentials. The
    /// tenant chooses its subjects' handles.
    None,
}

impl ProofNeed {
    /// The default is not written, so that a policy has one digest whether it names it or not.
    #[cfg(feature = "serde")]
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_credential(&self) -> bool {
        *self == ProofNeed::Credential
    }
}

/// A false-match class, or a score that the operator has calibrated to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
pub enum Threshold {
    /// The score calibrated for the policy's embedder.
    FmrClass(#[cfg_attr(feature = "schema", schemars(range(min = 2, max = 4)))] u8),
    /// A score of the operator's own calibration.
    Calibrated {
        /// Smallest inner product that matches, of unit vectors times 175, 173 from 129 numbers on, 169 from 257 on.
        #[cfg_attr(feature = "schema", schemars(range(min = -32_768, max = 32_768)))]
        score: i32,
        /// k of the false-match rate 10^-k that it was calibrated to; copied into attestations.
        fmr_class: u8,
    },
}

impl Threshold {
    /// The false-match class where a command, a client or a sample names none. Under the default budgets a caller that tries faces of
    /// strangers finds at class 3 some account that accepts one, and can then read its template; at class 4 it found none.
    pub const DEFAULT_CLASS: u8 = 4;

    /// The smallest score that matches, and k of its false-match rate 10^-k; `None` without a calibration for this embedder.
    pub fn score(self, embedder: &str, dimension: u32) -> Option<(i32, u8)> {
        match self {
            Threshold::Calibrated { score, fmr_class } => Some((score, fmr_class)),
            Threshold::FmrClass(class) => {
                let Calibrated { score, .. } = calibrated(embedder, dimension, class)?;
                Some((*score, class))
            }
        }
    }

    /// The share of the right people that it refuses; `None` if that is not known for this embedder, as of an operator's own score.
    pub fn refuses(self, embedder: &str, dimension: u32) -> Option<f64> {
        match self {
            Threshold::Calibrated { .. } => None,
            Threshold::FmrClass(class) => calibrated(embedder, dimension, class).map(|known| known.refuses),
        }
    }
}

/// How often a template may be tried before it answers only "no". These limits bound how much a malicious service can learn about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct AttemptPolicy {
    /// Failures in a row before a delay.
    pub consecutive: u32,
    /// The delay, in seconds.
    #[cfg_attr(feature = "schema", schemars(range(max = 31_536_000)))]
    pub delay_s: u64,
    /// Failures per day (UTC).
    pub failures_per_day: u32,
    /// Failures in the lifetime of a template, after which the subject enrols again.
    pub failures_per_generation: u32,
    /// Attempts per day (UTC), matches included.
    pub attempts_per_day: u32,
    /// Attempts in the lifetime of a template, matches included.
    pub attempts_per_generation: u32,
}

impl AttemptPolicy {
    /// No limit at all: for demonstrations and benchmarks, where the budget must not apply.
    pub const UNLIMITED: AttemptPolicy = AttemptPolicy {
        consecutive: u32::MAX,
        delay_s: 0,
        failures_per_day: u32::MAX,
        failures_per_generation: u32::MAX,
        attempts_per_day: u32::MAX,
        attempts_per_generation: u32::MAX,
    };
}

impl Default for AttemptPolicy {
    /// 5 failures in a row, then 30 s; 20 failures and 200 attempts a day; 100 failures and 2,000 attempts per template,
    /// which tell at most 586 bits about one that has up to 768.
    fn default() -> AttemptPolicy {
        AttemptPolicy {
            consecutive: 5,
            delay_s: 30,
            failures_per_day: 20,
            failures_per_generation: 100,
            attempts_per_day: 200,
            attempts_per_generation: 2_000,
        }
    }
}

#[cfg(feature = "serde")]
fn dimension_default() -> u32 {
    Width::W128.numbers() as u32
}

/// The default is not written, so that a policy has one digest whether it names it or not.
#[cfg(feature = "serde")]
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_default_dimension(dimension: &u32) -> bool {
    *dimension == dimension_default()
}

#[cfg(feature = "serde")]
fn attestation_lifetime_default() -> u64 {
    LIFETIME_SECONDS_MAX
}

/// Of a name.
const ONE_LINE: &str = "without line breaks and other control characters";

/// A field of a policy that is out of its range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct OutOfRange {
    /// Where it is in the policy, as a JSON pointer.
    pub pointer: String,
    /// What was expected.
    pub detail: String,
}

impl Policy {
    /// Checks the ranges that the types do not enforce.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let wrong = |pointer: &str, detail: String| Err(OutOfRange { pointer: pointer.to_owned(), detail });
        let name = |text: &str, bytes_max: usize| {
            (1..=bytes_max).contains(&text.len()) && !text.chars().any(char::is_control)
        };
        for (at, embedder, dimension, threshold) in self.models() {
            if embedder.is_empty() {
                let detail = format!("name the model that makes the vectors; {}", known());
                return wrong(&format!("{at}/embedder"), detail);
            }
            if !name(embedder, MODEL_BYTES_MAX) {
                return wrong(
                    &format!("{at}/embedder"),
                    format!("expected 1 to 64 bytes of text, {ONE_LINE}"),
                );
            }
            if Width::of(dimension as usize).is_none() {
                let detail = format!("expected {NUMBERS_MIN} to {NUMBERS_MAX} numbers, got {dimension}");
                return wrong(&format!("{at}/dimension"), detail);
            }
            match threshold.score(embedder, dimension) {
                None => {
                    let detail =
                        format!("no calibration for this embedder, dimension and class; {}", known());
                    return wrong(&format!("{at}/threshold"), detail);
                }
                Some((score, _)) if !(-SCORE_MAX..=SCORE_MAX).contains(&score) => {
                    let detail = format!("expected -{SCORE_MAX} to {SCORE_MAX}");
                    return wrong(&format!("{at}/threshold/calibrated/score"), detail);
                }
                Some(_) => {}
            }
        }
        if self
            .previous
            .as_ref()
            .is_some_and(|p| (&p.embedder, p.dimension) == (&self.embedder, self.dimension))
        {
            return wrong("/previous", "expected another model than the present one".to_owned());
        }
        if !(1..=AUDIENCES_MAX).contains(&self.audiences.len()) {
            return wrong("/audiences", format!("expected 1 to {AUDIENCES_MAX} audiences"));
        }
        if let Some(i) = self.audiences.iter().position(|a| !name(a, NAME_BYTES_MAX)) {
            return wrong(&format!("/audiences/{i}"), format!("expected 1 to 255 bytes of text, {ONE_LINE}"));
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
        Ok(())
    }

    /// Without proofs there are no sessions, so their fields are refused.
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
        if *probe == ProbeMode::Shared {
            return needless(
                "/probe",
                "expected `plain` with `\"proof\": \"none\"`: a device seals its share of a face for a proof session, and there is none",
            );
        }
        Ok(())
    }

    /// Each model: where it is in the policy, its name, dimension and threshold. That of new templates is first.
    pub fn models(&self) -> impl Iterator<Item = (&'static str, &str, u32, Threshold)> {
        let previous = self.previous.as_ref();
        let previous = previous.map(|p| ("/previous", p.embedder.as_str(), p.dimension, p.threshold));
        [("", self.embedder.as_str(), self.dimension, self.threshold)].into_iter().chain(previous)
    }

    /// The smallest score that matches, and k of its false-match rate 10^-k; `None` without a calibration.
    pub fn threshold_score(&self) -> Option<(i32, u8)> {
        self.threshold.score(&self.embedder, self.dimension)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn policy() -> Policy {
        Policy {
            embedder: "facenet-128".to_owned(),
            dimension: 128,
            previous: None,
            threshold: Threshold::FmrClass(3),
            audiences: vec!["shop.example".to_owned()],
            proof: ProofNeed::Credential,
            level_min: 0,
            attempts: AttemptPolicy::default(),
            attestation_lifetime_s: 120,
            probe: ProbeMode::Plain,
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
        refused(Policy { embedder: "two\nlines".to_owned(), ..policy() }, "/embedder");
        for (embedder, pointer) in [("", "/embedder"), ("arcface-128", "/threshold")] {
            let wrong = Policy { embedder: embedder.to_owned(), ..policy() }.check().unwrap_err();
            assert_eq!(wrong.pointer, pointer);
            for words in
                ["known are facenet-128 (LFW) 2, facenet-128 (LFW) 3,", "\"calibrated\"", "--score S"]
            {
                assert!(wrong.detail.contains(words), "{words}: {wrong}");
            }
        }
        assert_eq!(Threshold::FmrClass(3).refuses("arcface-128", 128), None);
        assert_eq!(Threshold::Calibrated { score: 16_046, fmr_class: 3 }.refuses("facenet-128", 128), None);
        for dimension in [0, 1, 513] {
            refused(Policy { dimension, ..policy() }, "/dimension");
        }
        refused(Policy { audiences: vec![], ..policy() }, "/audiences");
        refused(Policy { audiences: vec!["a".to_owned(), "\n".to_owned()], ..policy() }, "/audiences/1");
        refused(Policy { attestation_lifetime_s: 121, ..policy() }, "/attestation_lifetime_s");
        refused(Policy { threshold: Threshold::FmrClass(9), ..policy() }, "/threshold");
        refused(Policy { sessions_in_memory: Some(0), ..policy() }, "/sessions_in_memory");
        refused(Policy { sessions_in_memory: Some(10_000_001), ..policy() }, "/sessions_in_memory");
        let threshold = Threshold::Calibrated { score: 32_769, fmr_class: 3 };
        refused(Policy { threshold, ..policy() }, "/threshold/calibrated/score");
    }

    #[cfg(feature = "serde")]
    #[test]
    fn a_policy_without_proofs_has_nothing_of_sessions_and_one_with_them_is_written_as_before() {
        let none = Policy { proof: ProofNeed::None, ..policy() };
        assert_eq!(none.check(), Ok(()));
        for (policy, pointer) in [
            (Policy { level_min: 1, ..none.clone() }, "/level_min"),
            (Policy { sessions_in_memory: Some(1), ..none.clone() }, "/sessions_in_memory"),
            (Policy { probe: ProbeMode::Shared, ..none.clone() }, "/probe"),
        ] {
            assert_eq!(policy.check().unwrap_err().pointer, pointer);
        }
        assert!(serde_json::to_string(&none).unwrap().contains(r#""proof":"none""#));
        assert!(!serde_json::to_string(&policy()).unwrap().contains("proof"));
    }

    #[cfg(feature = "serde")]
    #[test]
    fn a_policy_in_json_reads_as_documented() {
        let json =
            r#"{"embedder": "facenet-128", "threshold": {"fmr_class": 3}, "audiences": ["shop.example"]}"#;
        assert_eq!(serde_json::from_str::<Policy>(json).unwrap(), policy());
        let stated = json.replacen('{', r#"{"dimension": 128, "#, 1);
        assert_eq!(serde_json::from_str::<Policy>(&stated).unwrap(), policy());
        assert!(!serde_json::to_string(&policy()).unwrap().contains("dimension"), "its digest is as before");
        let json = json.replace(r#"{"fmr_class": 3}"#, r#"{"calibrated": {"score": 16046, "fmr_class": 3}}"#);
        assert_eq!(
            serde_json::from_str::<Policy>(&json).unwrap().threshold_score(),
            policy().threshold_score()
        );
    }
}
