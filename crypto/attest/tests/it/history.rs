//! Proofs of a growing log: 2,000 sizes against the RFC's recursive definitions, and histories that fork.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
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

/// A fixed sequence: the same cases in every run.
fn runner(cases: u32) -> TestRunner {
    TestRunner::new_with_rng(Config::with_cases(cases), TestRng::deterministic_rng(RngAlgorithm::ChaCha))
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

/// Two clients were shown heads of histories that part after `common` entries. Anybody who has both heads sees it: they
/// have one size and two roots, or no proof connects them, whichever history the log answers from.
#[test]
fn no_proof_connects_the_heads_of_1_000_forks() {
    let case = (0usize..200, 1usize..100, 1usize..100, any::<u64>());
    runner(1_000)
        .run(&case, |(common, more, other, noise)| {
            let history = |name: u8, length: usize| -> MerkleTree {
                let entries: Vec<Hash> = (0..common + length)
                    .map(|index| entry(if index < common { 0 } else { name }, index))
                    .collect();
                MerkleTree::new(&entries).unwrap()
            };
            let (one, two) = (history(1, more), history(2, other));
            let (old, new) = if one.size() <= two.size() { (&one, &two) } else { (&two, &one) };
            // What the log can answer: a proof from either history, between any sizes near these, or anything.
            let mut answers =
                vec![Vec::new(), vec![old.root()], vec![new.root()], vec![old.root(), new.root()]];
            for tree in [&one, &two, &history(1, 200), &history(2, 200)] {
                for size in [old.size(), new.size(), common as u64, old.size().saturating_sub(noise % 5)] {
                    answers.extend(tree.consistency(size));
                }
            }
            for answer in answers {
                let connected = verify_consistency(old.size(), &old.root(), new.size(), &new.root(), &answer);
                prop_assert!(!connected, "{common} common, {more} and {other} more");
            }
            Ok(())
        })
        .unwrap();
}

/// The other half: heads of one history are connected by the log's own proof.
#[test]
fn heads_of_one_history_are_connected() {
    runner(200)
        .run(&(1usize..400, 0usize..200), |(old, more)| {
            let entries: Vec<Hash> = (0..old + more).map(|index| entry(0, index)).collect();
            let (old, new) = (MerkleTree::new(&entries[..old]).unwrap(), MerkleTree::new(&entries).unwrap());
            let proof = new.consistency(old.size()).unwrap();
            prop_assert!(verify_consistency(old.size(), &old.root(), new.size(), &new.root(), &proof));
            Ok(())
        })
        .unwrap();
}
