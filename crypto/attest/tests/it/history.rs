//! Proofs of a growing log: 2,000 sizes against the RFC's recursive definitions.

use std::collections::HashMap;

use trefoil_attest::tree::{Hash, MerkleTree, leaf_hash, node_hash, verify_consistency, verify_inclusion};

const SIZES: usize = 2_000;

/// MTH, PATH and SUBPROOF of RFC 9162 sections 2.1.1, 2.1.3.1 and 2.1.4.1 over `leaves[low..high]`, as they stand
/// there, apart from a memory of what was computed before.
struct Rfc {
    leaves: Vec<Hash>,
    known: HashMap<(usize, usize), Hash>,
}

impl Rfc {
    fn mth(&mut self, low: usize, high: usize) -> Hash {
        if high - low == 1 {
            return self.leaves[low];
        }
        if let Some(hash) = self.known.get(&(low, high)) {
            return *hash;
        }
        let middle = low + split(high - low);
        let hash = node_hash(&self.mth(low, middle), &self.mth(middle, high));
        self.known.insert((low, high), hash);
        hash
    }

    fn path(&mut self, index: usize, low: usize, high: usize) -> Vec<Hash> {
        if high - low == 1 {
            return Vec::new();
        }
        let middle = low + split(high - low);
        let (mut path, sibling) = match index < middle {
            true => (self.path(index, low, middle), self.mth(middle, high)),
            false => (self.path(index, middle, high), self.mth(low, middle)),
        };
        path.push(sibling);
        path
    }

    fn subproof(&mut self, size: usize, low: usize, high: usize, known: bool) -> Vec<Hash> {
        if size == high {
            return if known { Vec::new() } else { vec![self.mth(low, high)] };
        }
        let middle = low + split(high - low);
        let (mut proof, sibling) = match size <= middle {
            true => (self.subproof(size, low, middle, known), self.mth(middle, high)),
            false => (self.subproof(size, middle, high, false), self.mth(low, middle)),
        };
        proof.push(sibling);
        proof
    }
}

/// The largest power of two below `size`.
fn split(size: usize) -> usize {
    size.next_power_of_two() / 2
}

fn entry(history: u8, index: usize) -> Hash {
    leaf_hash(&[&[history][..], &index.to_be_bytes()].concat())
}

#[test]
fn proofs_of_2_000_sizes_are_those_of_the_rfc_and_verify() {
    let entries: Vec<Hash> = (0..SIZES).map(|index| entry(0, index)).collect();
    let mut rfc =
        Rfc { leaves: entries.iter().map(|entry| leaf_hash(entry)).collect(), known: HashMap::new() };
    for size in 1..=SIZES {
        let tree = MerkleTree::new(&entries[..size]).unwrap();
        let root = rfc.mth(0, size);
        assert_eq!(tree.root(), root);
        // The ends, and places that move through the tree with its size.
        for index in [0, size - 1, size / 2, 7 * size % 1_009 % size, 31 * size % 1_999 % size] {
            let path = tree.path(index as u64).unwrap();
            assert_eq!(path, rfc.path(index, 0, size), "leaf {index} of {size}");
            assert!(verify_inclusion(&entries[index], index as u64, size as u64, &path, &root));
            assert!(!verify_inclusion(&[9; 32], index as u64, size as u64, &path, &root));
        }
        for old in [1, size, size.div_ceil(2), 1 + 13 * size % 1_987 % size, 1 + 43 * size % 1_481 % size] {
            let proof = tree.consistency(old as u64).unwrap();
            assert_eq!(proof, rfc.subproof(old, 0, size, true), "{old} to {size}");
            let old_root = rfc.mth(0, old);
            assert!(verify_consistency(old as u64, &old_root, size as u64, &root, &proof));
            assert!(!verify_consistency(old as u64, &[9; 32], size as u64, &root, &proof));
        }
    }
}
