//! What verifies, and what a verifier learns from it.

use minicbor::Decoder;
use minicbor::data::Type;
use trefoil_attest::tree::root_from_path;
use trefoil_attest::{ATTESTATION_BYTES_MAX, Family, VerifyError, tree, verify, verify_with_seal};

use crate::fixture::{ISSUER, Issued, LEAF, LEAVES, NOW, statement};

#[test]
fn a_full_attestation_verifies_offline() {
    let issued = Issued::new();
    let bytes = issued.full();
    assert!(bytes.len() < 23_000 && bytes.len() <= ATTESTATION_BYTES_MAX, "{} bytes", bytes.len());
    assert_eq!(issued.seal.attestation(&issued.statement, LEAF, &issued.attestation().path), bytes);
    let policy = issued.policy();
    let verified = verify(&bytes, &policy, NOW).unwrap();
    assert_eq!(*verified.statement(), statement());
    assert_eq!(*verified.seal(), issued.seal.header);
    assert_eq!(verified.leaf_index(), LEAF);
    let checks = verified.checks();
    assert_eq!(checks.map(|check| check.family), Family::ALL);
    assert!(checks.iter().all(|check| check.key_set_id == issued.keys.id()));
    assert!(checks[1].to_string().starts_with("Falcon-512 (round 3, padded) verifies under key set "));
}

/// Claim S18: A compact attestation verifies only with the seal that it names, and every byte of it matters.
#[test]
fn a_compact_attestation_verifies_with_its_seal_only() {
    let issued = Issued::new();
    let (compact, policy) = (issued.compact(), issued.policy());
    assert!(compact.len() < 1024, "{} bytes", compact.len());
    let needed = VerifyError::SealNeeded(issued.seal.reference());
    assert_eq!(verify(&compact, &policy, NOW).unwrap_err(), needed);
    let verified = verify_with_seal(&compact, &issued.seal, &policy, NOW).unwrap();
    assert_eq!(*verified.statement(), statement());
    verify_with_seal(&issued.full(), &issued.seal, &policy, NOW).unwrap();
    let mut other = issued.seal.clone();
    other.header.time += 1;
    let refused = VerifyError::OtherSeal(issued.seal.reference());
    assert_eq!(verify_with_seal(&compact, &other, &policy, NOW).unwrap_err(), refused);
    assert_eq!(verify_with_seal(&issued.full(), &other, &policy, NOW).unwrap_err(), refused);
}

/// Claim S16: A seal exports receipts in the form of RFC 9942.
///
/// Takes the exported receipts apart with an independent CBOR reader and follows RFC 9942: recompute the root from
/// the inclusion proof, rebuild the `Sig_structure` with it as detached payload, verify.
#[test]
fn receipts_follow_rfc_9942() {
    let issued = Issued::new();
    let attestation = issued.attestation();
    for family in Family::ALL {
        let receipt = issued.seal.receipt(family, LEAF, &attestation.path);
        let mut d = Decoder::new(&receipt);
        assert_eq!((d.tag().unwrap().as_u64(), d.array().unwrap()), (18, Some(4)));
        let protected = d.bytes().unwrap().to_vec();
        assert_eq!((d.map().unwrap(), d.i64().unwrap()), (Some(1), 396), "vdp");
        assert_eq!((d.map().unwrap(), d.i64().unwrap(), d.array().unwrap()), (Some(1), -1, Some(1)));
        let proof = d.bytes().unwrap().to_vec();
        assert_eq!(d.datatype().unwrap(), Type::Null, "detached payload");
        d.skip().unwrap();
        let signature = d.bytes().unwrap().to_vec();
        assert_eq!(d.position(), receipt.len());

        let mut d = Decoder::new(&protected);
        assert_eq!((d.map().unwrap(), d.i64().unwrap()), (Some(4), 1));
        assert_eq!(d.i64().unwrap(), family.cose_algorithm());
        assert_eq!((d.i64().unwrap(), d.bytes().unwrap()), (4, &issued.keys.id().as_bytes()[..]), "kid");
        assert_eq!((d.i64().unwrap(), d.map().unwrap(), d.i64().unwrap()), (15, Some(4), 1), "CWT claims");
        assert_eq!(d.str().unwrap(), ISSUER);
        for _ in 0..6 {
            d.skip().unwrap();
        }
        assert_eq!((d.i64().unwrap(), d.i64().unwrap()), (395, 1), "RFC9162_SHA256");
        assert_eq!(d.position(), protected.len());

        let mut d = Decoder::new(&proof);
        assert_eq!(d.array().unwrap(), Some(3));
        let (size, index) = (d.u64().unwrap(), d.u64().unwrap());
        assert_eq!((size, index), (LEAVES as u64, LEAF));
        let length = d.array().unwrap().unwrap();
        let path: Vec<[u8; 32]> = (0..length).map(|_| d.bytes().unwrap().try_into().unwrap()).collect();
        let leaf = tree::leaf_hash(&trefoil_attest::statement_digest(&issued.statement));
        let root = root_from_path(leaf, index, size, &path).unwrap();

        let mut signed = Vec::new();
        let mut e = minicbor::Encoder::new(&mut signed);
        e.array(4).unwrap().str("Signature1").unwrap();
        e.bytes(&protected).unwrap().bytes(&[]).unwrap().bytes(&root).unwrap();
        assert_eq!(signed, issued.seal.header.to_be_signed(family));
        assert!(family.verifies(issued.keys.public().public_key(family), &signed, &signature));
    }
}
