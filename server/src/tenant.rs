//! Tenants, their policies, and the API keys that speak for them.

use crate::problem::{Code, Problem};
use crate::store::{self, IssuerKey, Root, TenantId};
use crate::wrap::WrapKey;
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::sync::Semaphore;
use trefoil_attest::ProbeMode;
use trefoil_matching::{AttemptPolicy, DecisionPolicy, KeyStructure, PublicKey};
use zeroize::Zeroizing;

/// Number of a tenant's only policy so far.
pub const POLICY_ID: u32 = 1;
/// Its version.
pub const POLICY_VERSION: u32 = 1;
/// Audiences of one tenant.
const AUDIENCES_MAX: usize = 256;
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
    /// Failures allowed before a subject is denied whatever the probe.
    #[serde(default)]
    pub attempts: Attempts,
    /// Life of an attestation in seconds, 1 to 120.
    #[serde(default = "attestation_lifetime_default")]
    pub attestation_lifetime_s: u64,
    /// How probes and templates reach the service.
    #[serde(default)]
    pub probe: Probe,
}

/// How the templates of a tenant are encrypted; chosen when it is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keys {
    /// A key for each template: 48 KiB, shredded one by one.
    #[default]
    PerSubject,
    /// One key for all: 96 KiB a template. Shared probes need it.
    PerTenant,
}

/// How probes and templates reach the service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probe {
    /// The service gets the vector, normalises and quantises it, and so knows that it is short.
    #[default]
    Plain,
    /// The device quantises and splits it: a share to the service, a share sealed to the key-holder. Nobody can check that it is
    /// short: about 0.3 of garbage probes match, so this is for devices whose key the tenant trusts.
    Shared,
}

impl Keys {
    /// As the key-holder calls it.
    pub fn structure(self) -> KeyStructure {
        match self {
            Keys::PerSubject => KeyStructure::PerSubject,
            Keys::PerTenant => KeyStructure::PerTenant,
        }
    }
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
pub const CALIBRATED: [(&str, u8, i32); 3] =
    [("facenet-128", 2, 11_781), ("facenet-128", 3, 16_046), ("facenet-128", 4, 21_362)];

/// How many failures a template may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Attempts {
    /// In a row before a delay.
    pub consecutive: u32,
    /// The delay, seconds.
    pub delay_s: u64,
    /// Per day.
    pub per_day: u32,
    /// In the life of a template.
    pub per_generation: u32,
}

impl Default for Attempts {
    fn default() -> Attempts {
        let AttemptPolicy { consecutive, delay_s, per_day, per_generation } = AttemptPolicy::default();
        Attempts { consecutive, delay_s, per_day, per_generation }
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

    /// Refuses a probe mode that the key structure does not have.
    ///
    /// # Errors
    /// What to do instead.
    pub fn check_keys(&self, keys: KeyStructure) -> Result<(), &'static str> {
        if self.probe == Probe::Shared && keys == KeyStructure::PerSubject {
            return Err(
                "shared probes need one key per tenant: make the tenant with \"keys\": \"per-tenant\", or set \
                        \"probe\" to \"plain\"",
            );
        }
        Ok(())
    }

    /// What the key-holder decides under. To be called on a checked policy.
    pub fn decision(&self) -> DecisionPolicy {
        let Attempts { consecutive, delay_s, per_day, per_generation } = self.attempts;
        let threshold = self.threshold_score().map_or(SCORE_MAX, |(score, _)| score);
        DecisionPolicy {
            threshold,
            attempts: AttemptPolicy { consecutive, delay_s, per_day, per_generation },
        }
    }

    /// What attestations say.
    fn attested(&self) -> trefoil_pipeline::Policy {
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

/// One thing that an API key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Create and delete templates.
    Enrol,
    /// Open proof sessions and authenticate.
    Authenticate,
    /// Publish credential roots.
    Issue,
}

/// A set of [`Scope`]s as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scopes(u8);

impl Scopes {
    /// The set of these.
    pub fn of(scopes: &[Scope]) -> Scopes {
        Scopes(scopes.iter().fold(0, |bits, scope| bits | 1 << *scope as u8))
    }

    /// As stored.
    pub fn from_bits(bits: u8) -> Scopes {
        Scopes(bits)
    }

    /// To store.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Whether `scope` is in the set.
    pub fn contains(self, scope: Scope) -> bool {
        self.0 & 1 << scope as u8 != 0
    }
}

/// A tenant in memory: an immutable snapshot, except for the count of requests in flight.
#[derive(Clone)]
pub struct Tenant {
    /// Identifier.
    pub id: TenantId,
    /// Policy.
    pub policy: Policy,
    /// Wraps the tenant's templates and sessions.
    pub key: Arc<WrapKey>,
    /// Public keys of its templates, oldest first: two while they are rotated.
    pub keys: Vec<PublicKey>,
    /// Accepted credential roots, oldest first.
    pub roots: Vec<Root>,
    /// Keys that were registered for its roots, oldest first; the last one signs.
    pub issuer_keys: Vec<IssuerKey>,
    /// Permits for requests in flight.
    pub in_flight: Arc<Semaphore>,
}

impl Tenant {
    /// The key structure.
    pub fn structure(&self) -> KeyStructure {
        self.keys.first().map_or(KeyStructure::PerSubject, PublicKey::structure)
    }

    /// The same, as the API calls it.
    pub fn keys_of(&self) -> Keys {
        match self.structure() {
            KeyStructure::PerSubject => Keys::PerSubject,
            KeyStructure::PerTenant => Keys::PerTenant,
        }
    }

    /// The pipeline's view.
    pub fn attested(&self) -> trefoil_pipeline::Tenant {
        trefoil_pipeline::Tenant {
            id: self.id,
            keys: self.keys.clone(),
            policy: self.policy.attested(),
            roots: self.roots.iter().rev().map(|root| (root.generation, root.root)).collect(),
        }
    }
}

/// The secret that API keys are hashed with, so that a stolen database holds none that can be tried offline.
pub struct Pepper(hmac::Key);

impl Pepper {
    /// The pepper with these bytes.
    pub fn new(bytes: &[u8; 32]) -> Pepper {
        Pepper(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// A fresh API key: its text, shown once, and its record.
    pub fn new_api_key(
        &self,
        tenant: TenantId,
        scopes: Scopes,
        now: u64,
    ) -> (Zeroizing<String>, store::ApiKey) {
        let (mut id, mut secret) = ([0; 8], Zeroizing::new([0; 32]));
        aws_lc_rs::rand::fill(&mut id).expect("the operating system's random source answers");
        aws_lc_rs::rand::fill(&mut *secret).expect("the operating system's random source answers");
        let text = format!("{API_KEY_PREFIX}{}_{}", hex::encode(id), URL_SAFE_NO_PAD.encode(*secret));
        let tag = hmac::sign(&self.0, &message(&id, &*secret));
        let tag = tag.as_ref().try_into().expect("HMAC-SHA256 gives 32 bytes");
        (Zeroizing::new(text), store::ApiKey { id, tenant, tag, scopes: scopes.bits(), created_at: now })
    }

    /// The record that `text` is the key of, if any. Compares in constant time.
    pub fn find<'a>(
        &self,
        text: &str,
        by_id: impl FnOnce(&[u8; 8]) -> Option<&'a store::ApiKey>,
    ) -> Option<&'a store::ApiKey> {
        let (id, secret) = text.strip_prefix(API_KEY_PREFIX)?.split_once('_')?;
        let id = crate::wire::Hex::<8>::parse(id)?.0;
        let secret = Zeroizing::new(URL_SAFE_NO_PAD.decode(secret).ok()?);
        let record = by_id(&id)?;
        hmac::verify(&self.0, &message(&id, &secret), &record.tag).ok()?;
        Some(record)
    }

    /// A digest that says nothing without the pepper: for bodies that hold biometric data.
    pub fn digest(&self, domain: &[u8], parts: &[&[u8]]) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(domain);
        for part in parts {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(part);
        }
        context.sign().as_ref().try_into().expect("HMAC-SHA256 gives 32 bytes")
    }
}

/// Recognised by secret scanners.
const API_KEY_PREFIX: &str = "trefoil_";

fn message(id: &[u8; 8], secret: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new([b"trefoil/api-key/1".as_slice(), id, secret].concat())
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
    fn an_api_key_is_found_by_its_whole_text_only() {
        let pepper = Pepper::new(&[1; 32]);
        let (text, record) = pepper.new_api_key([2; 16], Scopes::of(&[Scope::Issue]), 3);
        let by_id = |id: &[u8; 8]| (*id == record.id).then_some(&record);
        assert_eq!(pepper.find(&text, by_id), Some(&record));
        assert_eq!(Pepper::new(&[2; 32]).find(&text, by_id), None);
        for at in 0..text.len() {
            let mut other = text.as_bytes().to_vec();
            other[at] = if other[at] == b'x' { b'y' } else { b'x' };
            // The last base64 digit carries two bits that decode to nothing and are refused when set.
            assert_eq!(pepper.find(std::str::from_utf8(&other).unwrap(), by_id), None, "at {at}");
        }
    }

    #[test]
    fn scopes_are_a_set() {
        let scopes = Scopes::of(&[Scope::Enrol, Scope::Issue]);
        assert!(scopes.contains(Scope::Enrol) && scopes.contains(Scope::Issue));
        assert!(!scopes.contains(Scope::Authenticate));
        assert_eq!(Scopes::from_bits(scopes.bits()), scopes);
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
        let shared = Policy { probe: Probe::Shared, ..policy() };
        assert!(shared.check_keys(KeyStructure::PerSubject).unwrap_err().contains("per-tenant"));
        assert_eq!(shared.check_keys(KeyStructure::PerTenant), Ok(()));
        assert_eq!(policy().check_keys(KeyStructure::PerSubject), Ok(()));
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
