//! Damaged keys and altered seals: nothing incorrect is released.

use std::collections::HashSet;

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use trefoil_attest::Suite;
use trefoil_testing::volume;

use super::*;

const NOW: u64 = 1_800_000_000;

pub(super) fn keys(seed: u64) -> SigningKeys {
    SigningKeys::generate(NOW, NOW + 1, &mut StdRng::seed_from_u64(seed)).unwrap()
}

pub(super) fn flipped(bytes: &[u8], rng: &mut StdRng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let bit = rng.random_range(0..8 * bytes.len());
    bytes[bit / 8] ^= 1 << (bit % 8);
    bytes
}

pub(super) fn header(keys: &SigningKeys, seal_number: u64) -> SealHeader {
    SealHeader {
        issuer: "https://auth.example".into(),
        key_set_id: keys.id(),
        seal_number,
        previous: [0; 32],
        log_root: [0; 32],
        tree_size: 1,
        root: [7; 32],
        time: NOW,
        suite: Suite::One,
        vaults: Vec::new(),
        restored: None,
    }
}

/// Claim S12.
#[test]
fn keys_that_are_not_the_published_ones_sign_no_seal() {
    let mut rng = StdRng::seed_from_u64(22);
    type Swap = fn(&mut SigningKeys, SigningKeys);
    let swaps: [(Family, Swap); 3] = [
        (Family::MlDsa65, |keys, other| keys.ml_dsa_65 = other.ml_dsa_65),
        (Family::Falcon512, |keys, other| keys.falcon_512 = other.falcon_512),
        (Family::SlhDsaSha2_128f, |keys, other| keys.slh_dsa_sha2_128f = other.slh_dsa_sha2_128f),
    ];
    for (family, swap) in swaps {
        let mut struck = keys(3);
        let header = header(&struck, 1);
        assert!(struck.sign_seal(header.clone(), &mut rng).is_ok());
        swap(&mut struck, keys(4));
        assert_eq!(struck.sign_seal(header, &mut rng).err(), Some(SignError::Fault(family)));
    }
}

#[test]
fn a_seal_is_checked_as_what_was_signed() {
    let mut rng = StdRng::seed_from_u64(24);
    let mut keys = keys(6);
    let mut sign = |number| {
        let header = header(&keys, number);
        keys.sign_seal_unchecked(header, &mut rng).unwrap()
    };
    type Swap = fn(&mut UncheckedSignatures, UncheckedSignatures);
    let swaps: [(Family, Swap); 3] = [
        (Family::MlDsa65, |one, other| one.ml_dsa_65 = other.ml_dsa_65),
        (Family::Falcon512, |one, other| one.falcon_512 = other.falcon_512),
        (Family::SlhDsaSha2_128f, |one, other| one.slh_dsa_sha2_128f = other.slh_dsa_sha2_128f),
    ];
    let mut mixed = Vec::new();
    for (family, swap) in swaps {
        let (mut one, other) = (sign(1), sign(2));
        swap(&mut one.signatures, other.signatures);
        mixed.push((family, one));
    }
    let sound = sign(3);
    let struck = sign(4);
    let mut checker = keys.checker();
    for (family, unchecked) in mixed {
        assert_eq!(checker.check(unchecked).err(), Some(SignError::Fault(family)));
    }
    assert_eq!(checker.check(sound).map(|seal| seal.header), Ok(header(&keys, 3)));
    // The signature is correct, but the checker's copy of the key is not the one that signed it.
    checker.slh_dsa_sha2_128f = SlhDsaSha2_128f::generate(&mut rng).unwrap();
    assert_eq!(checker.check(struck).err(), Some(SignError::Fault(Family::SlhDsaSha2_128f)));
}

#[test]
fn falcon_salts_are_different() {
    let count = volume(10_000, 500);
    let mut rng = StdRng::seed_from_u64(24);
    let mut key = Falcon512::generate(&mut rng).unwrap();
    // Header, then the salt of 40 bytes.
    let salts: HashSet<Vec<u8>> =
        (0..count).map(|_| key.sign(b"the same message", &mut rng).unwrap()[1..41].to_vec()).collect();
    assert_eq!(salts.len(), count);
}
