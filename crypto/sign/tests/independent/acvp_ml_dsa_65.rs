//! ML-DSA-65 against NIST's ACVP vectors.
//!
//! aws-lc-rs signs and verifies with an empty context only and exposes no internal interface, so it runs keyGen here
//! and the empty-context Wycheproof cases; the other cases run through fips204, the independent implementation that
//! clients verify with. `crosscheck` ties the two together.

#![expect(deprecated, reason = "fips204 marks its hooks for ACVP's internal interface so")]

use fips204::ml_dsa_65::{KG, PrivateKey, PublicKey};
use fips204::traits::{KeyGen as _, SerDes as _, Verifier as _};
use trefoil_sign::{MlDsa65, SignatureFamily as _};

use crate::vectors::{self, Fixed};

#[test]
fn key_generation_matches_in_both_implementations() {
    for case in vectors::load("acvp_ml_dsa_65_keygen") {
        let (public, secret) = KG::keygen_from_seed(&case.array("seed"));
        assert!(public.into_bytes().to_vec() == case.bytes("pk"), "fips204 pk, case {}", case.id());
        assert!(secret.into_bytes().to_vec() == case.bytes("sk"), "fips204 sk, case {}", case.id());
        let keys = MlDsa65::from_secret_bytes(&case.bytes("seed")).unwrap();
        assert!(keys.public_key() == case.bytes("pk"), "aws-lc-rs pk, case {}", case.id());
    }
}

#[test]
fn signature_generation_matches() {
    let (mut deterministic, mut hedged) = (0, 0);
    for case in vectors::load("acvp_ml_dsa_65_siggen") {
        assert_eq!(case.text("interface"), "internal");
        let randomness = case.bytes("rnd");
        assert_eq!(randomness.is_empty(), case.flag("deterministic"), "case {}", case.id());
        *if randomness.is_empty() { &mut deterministic } else { &mut hedged } += 1;
        let secret = PrivateKey::try_from_bytes(case.array("sk")).unwrap();
        let hedge = !randomness.is_empty();
        let signature = secret.sign_internal(&mut Fixed(&randomness), &case.bytes("message"), hedge).unwrap();
        assert!(signature.to_vec() == case.bytes("signature"), "case {}", case.id());
    }
    assert_eq!((deterministic, hedged), (10, 10));
}

/// Claim S4: ML-DSA-65 agrees with ACVP and Wycheproof.
#[test]
fn signature_verification_matches() {
    let (mut accepted, mut refused) = (0, 0);
    for case in vectors::load("acvp_ml_dsa_65_sigver") {
        let public = PublicKey::try_from_bytes(case.array("pk")).unwrap();
        let (message, signature) = (case.bytes("message"), case.array("signature"));
        let verifies = match case.text("interface") {
            "external" => public.verify(&message, &signature, &case.bytes("context")),
            "internal" => public.verify_internal(&message, &signature),
            other => panic!("interface {other}"),
        };
        assert_eq!(verifies, case.flag("testPassed"), "case {}", case.id());
        *if verifies { &mut accepted } else { &mut refused } += 1;
    }
    assert!(accepted > 0 && refused > 0, "{accepted} accepted, {refused} refused");
}
