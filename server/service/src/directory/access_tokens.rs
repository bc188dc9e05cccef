//! Access tokens, for which an API key is exchanged (RFC 6749 section 4.4), so that the credential in each request is short-lived.
//!
//! A token has the id of its API key, its scopes and its expiry, under a MAC whose key this process draws and does not store. So no stolen file
//! allows forging one, a restart ends all of them, and a check costs one HMAC, like that of an API key. The nodes of a fleet take each other's tokens:
//! there the key is derived from the secret under which API keys are hashed. The API key is checked at each request: once it is revoked, or its
//! tenant disabled, its tokens are refused.

use crate::tenant::{API_KEY_PREFIX, Pepper, Scopes};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use trefoil_types::ApiKeyId;
use zeroize::Zeroizing;

/// How long an access token lasts, seconds.
pub const ACCESS_TOKEN_LIFE_S: u64 = 600;

/// Follows the prefix of API keys. An API key has its identifier there, so no API key begins so.
const KIND: &str = "access_";
/// Identifier of the API key, end, scopes.
const CLAIM: usize = 8 + 8 + 1;
const TOKEN: usize = CLAIM + 32;

/// A new access token. Its text exists only here.
pub struct AccessToken {
    /// The token.
    pub text: Zeroizing<String>,
    /// Its scopes.
    pub scopes: Scopes,
    /// For how long it is valid, seconds.
    pub life_s: u64,
}

/// Makes and checks tokens of this process or fleet.
pub(super) struct AccessTokens(hmac::Key);

/// The contents of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) key: ApiKeyId,
    pub(super) scopes: Scopes,
    /// Unix seconds from which on it is refused.
    pub(super) until: u64,
}

impl AccessTokens {
    /// Begins with a fresh key.
    pub(super) fn new() -> AccessTokens {
        let mut key = Zeroizing::new([0; 32]);
        aws_lc_rs::rand::fill(&mut *key).expect("the operating system's random source answers");
        AccessTokens(hmac::Key::new(hmac::HMAC_SHA256, &*key))
    }

    /// With the key of all nodes that have this secret.
    pub(super) fn shared(pepper: &Pepper) -> AccessTokens {
        let key = Zeroizing::new(pepper.digest(b"trefoil/access-tokens/1", &[]));
        AccessTokens(hmac::Key::new(hmac::HMAC_SHA256, &*key))
    }

    pub(super) fn issue(&self, claim: &Claim) -> Zeroizing<String> {
        let mut bytes = Zeroizing::new([0; TOKEN]);
        bytes[..CLAIM].copy_from_slice(&claim.encode());
        let tag = hmac::sign(&self.0, &message(&claim.encode()));
        bytes[CLAIM..].copy_from_slice(tag.as_ref());
        let encoded = Zeroizing::new(URL_SAFE_NO_PAD.encode(*bytes));
        Zeroizing::new(format!("{API_KEY_PREFIX}{KIND}{}", *encoded))
    }

    /// The contents of a token of this process that has not expired. Compares in constant time.
    pub(super) fn read(&self, text: &str, now: u64) -> Option<Claim> {
        let encoded = text.strip_prefix(API_KEY_PREFIX)?.strip_prefix(KIND)?;
        let bytes = Zeroizing::new(URL_SAFE_NO_PAD.decode(encoded).ok()?);
        let (claim, tag) = bytes.split_first_chunk::<CLAIM>()?;
        hmac::verify(&self.0, &message(claim), tag).ok()?;
        let claim = Claim::decode(claim);
        (now < claim.until).then_some(claim)
    }
}

impl Claim {
    fn encode(&self) -> [u8; CLAIM] {
        let mut bytes = [0; CLAIM];
        bytes[..8].copy_from_slice(self.key.as_bytes());
        bytes[8..16].copy_from_slice(&self.until.to_le_bytes());
        bytes[16] = self.scopes.bits();
        bytes
    }

    fn decode(bytes: &[u8; CLAIM]) -> Claim {
        let (mut key, mut until) = ([0; 8], [0; 8]);
        key.copy_from_slice(&bytes[..8]);
        until.copy_from_slice(&bytes[8..16]);
        let (key, until) = (ApiKeyId::new(key), u64::from_le_bytes(until));
        Claim { key, scopes: Scopes::from_bits(bytes[16]), until }
    }
}

fn message(claim: &[u8; CLAIM]) -> Vec<u8> {
    [b"trefoil/access-token/1".as_slice(), claim].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenant::Scope;

    const CLAIMED: Claim = Claim { key: ApiKeyId::new([3; 8]), scopes: Scopes::NONE, until: 100 };

    #[test]
    fn a_token_is_read_until_its_end_by_the_process_that_made_it_and_under_its_whole_text_only() {
        let tokens = AccessTokens::new();
        let claim = Claim { scopes: Scopes::of(&[Scope::Enrol]), ..CLAIMED };
        let text = tokens.issue(&claim);
        assert_eq!(tokens.read(&text, 99), Some(claim));
        assert_eq!(tokens.read(&text, 100), None, "it is over");
        assert_eq!(AccessTokens::new().read(&text, 99), None, "another process");
        for at in 0..text.len() {
            let mut other = text.as_bytes().to_vec();
            other[at] = if other[at] == b'x' { b'y' } else { b'x' };
            assert_eq!(tokens.read(std::str::from_utf8(&other).unwrap(), 99), None, "at {at}");
            assert_eq!(tokens.read(&text[..at], 99), None, "cut at {at}");
        }
        assert_eq!(tokens.read(&format!("{}A", *text), 99), None);
    }
}
