//! The signing keys as a JSON Web Key Set (RFC 7517), for tools that read no trust root.
//!
//! A JWK has no place for a version, a cosignature or a status, so this set proves less than a trust root does: whoever
//! verifies attestations pins a trust root. Revoked keys are left out, because a reader of JWKS would trust them. Falcon-512
//! of round 3 has no name in JOSE, where `FN-DSA-512` is another algorithm, so those keys are in the trust root alone.

use crate::app::App;
use crate::problem::Problem;
use aws_lc_rs::digest;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use std::sync::Arc;
use trefoil_attest::{KeySetStatus, PublicKeySet, TrustRoot, TrustedKeySet};

/// `GET /.well-known/jwks.json`: the keys under which seals verify, in the order of the trust root.
pub(super) async fn key_set(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let json = serde_json::to_vec(&KeySet::of(&app.service.trust_root)).map_err(Problem::internal)?;
    let headers =
        [(header::CONTENT_TYPE, "application/jwk-set+json"), (header::CACHE_CONTROL, "public, max-age=300")];
    Ok((headers, json).into_response())
}

/// What the route's description shows.
pub(super) fn example() -> serde_json::Value {
    let set = |kid: &str| {
        serde_json::json!({ "kty": KTY, "alg": "SLH-DSA-SHA2-128f", "use": "sig", "kid": kid,
        "pub": "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE", "key_set_id": "2f".repeat(32) })
    };
    serde_json::json!({ "keys": [set("UbBSLGh-o_jBnaRztRYJDqkwIfOXmHUGAcyLIok_VTY")] })
}

#[derive(Serialize)]
struct KeySet {
    keys: Vec<Key>,
}

/// A key of the type AKP, whose `alg` says all about it.
#[derive(Serialize)]
struct Key {
    kty: &'static str,
    alg: &'static str,
    r#use: &'static str,
    /// The thumbprint (RFC 7638) with SHA-256.
    kid: String,
    /// The raw public key.
    r#pub: String,
    /// The id by which attestations name the set that the key is of.
    key_set_id: String,
}

impl KeySet {
    fn of(root: &TrustRoot) -> KeySet {
        let trusted = root.key_sets().iter().filter(|set| !revoked(set));
        KeySet { keys: trusted.flat_map(|set| keys(&set.keys)).collect() }
    }
}

fn revoked(set: &TrustedKeySet) -> bool {
    match set.status {
        KeySetStatus::Revoked { .. } => true,
        KeySetStatus::Active | KeySetStatus::Retired { .. } => false,
    }
}

fn keys(set: &PublicKeySet) -> [Key; 2] {
    let key_set_id = set.id().to_string();
    [
        Key::new("ML-DSA-65", set.ml_dsa_65.as_slice(), &key_set_id),
        Key::new("SLH-DSA-SHA2-128f", &set.slh_dsa_sha2_128f, &key_set_id),
    ]
}

impl Key {
    fn new(alg: &'static str, public: &[u8], key_set_id: &str) -> Key {
        let public = URL_SAFE_NO_PAD.encode(public);
        Key {
            kty: KTY,
            alg,
            r#use: "sig",
            kid: thumbprint(alg, &public),
            r#pub: public,
            key_set_id: key_set_id.to_owned(),
        }
    }
}

/// RFC 7638, section 3: the members that AKP requires, in the order of their names, without white space. Neither an algorithm's name
/// nor base64url has a character that JSON escapes.
fn thumbprint(alg: &str, public: &str) -> String {
    let members = format!(r#"{{"alg":"{alg}","kty":"{KTY}","pub":"{public}"}}"#);
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, members.as_bytes()))
}

const KTY: &str = "AKP";

#[cfg(test)]
mod tests {
    use super::*;

    fn set(byte: u8, status: KeySetStatus) -> TrustedKeySet {
        let keys = PublicKeySet {
            ml_dsa_65: Box::new([byte; 1952]),
            falcon_512: Box::new([byte; 897]),
            slh_dsa_sha2_128f: [byte; 32],
            not_before: 4,
            not_after: 5,
        };
        TrustedKeySet { keys, status }
    }

    #[test]
    fn a_key_has_the_members_of_akp_and_its_thumbprint() {
        let sets = vec![set(1, KeySetStatus::Active)];
        let id = sets[0].keys.id().to_string();
        let root = TrustRoot::new("https://auth.example", sets).unwrap();
        let json = serde_json::to_value(KeySet::of(&root)).unwrap();
        // The thumbprints are of Python's hashlib and json.
        assert_eq!(
            json["keys"][1],
            serde_json::json!({
                "kty": "AKP", "alg": "SLH-DSA-SHA2-128f", "use": "sig", "key_set_id": id,
                "pub": "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE",
                "kid": "UbBSLGh-o_jBnaRztRYJDqkwIfOXmHUGAcyLIok_VTY",
            })
        );
        assert_eq!(json["keys"][0]["alg"], "ML-DSA-65");
        assert_eq!(json["keys"][0]["kid"], "8cdTeMAIhqjGst-WVksh5cGJ4rQ2b6eMjkL7IHw0wqw");
        assert_eq!(json["keys"][0]["pub"].as_str().unwrap().len(), 2603);
    }

    #[test]
    fn retired_keys_are_listed_and_revoked_keys_are_not() {
        let statuses =
            [KeySetStatus::Active, KeySetStatus::Retired { since: 7 }, KeySetStatus::Revoked { since: 7 }];
        let sets: Vec<TrustedKeySet> = (1..).zip(statuses).map(|(byte, status)| set(byte, status)).collect();
        let listed: Vec<String> = sets[..2].iter().map(|set| set.keys.id().to_string()).collect();
        let mut found: Vec<String> = KeySet::of(&TrustRoot::new("https://auth.example", sets).unwrap())
            .keys
            .into_iter()
            .map(|key| key.key_set_id)
            .collect();
        found.dedup();
        assert_eq!(found, listed);
    }
}
