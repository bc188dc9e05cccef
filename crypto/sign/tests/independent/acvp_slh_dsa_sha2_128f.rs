//! SLH-DSA-SHA2-128f against NIST's ACVP vectors: pure external and internal interface (pre-hashing is not used).

use slh_dsa::{Sha2_128f, Signature, SigningKey, VerifyingKey};
use trefoil_sign::{SignatureFamily as _, SlhDsaSha2_128f};

use crate::vectors;
use crate::vectors::processors;

#[test]
fn key_generation_matches() {
    for case in vectors::load("acvp_slh_dsa_sha2_128f_keygen") {
        let key = SigningKey::<Sha2_128f>::slh_keygen_internal(
            &case.bytes("skSeed"),
            &case.bytes("skPrf"),
            &case.bytes("pkSeed"),
        );
        assert!(key.to_bytes()[..] == case.bytes("sk"), "sk, case {}", case.id());
        let key = SlhDsaSha2_128f::from_secret_bytes(&case.bytes("sk")).unwrap();
        assert!(key.public_key() == case.bytes("pk"), "pk, case {}", case.id());
    }
}

/// Claim S5: SLH-DSA-SHA2-128f agrees with ACVP.
#[test]
fn signature_generation_matches() {
    let (mut external, mut internal) = (0, 0);
    for case in vectors::load("acvp_slh_dsa_sha2_128f_siggen") {
        let key = SigningKey::<Sha2_128f>::try_from(&case.bytes("sk")[..]).unwrap();
        let randomness = case.bytes("additionalRandomness");
        let randomness = (!randomness.is_empty()).then_some(&randomness[..]);
        let message = case.bytes("message");
        let signature = match case.text("interface") {
            "external" => {
                external += 1;
                key.try_sign_with_context(&message, &case.bytes("context"), randomness).unwrap()
            }
            "internal" => {
                internal += 1;
                key.slh_sign_internal(&[&message], randomness)
            }
            other => panic!("interface {other}"),
        };
        assert!(signature.to_bytes()[..] == case.bytes("signature"), "case {}", case.id());

        let context = case.bytes("context");
        let prefix = [0, context.len() as u8];
        let parts: [&[u8]; 3] = match case.text("interface") {
            "external" => [&prefix, &context, &message],
            _ => [&[], &[], &message],
        };
        // Without randomness the variant is the deterministic one: PK.seed takes its place.
        let randomness = randomness.unwrap_or(&case.bytes("sk")[32..48]).try_into().unwrap();
        for cpu in processors() {
            let key = SlhDsaSha2_128f::from_secret_bytes(&case.bytes("sk")).unwrap().on(cpu);
            let signature = key.sign_internal(&parts, &randomness).unwrap();
            assert!(signature == case.bytes("signature"), "case {}, {cpu:?}", case.id());
        }
    }
    assert_eq!((external, internal), (14, 14));
}

#[test]
fn signature_verification_matches() {
    let (mut accepted, mut refused) = (0, 0);
    for case in vectors::load("acvp_slh_dsa_sha2_128f_sigver") {
        let (public, message) = (case.bytes("pk"), case.bytes("message"));
        let key = VerifyingKey::<Sha2_128f>::try_from(&public[..]).unwrap();
        // A signature of the wrong length does not even decode.
        let verifies =
            Signature::<Sha2_128f>::try_from(&case.bytes("signature")[..]).is_ok_and(|signature| match case
                .text("interface")
            {
                "external" => {
                    key.try_verify_with_context(&message, &case.bytes("context"), &signature).is_ok()
                }
                "internal" => key.slh_verify_internal(&[&message], &signature).is_ok(),
                other => panic!("interface {other}"),
            });
        assert_eq!(verifies, case.flag("testPassed"), "case {}", case.id());
        *if verifies { &mut accepted } else { &mut refused } += 1;
    }
    assert!(accepted > 0 && refused > 0, "{accepted} accepted, {refused} refused");
}
