//! The growing log against the complete tree of the same entries.

use std::collections::HashMap;
use std::convert::Infallible;

use trefoil_attest::log::{Frontier, consistency, inclusion};
use trefoil_attest::tree::{EMPTY_ROOT, Hash, MerkleTree};

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

/// Claim S13.
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
