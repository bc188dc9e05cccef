//! Falcon-512 against the round-3 known answers and PQClean's padded one.
//!
//! Signing cannot be compared byte for byte: fn-dsa samples differently from the reference implementation. What is
//! checked: the stored key decodes to the known public key, the known signatures verify, changed ones do not, and
//! signatures made with the known keys verify.

use trefoil_attest::{FALCON_512_SIGNATURE_BYTES, Family};
use trefoil_sign::{Falcon512, SignatureFamily as _};

use crate::vectors::{self, Fixed};

const SALT_BYTES: usize = 40;

/// The padded form of a known answer's signature. The submission writes
/// `length (2) | salt (40) | message | 0x29 | compressed s2`; padded is `0x39 | salt | compressed s2 | zeros`.
fn padded(signed_message: &[u8], message_bytes: usize) -> Vec<u8> {
    let length = usize::from(u16::from_be_bytes([signed_message[0], signed_message[1]]));
    let salt = &signed_message[2..2 + SALT_BYTES];
    let compressed = &signed_message[2 + SALT_BYTES + message_bytes..];
    assert_eq!((compressed.len(), compressed[0]), (length, 0x29));
    let mut signature = vec![0x39];
    signature.extend_from_slice(salt);
    signature.extend_from_slice(&compressed[1..]);
    signature.resize(FALCON_512_SIGNATURE_BYTES, 0);
    signature
}

fn check(public: &[u8], secret: &[u8], message: &[u8], signature: &[u8], label: &str) {
    let mut rng = rand::rng();
    let mut key = Falcon512::from_secret_bytes(secret).unwrap();
    assert!(key.public_key() == public, "{label}");
    assert!(Family::Falcon512.verifies(public, message, signature), "attest, {label}");
    assert!(Falcon512::verify(public, message, signature), "fn-dsa, {label}");
    let own = key.sign(message, &mut rng).unwrap();
    assert!(Family::Falcon512.verifies(public, message, &own), "own signature, {label}");
    assert_ne!(own, signature);
    for at in [0, 1, SALT_BYTES, SALT_BYTES + 1, 300, FALCON_512_SIGNATURE_BYTES - 1] {
        let mut changed = signature.to_vec();
        changed[at] ^= 1;
        assert!(!Family::Falcon512.verifies(public, message, &changed), "byte {at}, {label}");
    }
}

/// Claim S6: Falcon-512 is the round-3 algorithm, padded, and not a draft FN-DSA.
#[test]
fn round_three_answers_verify_in_padded_form() {
    let cases = vectors::load("falcon_512_round3");
    assert_eq!(cases.len(), 100);
    for case in cases {
        let message = case.bytes("msg");
        let signature = padded(&case.bytes("sm"), message.len());
        check(&case.bytes("pk"), &case.bytes("sk"), &message, &signature, &format!("case {}", case.id()));
    }
}

#[test]
fn the_padded_answer_verifies() {
    for case in vectors::load("falcon_512_padded") {
        let (signed_message, message) = (case.bytes("sm"), case.bytes("msg"));
        let (signature, rest) = signed_message.split_at(FALCON_512_SIGNATURE_BYTES);
        assert_eq!(rest, message);
        check(&case.bytes("pk"), &case.bytes("sk"), &message, signature, &format!("case {}", case.id()));
    }
}

/// Claim S6.
///
/// FN-DSA drafts bind the public key into the hash; a signature of that kind must not pass as round-3 Falcon.
#[test]
fn a_draft_fn_dsa_signature_is_refused() {
    use fn_dsa::{
        DOMAIN_NONE, HASH_ID_RAW, SigningKey as _, SigningKey512, VerifyingKey as _, VerifyingKey512,
    };
    let case = &vectors::load("falcon_512_padded")[0];
    let (public, message) = (case.bytes("pk"), case.bytes("msg"));
    let mut signature = vec![0; FALCON_512_SIGNATURE_BYTES];
    let mut key = SigningKey512::decode(&case.bytes("sk")).unwrap();
    key.sign(&mut Fixed(&[7; 4096]), &DOMAIN_NONE, &HASH_ID_RAW, &message, &mut signature);
    let verifier = VerifyingKey512::decode(&public).unwrap();
    assert!(verifier.verify(&signature, &DOMAIN_NONE, &HASH_ID_RAW, &message));
    assert!(!Family::Falcon512.verifies(&public, &message, &signature));
}
