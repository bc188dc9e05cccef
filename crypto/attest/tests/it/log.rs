//! The growing log against the complete tree of the same entries.

use std::collections::HashMap;
use std::convert::Infallible;

use trefoil_attest::log::{Frontier, consistency, inclusion};
use trefoil_attest::tree::{EMPTY_ROOT, Hash, MerkleTree, verify_consistency, verify_inclusion};

/// What an issuer stores.
#[derive(Default)]
struct Stored {
    frontier: Frontier,
    entries: Vec<Hash>,
    nodes: HashMap<(u8, u64), Hash>,
}

impl Stored {
    fn of(size: u64) -> Self {
        let mut stored = Self::default();
        (0..size).for_each(|number| stored.push(number));
        stored
    }

    fn push(&mut self, number: u64) {
        let mut entry = [7; 32];
        entry[..8].copy_from_slice(&number.to_le_bytes());
        self.entries.push(entry);
        for (level, hash) in (0_u8..).zip(self.frontier.push(&entry)) {
            assert_eq!(self.nodes.insert((level, number >> level), hash), None, "a node is completed once");
        }
    }

    /// Nodes within the first `size` entries; asking for another one is a panic.
    fn within(&self, size: u64) -> impl FnMut(u8, u64) -> Result<Hash, Infallible> {
        move |level, number| {
            assert!((number + 1) << level <= size, "node {number} of level {level} is not within {size}");
            Ok(self.nodes[&(level, number)])
        }
    }
}

#[test]
fn the_root_of_a_growing_log_is_that_of_the_complete_tree() {
    let mut stored = Stored::default();
    assert_eq!((stored.frontier.size(), stored.frontier.root()), (0, EMPTY_ROOT));
    for number in 0..300 {
        stored.push(number);
        let tree = MerkleTree::new(&stored.entries).unwrap();
        assert_eq!((stored.frontier.size(), stored.frontier.root()), (tree.size(), tree.root()));
        let Ok(loaded) = Frontier::load(number + 1, stored.within(number + 1));
        assert_eq!(loaded, stored.frontier);
    }
    // 2n - 1 nodes for a power of two, fewer otherwise: nothing is stored twice.
    assert!(stored.nodes.len() < 600);
}

#[test]
fn proofs_from_stored_nodes_are_those_of_the_complete_tree() {
    const MOST: u64 = 70;
    let stored = Stored::of(MOST);
    for size in 1..=MOST {
        let tree = MerkleTree::new(&stored.entries[..size as usize]).unwrap();
        for other in 0..=MOST + 1 {
            let Ok(path) = inclusion(other, size, stored.within(size));
            assert_eq!(path, tree.path(other), "entry {other} of {size}");
            let Ok(proof) = consistency(other, size, stored.within(size));
            assert_eq!(proof, tree.consistency(other), "{other} to {size}");
        }
    }
}

/// Every pair of sizes up to 2,000 in steps that are coprime to the powers of two, and proofs for another entry or size
/// that must fail.
#[test]
fn proofs_verify_for_their_own_sizes_up_to_2000_and_no_other() {
    const MOST: u64 = 2000;
    let stored = Stored::of(MOST);
    let mut roots = vec![EMPTY_ROOT];
    let mut frontier = Frontier::EMPTY;
    for entry in &stored.entries {
        frontier.push(entry);
        roots.push(frontier.root());
    }
    let root = |size: u64| &roots[size as usize];
    for size in (1..=MOST).step_by(7).chain([1024, 1025, MOST]) {
        for other in (1..=size).step_by(131).chain([size.div_ceil(2), size]) {
            let Ok(Some(proof)) = consistency(other, size, stored.within(size)) else { panic!("no proof") };
            assert!(verify_consistency(other, root(other), size, root(size), &proof));
            assert!(!verify_consistency(other, root(other - 1), size, root(size), &proof) || other == size);
            assert!(other == size || !verify_consistency(other + 1, root(other), size, root(size), &proof));
            let entry = &stored.entries[other as usize - 1];
            let Ok(Some(path)) = inclusion(other - 1, size, stored.within(size)) else { panic!("no path") };
            assert!(verify_inclusion(entry, other - 1, size, &path, root(size)));
            assert!(size == 1 || !verify_inclusion(entry, other % size, size, &path, root(size)));
        }
    }
}
