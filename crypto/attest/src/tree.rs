//! The Merkle tree of RFC 9162 section 2.1 with SHA-256, over 32-byte entries.

use alloc::vec;
use alloc::vec::Vec;

use sha2::{Digest as _, Sha256};

/// A node of the tree.
pub type Hash = [u8; 32];

/// Longest path of a tree with at most 2^63 leaves.
pub const PATH_MAX: usize = 63;

/// Root of the tree without leaves: SHA-256 of nothing (RFC 9162 section 2.1.1).
pub const EMPTY_ROOT: Hash = [
    0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27,
    0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
];

/// Hash of a leaf: SHA-256(0x00 | entry).
#[must_use]
pub fn leaf_hash(entry: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(entry).finalize().into()
}

/// Hash of an inner node: SHA-256(0x01 | left | right).
#[must_use]
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

/// What hashes the nodes of a [`MerkleTree`]: many that are independent at a time, if it can.
pub trait TreeHasher {
    /// Writes the [`leaf_hash`] of each entry; as many of one as of the other.
    fn leaves(&self, entries: &[Hash], hashes: &mut [Hash]);

    /// Writes the [`node_hash`] of each pair of children; as many parents as pairs.
    fn nodes(&self, children: &[[Hash; 2]], parents: &mut [Hash]);
}

/// One node after the other.
struct OneByOne;

impl TreeHasher for OneByOne {
    fn leaves(&self, entries: &[Hash], hashes: &mut [Hash]) {
        for (hash, entry) in hashes.iter_mut().zip(entries) {
            *hash = leaf_hash(entry);
        }
    }

    fn nodes(&self, children: &[[Hash; 2]], parents: &mut [Hash]) {
        for (parent, [left, right]) in parents.iter_mut().zip(children) {
            *parent = node_hash(left, right);
        }
    }
}

/// A complete tree with all its nodes in memory (about 64 bytes per leaf).
///
/// Level 0 holds the leaf hashes. A node without a right sibling moves up unchanged, which gives the same hashes as
/// the RFC's split at the largest power of two.
#[derive(Clone, Debug)]
pub struct MerkleTree {
    levels: Vec<Vec<Hash>>,
}

impl MerkleTree {
    /// The tree over `entries`; none where there is no entry.
    #[must_use]
    pub fn new(entries: &[[u8; 32]]) -> Option<Self> {
        Self::hashed_by(&OneByOne, entries)
    }

    /// The tree over `entries` by another hasher; none where there is no entry. What the hasher gives is not checked: with other
    /// hashes no proof from the tree verifies.
    #[must_use]
    pub fn hashed_by(hasher: &impl TreeHasher, entries: &[[u8; 32]]) -> Option<Self> {
        let mut leaves = vec![[0; 32]; entries.len()];
        hasher.leaves(entries, &mut leaves);
        Self::over(hasher, leaves)
    }

    /// The tree over leaves that are hashed already; none where there is no leaf.
    #[must_use]
    pub fn from_leaf_hashes(leaves: Vec<Hash>) -> Option<Self> {
        Self::over(&OneByOne, leaves)
    }

    fn over(hasher: &impl TreeHasher, leaves: Vec<Hash>) -> Option<Self> {
        if leaves.is_empty() {
            return None;
        }
        let mut levels = Vec::with_capacity(1 + leaves.len().ilog2() as usize + 1);
        let mut level = leaves;
        while level.len() > 1 {
            let (pairs, single) = level.as_chunks();
            let mut parents = vec![[0; 32]; pairs.len()];
            hasher.nodes(pairs, &mut parents);
            parents.extend_from_slice(single);
            levels.push(core::mem::replace(&mut level, parents));
        }
        levels.push(level);
        Some(Self { levels })
    }

    /// Number of leaves, at least 1.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.levels[0].len() as u64
    }

    /// The root hash.
    #[must_use]
    pub fn root(&self) -> Hash {
        self.levels[self.levels.len() - 1][0]
    }

    /// Inclusion path of a leaf (RFC 9162 section 2.1.3.1), from the leaf upwards; none beyond the last leaf.
    #[must_use]
    pub fn path(&self, index: u64) -> Option<Vec<Hash>> {
        let mut index = usize::try_from(index).ok().filter(|&index| index < self.levels[0].len())?;
        let mut path = Vec::with_capacity(self.levels.len());
        for level in &self.levels[..self.levels.len() - 1] {
            path.extend(level.get(index ^ 1));
            index >>= 1;
        }
        Some(path)
    }

    /// Consistency proof from the tree of the first `size` leaves to this one (RFC 9162 section 2.1.4.1); none
    /// where `size` is 0 or larger than this tree.
    #[must_use]
    pub fn consistency(&self, size: u64) -> Option<Vec<Hash>> {
        let size = usize::try_from(size).ok().filter(|&size| (1..=self.levels[0].len()).contains(&size))?;
        let mut proof = Vec::new();
        let (mut low, mut high) = (0, self.levels[0].len());
        let mut known = true;
        // SUBPROOF(m, D[low:high], known), iterated; the RFC appends a sibling after the recursion, so the order
        // is reversed at the end.
        while size != high {
            let middle = low + (high - low).next_power_of_two() / 2;
            if size <= middle {
                proof.push(self.subtree(middle, high));
                high = middle;
            } else {
                proof.push(self.subtree(low, middle));
                low = middle;
                known = false;
            }
        }
        if !known {
            proof.push(self.subtree(low, high));
        }
        proof.reverse();
        Some(proof)
    }

    /// Hash of leaves `low..high`, a subtree of the split: `low` is aligned to the next power of two of its width.
    fn subtree(&self, low: usize, high: usize) -> Hash {
        let level = (high - low).next_power_of_two().trailing_zeros() as usize;
        self.levels[level][low >> level]
    }
}

/// The root that `path` leads to from a leaf (RFC 9162 section 2.1.3.2); none where the path has the wrong length or
/// the index lies outside the tree.
#[must_use]
pub fn root_from_path(leaf: Hash, index: u64, size: u64, path: &[Hash]) -> Option<Hash> {
    if index >= size {
        return None;
    }
    let (mut index, mut last, mut hash) = (index, size - 1, leaf);
    for sibling in path {
        if last == 0 {
            return None;
        }
        if index & 1 == 1 || index == last {
            hash = node_hash(sibling, &hash);
            while index & 1 == 0 && index != 0 {
                index >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        index >>= 1;
        last >>= 1;
    }
    (last == 0).then_some(hash)
}

/// Whether `entry` is leaf `index` of the tree of `size` leaves with this root.
#[must_use]
pub fn verify_inclusion(entry: &[u8], index: u64, size: u64, path: &[Hash], root: &Hash) -> bool {
    root_from_path(leaf_hash(entry), index, size, path).is_some_and(|computed| computed == *root)
}

/// Whether the tree of `size` leaves with root `root` extends the one of `old_size` leaves with root `old_root`
/// (RFC 9162 section 2.1.4.2).
#[must_use]
pub fn verify_consistency(old_size: u64, old_root: &Hash, size: u64, root: &Hash, proof: &[Hash]) -> bool {
    if old_size == 0 || old_size > size {
        return false;
    }
    if old_size == size {
        return proof.is_empty() && old_root == root;
    }
    // Step 2: a perfect old tree is a node of the new one and is not repeated in the proof.
    let (seed, rest) = match (old_size.is_power_of_two(), proof.split_first()) {
        (true, _) => (old_root, proof),
        (false, Some((first, rest))) => (first, rest),
        (false, None) => return false,
    };
    let (mut first, mut second) = (old_size - 1, size - 1);
    while first & 1 == 1 {
        first >>= 1;
        second >>= 1;
    }
    let (mut old_hash, mut new_hash) = (*seed, *seed);
    for node in rest {
        if second == 0 {
            return false;
        }
        if first & 1 == 1 || first == second {
            old_hash = node_hash(node, &old_hash);
            new_hash = node_hash(node, &new_hash);
            while first & 1 == 0 && first != 0 {
                first >>= 1;
                second >>= 1;
            }
        } else {
            new_hash = node_hash(&new_hash, node);
        }
        first >>= 1;
        second >>= 1;
    }
    second == 0 && old_hash == *old_root && new_hash == *root
}
