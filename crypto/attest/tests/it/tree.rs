//! The tree against the known roots of Certificate Transparency, and what its proofs do not prove. `history.rs` has the RFC's definitions.

use trefoil_attest::tree::{
    Hash, MerkleTree, leaf_hash, node_hash, root_from_path, verify_consistency, verify_inclusion,
};

/// Entries and roots that every Certificate Transparency implementation tests with (`testonly/constants.go` of
/// transparency-dev/merkle): root `n` is that of the first `n` entries.
const ENTRIES: [&str; 8] =
    ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
const ROOTS: [&str; 8] = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

fn entries(count: usize) -> Vec<[u8; 32]> {
    (0..count).map(|index| leaf_hash(&index.to_be_bytes())).collect()
}

/// Claim S2: Trees are those of RFC 9162. Inclusion and consistency proofs verify for every small size, and for no other claim.
#[test]
fn roots_are_those_of_certificate_transparency() {
    let leaves: Vec<Hash> = ENTRIES.iter().map(|entry| leaf_hash(&hex::decode(entry).unwrap())).collect();
    for (count, root) in ROOTS.iter().enumerate() {
        let tree = MerkleTree::from_leaf_hashes(leaves[..=count].to_vec()).unwrap();
        assert_eq!(hex::encode(tree.root()), *root, "{} leaves", count + 1);
    }
}

/// Claim S2.
#[test]
fn every_leaf_of_every_size_up_to_130_is_included_and_nothing_else() {
    for size in 1..=130_usize {
        let entries = entries(size);
        let leaves: Vec<Hash> = entries.iter().map(|entry| leaf_hash(entry)).collect();
        let tree = MerkleTree::new(&entries).unwrap();
        for (index, entry) in entries.iter().enumerate() {
            let at = index as u64;
            let proof = tree.path(at).unwrap();
            assert!(verify_inclusion(entry, at, tree.size(), &proof, &tree.root()), "leaf {index} of {size}");
            let other = &entries[(index + 1) % size];
            assert!(size == 1 || !verify_inclusion(other, at, tree.size(), &proof, &tree.root()));
            assert!(size == 1 || !verify_inclusion(entry, at ^ 1, tree.size(), &proof, &tree.root()));
            assert_eq!(root_from_path(leaves[index], tree.size() + at, tree.size(), &proof), None);
            let long = [&proof[..], &[[0; 32]]].concat();
            assert_eq!(root_from_path(leaves[index], at, tree.size(), &long), None);
            if let Some((_, short)) = proof.split_last() {
                assert_eq!(root_from_path(leaves[index], at, tree.size(), short), None);
            }
        }
        assert_eq!(tree.path(size as u64), None);
    }
    assert!(MerkleTree::new(&[]).is_none());
}

#[test]
fn every_pair_of_sizes_up_to_64_is_consistent_and_nothing_else() {
    let entries = entries(64);
    let leaves: Vec<Hash> = entries.iter().map(|entry| leaf_hash(entry)).collect();
    let trees: Vec<MerkleTree> = (1..=64).map(|size| MerkleTree::new(&entries[..size]).unwrap()).collect();
    for new in &trees {
        for old in &trees[..new.size() as usize] {
            let (old_size, size) = (old.size(), new.size());
            let proof = new.consistency(old_size).unwrap();
            let verifies = |old_root: &Hash, root: &Hash, proof: &[Hash]| {
                verify_consistency(old_size, old_root, size, root, proof)
            };
            assert!(verifies(&old.root(), &new.root(), &proof), "{old_size} to {size}");
            assert!(!verifies(&[7; 32], &new.root(), &proof));
            assert!(!verifies(&old.root(), &[7; 32], &proof));
            assert!(!verifies(&old.root(), &new.root(), &[&proof[..], &[[0; 32]]].concat()));
            for at in 0..proof.len() {
                let mut changed = proof.clone();
                changed[at][31] ^= 1;
                assert!(!verifies(&old.root(), &new.root(), &changed), "{old_size} to {size}, node {at}");
            }
            // Roots of somebody's choice do not help a proof of another length.
            let above = |root: &Hash| node_hash(&[0; 32], root);
            let long = [&proof[..], &[[0; 32]]].concat();
            assert!(!verifies(&above(&old.root()), &above(&new.root()), &long), "{old_size} to {size}");
            if let Some((_, short)) = proof.split_last() {
                assert!(!verifies(&old.root(), &new.root(), short));
            }
        }
        assert_eq!(new.consistency(0), None);
        assert_eq!(new.consistency(new.size() + 1), None);
    }
    assert!(!verify_consistency(0, &[0; 32], 1, &trees[0].root(), &[]));
    assert!(!verify_consistency(0, &leaves[0], 1, &leaves[0], &[leaves[0]]));
    // What leads from one leaf to two does not lead to four.
    assert!(!verify_consistency(1, &leaves[0], 4, &trees[1].root(), &[leaves[1]]));
    assert!(!verify_consistency(2, &trees[1].root(), 1, &trees[0].root(), &[]));
}

/// Sizes that only an attacker names: no overflow, no endless loop, no acceptance.
#[test]
fn absurd_sizes_are_refused() {
    let node = [1; 32];
    for size in [u64::MAX, u64::MAX - 1, 1 << 63] {
        for index in [0, 1, size / 2, size - 1] {
            assert_eq!(root_from_path(node, index, size, &[]), None);
            assert!(!verify_inclusion(b"x", index, size, &[node; 63], &node));
            assert!(!verify_consistency(index, &node, size, &node, &[node; 63]) || index == size);
        }
    }
}
