//! The signing keys for tools that read JOSE but no trust roots.
//!
//! JOSE has an algorithm only for ML-DSA-65 of the three families (RFC 9964). An attestation needs all three signatures, so these keys alone
//! verify none. They are for key inventories, and to check that a pinned trust root has the keys that the service shows.

use super::body;
use crate::app::App;
use crate::problem::Problem;
use aws_lc_rs::digest::{SHA256, digest};
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;
use trefoil_attest::{KeySetStatus, TrustRoot};

/// A JWK Set (RFC 7517).
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "JwkSet")]
pub(super) struct Set {
    /// The ML-DSA-65 keys of the key sets that sign today.
    keys: Vec<Key>,
}

/// An algorithm key pair's public key (RFC 9964).
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Jwk")]
struct Key {
    /// `AKP`.
    kty: &'static str,
    /// `ML-DSA-65`.
    alg: &'static str,
    /// `sig`.
    r#use: &'static str,
    /// Thumbprint of the key (RFC 7638) with SHA-256.
    kid: String,
    /// The public key, 1,952 bytes, base64url without padding.
    r#pub: String,
    /// First second in which it may sign, Unix seconds.
    nbf: u64,
    /// First second in which it no longer may.
    exp: u64,
}

/// `GET /.well-known/jwks.json`
pub(super) async fn keys(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let mut response = body::answer(StatusCode::OK, &set(&app.service.keys.root()))?;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    Ok(response)
}

/// The keys of a trust root.
pub(super) fn set(root: &TrustRoot) -> Set {
    let active = root.key_sets().iter().filter(|set| set.status == KeySetStatus::Active);
    let keys = active.map(|set| {
        let (kty, alg) = ("AKP", "ML-DSA-65");
        let r#pub = URL_SAFE_NO_PAD.encode(&set.keys.ml_dsa_65[..]);
        // RFC 7638 section 3: the required members in the order of their names, without white space.
        let required = format!(r#"{{"alg":"{alg}","kty":"{kty}","pub":"{pub}"}}"#);
        let kid = URL_SAFE_NO_PAD.encode(digest(&SHA256, required.as_bytes()));
        Key { kty, alg, r#use: "sig", kid, r#pub, nbf: set.keys.not_before, exp: set.keys.not_after }
    });
    Set { keys: keys.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trefoil_attest::{PublicKeySet, TrustedKeySet};

    fn trusted(byte: u8, status: KeySetStatus) -> TrustedKeySet {
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
    fn keys_that_sign_are_listed_under_their_thumbprint_and_others_are_not() {
        let statuses =
            [KeySetStatus::Active, KeySetStatus::Retired { since: 7 }, KeySetStatus::Revoked { since: 7 }];
        let sets = (1..).zip(statuses).map(|(byte, status)| trusted(byte, status)).collect();
        let listed = set(&TrustRoot::new("https://auth.example", sets).expect("three sets")).keys;
        // The thumbprint was computed with Python's hashlib and json.
        let kids: Vec<&str> = listed.iter().map(|key| key.kid.as_str()).collect();
        assert_eq!(kids, ["8cdTeMAIhqjGst-WVksh5cGJ4rQ2b6eMjkL7IHw0wqw"]);
        assert_eq!(listed[0].r#pub.len(), 2603);
    }
}
