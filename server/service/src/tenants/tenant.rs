//! Tenants, their policies, and their API keys.

use crate::limits::ahead::Ahead;
use crate::limits::pace::Room;
use crate::limits::sources::Sources;
use crate::tenants::usage::Uses;
use crate::tenants::verdicts::Verdicts;
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::sync::Arc;
use trefoil_matching::{KeyStructure, PublicKey};
use trefoil_storage::store::wrap::WrapKey;
use trefoil_storage::store::{self, IssuerKey, Root, TenantId};
use trefoil_types::{ApiKeyId, OperatorId};
use zeroize::Zeroizing;

pub mod accounts;
pub mod policy;

use self::accounts::AccountSecret;
pub use policy::POLICY_ID;
pub use trefoil_types::{AttemptPolicy, Policy, ProbeMode, ProofNeed, Scope, Threshold};

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

    /// The scopes in the set.
    pub fn list(self) -> Vec<Scope> {
        Scope::ALL.into_iter().filter(|scope| self.contains(*scope)).collect()
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
    /// Name for operators.
    pub name: String,
    /// Unix seconds.
    pub created_at: u64,
    /// Time since which its API keys are refused, Unix seconds.
    pub disabled_at: Option<u64>,
    /// Policy.
    pub policy: Policy,
    /// Its version, from 1.
    pub policy_version: u32,
    /// Wraps the tenant's templates and sessions.
    pub key: Arc<WrapKey>,
    /// The secret from which the accounts of its subjects are derived, if logins need no proof.
    pub accounts: Arc<AccountSecret>,
    /// Public keys of its templates, oldest first: two while they are rotated.
    pub keys: Vec<PublicKey>,
    /// Accepted credential roots, oldest first.
    pub roots: Vec<Root>,
    /// Keys that were registered for its roots, oldest first; the last one signs.
    pub issuer_keys: Vec<IssuerKey>,
    /// Permits for requests in flight.
    pub in_flight: Arc<Room>,
    /// Its requests that wait because they are dated ahead, the same for all snapshots.
    pub ahead: Arc<Ahead>,
    /// The verdicts of its sessions, the same for all snapshots.
    pub verdicts: Arc<Verdicts>,
    /// The sources of its logins, the same for all snapshots.
    pub sources: Arc<Sources>,
    /// How its logins under this version of the policy ended: those with the policy's model, and with the `previous` one. Of the refusals only those
    /// for too many failing subjects count.
    pub ended: Arc<[Uses; 2]>,
}

impl Tenant {
    /// How its templates are encrypted.
    pub fn structure(&self) -> KeyStructure {
        policy::keys(self.policy.probe)
    }

    /// Whether a login needs a credential proof.
    pub fn needs_proof(&self) -> bool {
        self.policy.proof == ProofNeed::Credential
    }

    /// Whether proofs under the root of this generation are accepted.
    pub(crate) fn accepts(&self, generation: u32) -> bool {
        self.roots.iter().any(|root| root.generation == generation)
    }

    /// Whether the root of this generation is newer than all of these.
    pub(crate) fn is_before(&self, generation: u32) -> bool {
        self.roots.last().is_none_or(|newest| newest.generation < generation)
    }

    /// The pipeline's view.
    pub fn attested(&self) -> trefoil_pipeline::Tenant {
        trefoil_pipeline::Tenant {
            id: self.id,
            keys: self.keys.clone(),
            policy: policy::attested(&self.policy, self.policy_version),
            roots: self.roots.iter().rev().map(|root| (root.generation, root.root)).collect(),
        }
    }
}

/// The secret under which API keys and operators' tokens are hashed, so that those of a stolen database cannot be guessed offline.
#[derive(Clone)]
pub struct Pepper(hmac::Key);

impl Pepper {
    /// The pepper with these bytes.
    pub fn new(bytes: &[u8; 32]) -> Pepper {
        Pepper(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// A fresh API key: its text, shown once, and its record.
    pub(crate) fn new_api_key(
        &self,
        tenant: TenantId,
        scopes: Scopes,
        now: u64,
    ) -> (Zeroizing<String>, store::ApiKey) {
        let (mut id, mut secret) = ([0; 8], Zeroizing::new([0; 32]));
        aws_lc_rs::rand::fill(&mut id).expect("the operating system's random source answers");
        aws_lc_rs::rand::fill(&mut *secret).expect("the operating system's random source answers");
        let text = format!("{API_KEY_PREFIX}{}_{}", hex::encode(id), URL_SAFE_NO_PAD.encode(*secret));
        let tag = hmac::sign(&self.0, &message(&ApiKeyId::new(id), &*secret));
        let tag = tag.as_ref().try_into().expect("HMAC-SHA256 gives 32 bytes");
        let record = store::ApiKey {
            id: ApiKeyId::new(id),
            tenant,
            tag,
            scopes: scopes.bits(),
            created_at: now,
            label: String::new(),
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
        };
        (Zeroizing::new(text), record)
    }

    /// The record of the API key `text`, if there is one. Compares in constant time.
    pub fn find<'a, K: AsRef<store::ApiKey>>(
        &self,
        text: &str,
        by_id: impl FnOnce(&ApiKeyId) -> Option<&'a K>,
    ) -> Option<&'a K> {
        let (id, secret) = text.strip_prefix(API_KEY_PREFIX)?.split_once('_')?;
        let id = id.parse().ok()?;
        let secret = Zeroizing::new(URL_SAFE_NO_PAD.decode(secret).ok()?);
        let record = by_id(&id)?;
        hmac::verify(&self.0, &message(&id, &secret), &record.as_ref().tag).ok()?;
        Some(record)
    }

    /// A fresh token of an operator: its text, shown once, and its record.
    pub(crate) fn new_operator_token(
        &self,
        operator: OperatorId,
        number: u32,
        expires_at: Option<u64>,
        now: u64,
    ) -> (Zeroizing<String>, store::OperatorToken) {
        let mut secret = Zeroizing::new([0; 32]);
        aws_lc_rs::rand::fill(&mut *secret).expect("the operating system's random source answers");
        let encoded = Zeroizing::new(URL_SAFE_NO_PAD.encode(*secret));
        let text = format!("{OPERATOR_TOKEN_PREFIX}{}_{number}_{}", hex::encode(operator), *encoded);
        let name = OperatorTokenName { operator, number, secret: Zeroizing::new(secret.to_vec()) };
        let tag = hmac::sign(&self.0, &name.message());
        let tag = tag.as_ref().try_into().expect("HMAC-SHA256 gives 32 bytes");
        let record =
            store::OperatorToken { operator, number, tag, created_at: now, expires_at, revoked_at: None };
        (Zeroizing::new(text), record)
    }

    /// Whether a token is that of this record. Compares in constant time.
    pub(crate) fn is_operator_token(&self, name: &OperatorTokenName, record: &store::OperatorToken) -> bool {
        hmac::verify(&self.0, &name.message(), &record.tag).is_ok()
    }

    /// A digest that discloses nothing without the pepper, for bodies with biometric data.
    ///
    /// # Panics
    /// Never: HMAC-SHA256 gives 32 bytes.
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

/// The prefix of API keys, which secret scanners recognise.
const API_KEY_PREFIX: &str = "trefoil_";
/// The prefix of operators' tokens. No API key begins so, because an identifier follows its prefix.
const OPERATOR_TOKEN_PREFIX: &str = "trefoil_operator_";

/// The parts of an operator's token.
pub(crate) struct OperatorTokenName {
    /// The operator.
    pub(crate) operator: OperatorId,
    /// Its number.
    pub(crate) number: u32,
    secret: Zeroizing<Vec<u8>>,
}

impl OperatorTokenName {
    /// Reads a token.
    pub(crate) fn of(text: &str) -> Option<OperatorTokenName> {
        let mut parts = text.strip_prefix(OPERATOR_TOKEN_PREFIX)?.splitn(3, '_');
        let operator = parts.next()?.parse().ok()?;
        let number = parts.next()?;
        let secret = Zeroizing::new(URL_SAFE_NO_PAD.decode(parts.next()?).ok()?);
        let name = OperatorTokenName { operator, number: number.parse().ok()?, secret };
        // A token has only one text.
        (name.number.to_string() == number).then_some(name)
    }

    fn message(&self) -> Zeroizing<Vec<u8>> {
        let (domain, number) = (b"trefoil/operator-token/1".as_slice(), self.number.to_le_bytes());
        Zeroizing::new([domain, self.operator.as_bytes(), &number, &self.secret].concat())
    }
}

fn message(id: &ApiKeyId, secret: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new([b"trefoil/api-key/1".as_slice(), id.as_bytes(), secret].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_key_is_found_by_its_whole_text_only() {
        let pepper = Pepper::new(&[1; 32]);
        let (text, record) = pepper.new_api_key(TenantId::new([2; 16]), Scopes::of(&[Scope::Issue]), 3);
        let by_id = |id: &ApiKeyId| (*id == record.id).then_some(&record);
        assert_eq!(pepper.find(&text, by_id), Some(&record));
        assert_eq!(Pepper::new(&[2; 32]).find(&text, by_id), None);
        for at in 0..text.len() {
            let mut other = text.as_bytes().to_vec();
            other[at] = if other[at] == b'x' { b'y' } else { b'x' };
            // The last base64 digit carries two bits that decode to nothing and are refused when set.
            assert_eq!(pepper.find(std::str::from_utf8(&other).unwrap(), by_id), None, "at {at}");
        }
    }
}
