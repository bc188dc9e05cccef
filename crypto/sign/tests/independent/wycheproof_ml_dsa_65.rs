//! ML-DSA-65 against Wycheproof, in both implementations.

use fips204::ml_dsa_65::KG;
use fips204::traits::{KeyGen as _, SerDes as _, Signer as _, Verifier as _};
use trefoil_attest::Family;
use trefoil_sign::{MlDsa65, SignatureFamily as _};

use crate::vectors;

/// Verification with a context: the families of a suite never use one, so only fips204 itself can run these.
fn verify_with_context(public: &[u8], message: &[u8], signature: &[u8], context: &[u8]) -> bool {
    let (Ok(public), Ok(signature)) = (public.try_into(), signature.try_into()) else { return false };
    fips204::ml_dsa_65::PublicKey::try_from_bytes(public)
        .is_ok_and(|public| public.verify(message, signature, context))
}

/// Claim S4.
#[test]
fn verification_matches_in_both_implementations() {
    let (mut accepted, mut refused, mut with_context) = (0, 0, 0);
    for case in vectors::load("wycheproof_ml_dsa_65_verify") {
        let (public, message, signature) = (case.bytes("publicKey"), case.bytes("msg"), case.bytes("sig"));
        let (context, valid) = (case.bytes("ctx"), case.text("result") == "valid");
        let label = format!("case {}: {}", case.id(), case.text("comment"));
        assert_eq!(verify_with_context(&public, &message, &signature, &context), valid, "fips204, {label}");
        if context.is_empty() {
            assert_eq!(Family::MlDsa65.verifies(&public, &message, &signature), valid, "attest, {label}");
            assert_eq!(MlDsa65::verify(&public, &message, &signature), valid, "aws-lc-rs, {label}");
            *if valid { &mut accepted } else { &mut refused } += 1;
        } else {
            with_context += 1;
        }
    }
    assert_eq!((accepted, refused, with_context), (77, 126, 7));
}

/// aws-lc-rs only signs hedged, so the exact signature is checked with fips204 and the library's own signature by
/// verification under the vector's public key.
#[test]
fn signing_from_a_seed_matches() {
    let mut rng = rand::rng();
    let (mut signed, mut refused) = (0, 0);
    for case in vectors::load("wycheproof_ml_dsa_65_sign_seed") {
        let label = format!("case {}: {}", case.id(), case.text("comment"));
        let (seed, message, context) = (case.bytes("privateSeed"), case.bytes("msg"), case.bytes("ctx"));
        let Ok(fixed) = <[u8; 32]>::try_from(&seed[..]) else {
            assert!(MlDsa65::from_secret_bytes(&seed).is_err(), "aws-lc-rs, {label}");
            refused += 1;
            continue;
        };
        // Deterministic unless the case gives the randomness.
        let randomness = case.bytes("rnd").try_into().unwrap_or([0; 32]);
        let (public, secret) = KG::keygen_from_seed(&fixed);
        let Ok(mut signature) = secret.try_sign_with_seed(&randomness, &message, &context) else {
            assert_eq!(case.text("result"), "invalid", "{label}");
            refused += 1;
            continue;
        };
        assert!(signature.to_vec() == case.bytes("sig"), "fips204, {label}");
        assert_eq!(case.text("result"), "valid", "{label}");
        if context.is_empty() {
            let mut key = MlDsa65::from_secret_bytes(&seed).unwrap();
            let public = public.into_bytes();
            assert!(key.public_key() == public, "aws-lc-rs, {label}");
            assert!(MlDsa65::verify(&public, &message, &signature), "aws-lc-rs, {label}");
            let hedged = key.sign(&message, &mut rng).unwrap();
            assert!(Family::MlDsa65.verifies(&public, &message, &hedged), "{label}");
            signature[0] ^= 1;
            assert!(!MlDsa65::verify(&public, &message, &signature), "aws-lc-rs, {label}");
        }
        signed += 1;
    }
    assert_eq!((signed, refused), (84, 4));
}
