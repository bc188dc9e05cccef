//! A thousand histories that fork, made from a seed so that nothing but a digest of them is stored.

use sha2::{Digest as _, Sha256};
use trefoil_attest::tree::{Hash, MerkleTree, leaf_hash, verify_consistency};

use super::{committed, text};

/// Two histories that part after `common` entries, of which two clients have seen one head each.
struct Fork {
    /// The shorter one, and the same up to the other's length.
    old: MerkleTree,
    old_grown: MerkleTree,
    /// The longer one, and the same down to the other's length.
    new: MerkleTree,
    new_before: MerkleTree,
}

impl Fork {
    /// Fork `number`: bytes 0 to 2 of SHA-256(seed | number, 4 bytes big endian) give the entries in common, 0 to 63, and
    /// what each history has more, 1 to 32.
    fn new(seed: &str, number: u32) -> Self {
        let random = Sha256::new().chain_update(seed).chain_update(number.to_be_bytes()).finalize();
        let common = u64::from(random[0] % 64);
        let (one, two) = (common + 1 + u64::from(random[1] % 32), common + 1 + u64::from(random[2] % 32));
        let tree = |history: u8, size: u64| {
            let leaf = |index: u64| {
                let name = if index < common { 0 } else { history };
                leaf_hash(&[&[name][..], &index.to_be_bytes()].concat())
            };
            MerkleTree::from_leaf_hashes((0..size).map(leaf).collect()).unwrap()
        };
        let ((old, old_size), (new, size)) =
            if one <= two { ((1, one), (2, two)) } else { ((2, two), (1, one)) };
        Self {
            old: tree(old, old_size),
            old_grown: tree(old, size),
            new: tree(new, size),
            new_before: tree(new, old_size),
        }
    }

    /// What either history answers when asked for the proof.
    fn proofs(&self) -> [Vec<Hash>; 2] {
        [&self.new, &self.old_grown].map(|tree| tree.consistency(self.old.size()).unwrap())
    }
}

/// SHA-256 over each fork's two roots and two proofs: anybody who has the same digest has tested the same forks.
fn digest(seed: &str, count: u32) -> String {
    let mut all = Sha256::new();
    for number in 0..count {
        let fork = Fork::new(seed, number);
        let roots = [fork.old.root(), fork.new.root()];
        fork.proofs().iter().fold(&mut all, |all, proof| {
            proof.iter().for_each(|node| all.update(node));
            all
        });
        roots.iter().for_each(|root| all.update(root));
    }
    hex::encode(all.finalize())
}

/// Claim S17: An auditor that keeps a head of the log detects every fork, whatever the log answers, and an audit from there finds a
/// tampered database.
#[test]
fn every_fork_is_seen_whatever_the_log_answers() {
    let vectors = &committed()["forks"];
    let (seed, count) = (text(&vectors["seed"]), vectors["count"].as_u64().unwrap() as u32);
    assert!(count >= 1_000);
    assert_eq!(digest(seed, count), text(&vectors["digest"]));
    for number in 0..count {
        let fork = Fork::new(seed, number);
        let (old, new) = (fork.old.root(), fork.new.root());
        let connects = |old: &Hash, new: &Hash, proof: &[Hash]| {
            verify_consistency(fork.old.size(), old, fork.new.size(), new, proof)
        };
        let [theirs, ours] = fork.proofs();
        for answer in [&theirs[..], &ours, &[], &[old], &[new], &[old, new]] {
            assert!(!connects(&old, &new, answer), "fork {number}");
        }
        // Within either history the proofs hold.
        assert!(connects(&fork.new_before.root(), &new, &theirs), "fork {number}");
        assert!(connects(&old, &fork.old_grown.root(), &ours), "fork {number}");
    }
}
