//! Stored keys, trust roots, and what they refuse.

use trefoil_attest::{
    Family, KeySetStatus, PublicKeySet, TrustRoot, TrustRootError, TrustedKeySet, verify_seal,
};
use trefoil_sign::{KeyError, SECRET_BYTES, SigningKeys};

use crate::fixture::{ISSUER, Issued, NOT_AFTER, NOT_BEFORE, rng};

#[test]
fn stored_keys_sign_as_before() {
    let issued = Issued::new();
    let stored = issued.keys.to_secret_bytes();
    assert_eq!(stored.len(), SECRET_BYTES);
    let mut again = SigningKeys::from_secret_bytes(&stored).unwrap();
    assert_eq!(again.public(), issued.keys.public());
    assert_eq!(*again.to_secret_bytes(), *stored);
    let seal = again.sign_seal(issued.seal.header.clone(), &mut rng()).unwrap();
    verify_seal(&seal, &issued.trust_root()).unwrap();
}

#[test]
fn damaged_key_files_are_refused() {
    let stored = Issued::new().keys.to_secret_bytes();
    let refused = |bytes: &[u8]| SigningKeys::from_secret_bytes(bytes).err();
    for at in 0..stored.len() {
        let mut damaged = stored.to_vec();
        damaged[at] ^= 1;
        let expected = if at < 8 { KeyError::Format } else { KeyError::Damaged };
        assert_eq!(refused(&damaged), Some(expected), "byte {at}");
    }
    assert_eq!(refused(&stored[1..]), Some(KeyError::Length));
    assert_eq!(refused(&[&stored[..], &[0]].concat()), Some(KeyError::Length));
    assert_eq!(refused(&[]), Some(KeyError::Length));
    assert_eq!(SigningKeys::generate(5, 5, &mut rng()).err(), Some(KeyError::Validity));
}

#[test]
fn key_sets_are_named_by_their_content() {
    let keys = Issued::new().keys.public().clone();
    let bytes = keys.encode();
    assert_eq!(PublicKeySet::decode(&bytes).unwrap(), keys);
    for at in (0..bytes.len()).step_by(7) {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        assert!(PublicKeySet::decode(&changed).map_or(true, |other| other.id() != keys.id()), "byte {at}");
    }
    for family in Family::ALL {
        assert_eq!(keys.public_key(family).len(), family.public_key_bytes());
    }
    let shown = format!("{keys:?}");
    assert!(shown.len() < 120, "a key set is shown by its identifier: {shown}");
}

#[test]
fn trust_roots_are_consistent_or_refused() {
    let mut rng = rng();
    let trusted = |keys: &SigningKeys, status| TrustedKeySet { keys: keys.public().clone(), status };
    let first = SigningKeys::generate(NOT_BEFORE, NOT_AFTER, &mut rng).unwrap();
    let second = SigningKeys::generate(NOT_BEFORE, NOT_AFTER, &mut rng).unwrap();
    let active = trusted(&first, KeySetStatus::Active);
    let refused = |issuer: &str, sets: Vec<TrustedKeySet>| TrustRoot::new(issuer, sets).unwrap_err();
    assert_eq!(refused("", vec![active.clone()]), TrustRootError::Issuer);
    assert_eq!(refused("a\tb", vec![active.clone()]), TrustRootError::Issuer);
    assert_eq!(refused(ISSUER, vec![]), TrustRootError::KeySetCount);
    assert_eq!(refused(ISSUER, vec![active.clone(); 65]), TrustRootError::KeySetCount);
    let revoked = trusted(&first, KeySetStatus::Revoked { since: 1 });
    assert_eq!(refused(ISSUER, vec![active.clone(), revoked.clone()]), TrustRootError::RepeatedKeySet);
    let mut empty = active.clone();
    empty.keys.not_after = empty.keys.not_before;
    assert_eq!(refused(ISSUER, vec![empty]), TrustRootError::EmptyValidity);

    let retired = trusted(&second, KeySetStatus::Retired { since: 7 });
    let root = TrustRoot::new(ISSUER, vec![revoked, retired]).unwrap();
    let bytes = root.encode();
    assert_eq!(TrustRoot::decode(&bytes).unwrap(), root);
    for end in (0..bytes.len()).step_by(11) {
        assert!(TrustRoot::decode(&bytes[..end]).is_err());
    }
    assert!(TrustRoot::decode(&[&bytes[..], &[0]].concat()).is_err());
}
