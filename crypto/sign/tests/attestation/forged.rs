//! Changed, cut, extended and recombined attestations: none verifies.

use trefoil_attest::{
    Family, Seal, VerifyError, statement_digest, tree, verify, verify_seal, verify_with_seal,
};

use trefoil_testing::volume;

use crate::fixture::{Issued, LEAF, NOW, OtherKeys};

/// Claim S7.
///
/// Two threads, because each changed byte of the SLH-DSA signature costs a verification of all three families.
#[test]
fn every_byte_matters() {
    let issued = Issued::new();
    let (bytes, policy) = (issued.full(), issued.policy());
    verify(&bytes, &policy, NOW).unwrap();
    // At full volume every byte, else one in so many.
    let stride = bytes.len() / volume(bytes.len(), 400);
    std::thread::scope(|scope| {
        for half in 0..2 {
            let (bytes, policy) = (&bytes, &policy);
            scope.spawn(move || {
                for at in (half..bytes.len()).step_by(2).filter(|at| at / 2 % stride == 0) {
                    let mut changed = bytes.clone();
                    changed[at] ^= 1 << (at / 2 % 8);
                    assert!(verify(&changed, policy, NOW).is_err(), "byte {at} of {}", bytes.len());
                }
            });
        }
    });
}

/// Claim S18.
#[test]
fn every_byte_of_a_compact_attestation_matters() {
    let issued = Issued::new();
    let (bytes, policy) = (issued.compact(), issued.policy());
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            assert!(
                verify_with_seal(&changed, &issued.seal, &policy, NOW).is_err(),
                "bit {bit} of byte {at}"
            );
        }
    }
}

/// Claim S7: All three signatures are required, and every byte matters.
///
/// Every proper subset of valid signatures: the invalid ones are another key's, over the same bytes.
#[test]
fn every_proper_subset_of_signatures_is_refused() {
    let issued = Issued::new();
    let mut thief = OtherKeys::new();
    let theirs = thief.sign(&issued.seal.header);
    for family in Family::ALL {
        let message = issued.seal.header.to_be_signed(family);
        let signature = &theirs.signatures[family.index()];
        assert!(family.verifies(thief.public().public_key(family), &message, signature));
    }
    for kept in 0..7_u8 {
        let mut seal = issued.seal.clone();
        for family in Family::ALL.into_iter().filter(|family| kept & 1 << family.index() == 0) {
            seal.signatures[family.index()] = theirs.signatures[family.index()].clone();
        }
        let error = verify_seal(&seal, &issued.trust_root()).unwrap_err();
        let VerifyError::Signature(family) = error else { panic!("subset {kept}: {error}") };
        assert_eq!(kept & 1 << family.index(), 0, "subset {kept}: {error}");
    }
}

#[test]
fn signatures_do_not_move_between_families_or_seals() {
    let mut issued = Issued::new();
    let mut header = issued.seal.header.clone();
    header.seal_number += 1;
    let next = issued.keys.sign_seal(header, &mut issued.rng).unwrap();
    for family in Family::ALL {
        let mut seal = issued.seal.clone();
        seal.signatures[family.index()] = next.signatures[family.index()].clone();
        assert_eq!(verify_seal(&seal, &issued.trust_root()), Err(VerifyError::Signature(family)));
        for other in Family::ALL.into_iter().filter(|other| *other != family) {
            // Swapped in memory: the signature of another family, and one of another family's signed bytes.
            let mut seal = issued.seal.clone();
            seal.signatures.swap(family.index(), other.index());
            assert!(matches!(verify_seal(&seal, &issued.trust_root()), Err(VerifyError::Signature(_))));
            let key = issued.keys.public().public_key(family);
            let signature = &issued.seal.signatures[family.index()];
            assert!(!family.verifies(key, &issued.seal.header.to_be_signed(other), signature));
        }
    }
}

/// The prefixes of leaf and node differ.
#[test]
fn an_inner_node_does_not_pass_for_a_leaf() {
    let issued = Issued::new();
    let mut path = issued.attestation().path;
    let digest = statement_digest(&issued.statement);
    let parent = tree::node_hash(&tree::leaf_hash(&digest), &path.remove(0));
    let root = tree::root_from_path(parent, LEAF / 2, 6, &path);
    assert_eq!(root, Some(issued.tree.root()), "the node is in the tree");
    assert!(!tree::verify_inclusion(&parent, LEAF / 2, 6, &path, &issued.tree.root()));
}

#[test]
fn each_header_field_is_signed() {
    let issued = Issued::new();
    let root = issued.trust_root();
    let changes: [fn(&mut Seal); 5] = [
        |seal| seal.header.seal_number += 1,
        |seal| seal.header.previous[0] ^= 1,
        |seal| seal.header.tree_size += 1,
        |seal| seal.header.root[0] ^= 1,
        |seal| seal.header.time += 1,
    ];
    for change in changes {
        let mut seal = issued.seal.clone();
        change(&mut seal);
        assert!(matches!(verify_seal(&seal, &root), Err(VerifyError::Signature(_))));
    }
}

#[test]
fn the_suite_is_not_negotiable() {
    let issued = Issued::new();
    let bytes = issued.full();
    // The suite is the first field of both trefoil maps: key -65537, map head, key 1, value 1.
    let heads: Vec<usize> = (0..bytes.len() - 8)
        .filter(|&at| bytes[at..at + 5] == [0x3a, 0, 1, 0, 0] && bytes[at + 6..at + 8] == [1, 1])
        .collect();
    assert_eq!(heads.len(), 4, "one statement and three receipts");
    for at in heads {
        let mut changed = bytes.clone();
        changed[at + 7] = 2;
        let error = verify(&changed, &issued.policy(), NOW).unwrap_err();
        assert!(matches!(error, VerifyError::UnknownSuite(2) | VerifyError::Malformed(_)), "{error}");
    }
}
