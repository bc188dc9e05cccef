//! FORS (FIPS 205 section 8): 33 trees of 64 secret values, of which each signature shows one per tree.

use trefoil_kernels::sha256::LANES;
use zeroize::Zeroizing;

use super::address::{Address, AddressLanes, Kind};
use super::tree::pair;
use super::tweaked_hash::{Compression, Node, NodeLanes, TweakedHash, append, broadcast, gather, lane};

/// Trees: k.
const TREES: usize = 33;

/// Height of a tree: a.
const HEIGHT: usize = 6;

/// Leaves of a tree.
const LEAVES: usize = 1 << HEIGHT;

/// Bytes of a message: 33 indices of 6 bits.
pub(super) const MESSAGE_BYTES: usize = (TREES * HEIGHT).div_ceil(8);

/// Nodes of a signature: of each tree a secret value and its authentication path.
pub(super) const SIGNATURE_NODES: usize = TREES * (1 + HEIGHT);

/// Algorithms 16 and 17: appends the signature of `message` by the key at `(tree, key_pair)` of the hypertree's lowest
/// layer, and returns the public key.
pub(super) fn sign<C: Compression>(
    hash: &mut TweakedHash<C>,
    sk_seed: &NodeLanes,
    message: &[u8; MESSAGE_BYTES],
    at: (u64, u32),
    signature: &mut Vec<u8>,
) -> Node {
    let indices = indices(message);
    let mut secrets = [Node::default(); TREES];
    let mut nodes = Nodes::with_capacity(TREES * LEAVES);
    // SK.seed, the secret values, the leaves: each comes of the one before.
    let mut values = Zeroizing::new([*sk_seed, [[0; LANES]; 4], [[0; LANES]; 4]]);
    let mut addresses = AddressLanes::new(|_| address(at, Kind::ForsPrf, 0, 0));
    for first in (0..TREES * LEAVES).step_by(LANES) {
        addresses.set_indices(first);
        addresses.set_kind(Kind::ForsPrf);
        hash.chain(&addresses, &mut values[..2]);
        addresses.set_kind(Kind::ForsTree);
        hash.chain(&addresses, &mut values[1..]);
        nodes.extend(&values[2], LANES);
        let shown = first / LEAVES * LEAVES + indices[first / LEAVES];
        if (first..first + LANES).contains(&shown) {
            secrets[first / LEAVES] = lane(&values[1], shown - first);
        }
    }
    let mut siblings = [[Node::default(); HEIGHT]; TREES];
    for height in 0..HEIGHT {
        let width = LEAVES >> height;
        for (tree, (siblings, index)) in siblings.iter_mut().zip(indices).enumerate() {
            siblings[height] = nodes.get(tree * width + (index >> height ^ 1));
        }
        nodes = nodes.parents(hash, |index| address(at, Kind::ForsTree, height + 1, index));
    }
    for (secret, siblings) in secrets.iter().zip(siblings) {
        append(signature, *secret);
        siblings.iter().for_each(|&node| append(signature, node));
    }
    roots(hash, at, |tree| nodes.get(tree))
}

/// Algorithm 17 of FIPS 205 section 8.4: the public key that the nodes of a signature of `message` lead to.
pub(super) fn public_key<C: Compression>(
    hash: &mut TweakedHash<C>,
    message: &[u8; MESSAGE_BYTES],
    at: (u64, u32),
    nodes: &[Node],
) -> Node {
    let mut indices = indices(message);
    indices.iter_mut().enumerate().for_each(|(tree, index)| *index += tree * LEAVES);
    let mut climbed = [Node::default(); TREES];
    for first in (0..TREES).step_by(LANES) {
        let tree = |lane: usize| (first + lane).min(TREES - 1);
        let addresses = AddressLanes::new(|lane| address(at, Kind::ForsTree, 0, indices[tree(lane)]));
        let leaves = hash.f(&addresses, &gather(|lane| nodes[tree(lane) * (1 + HEIGHT)]));
        climbed[first..].iter_mut().take(LANES).enumerate().for_each(|(i, leaf)| *leaf = lane(&leaves, i));
    }
    for height in 0..HEIGHT {
        let pairs: Vec<_> = climbed
            .iter()
            .zip(nodes.chunks(1 + HEIGHT))
            .zip(&mut indices)
            .map(|((node, nodes), index)| {
                let pair = pair(*node, nodes[1 + height], *index as u32);
                *index /= 2;
                (address(at, Kind::ForsTree, height + 1, *index), pair)
            })
            .collect();
        climbed.copy_from_slice(&hash.h(&pairs));
    }
    roots(hash, at, |tree| climbed[tree])
}

/// Nodes of one height of all trees, by word.
struct Nodes([Vec<u32>; 4]);

impl Nodes {
    fn with_capacity(nodes: usize) -> Self {
        Self([(); 4].map(|()| Vec::with_capacity(nodes)))
    }

    fn extend(&mut self, lanes: &NodeLanes, count: usize) {
        self.0.iter_mut().zip(lanes).for_each(|(row, words)| row.extend_from_slice(&words[..count]));
    }

    fn get(&self, index: usize) -> Node {
        self.0.each_ref().map(|words| words[index])
    }

    /// The nodes above.
    fn parents<C: Compression>(&self, hash: &mut TweakedHash<C>, at: impl Fn(usize) -> Address) -> Self {
        let count = self.0[0].len() / 2;
        let mut parents = Self::with_capacity(count);
        let mut addresses = AddressLanes::new(|_| at(0));
        for first in (0..count).step_by(LANES) {
            let mut sides = [[[0; LANES]; 4]; 2];
            for (word, words) in self.0.iter().enumerate() {
                for (lane, pair) in words[2 * first..].as_chunks::<2>().0.iter().take(LANES).enumerate() {
                    [sides[0][word][lane], sides[1][word][lane]] = *pair;
                }
            }
            addresses.set_indices(first);
            parents.extend(&hash.h_lanes(&addresses, &sides), LANES.min(count - first));
        }
        parents
    }
}

/// The public key: the roots of all trees, compressed.
fn roots<C: Compression>(hash: &mut TweakedHash<C>, at: (u64, u32), root: impl Fn(usize) -> Node) -> Node {
    let addresses = AddressLanes::new(|_| address(at, Kind::ForsRoots, 0, 0));
    lane(&hash.t(&addresses, TREES, |tree| broadcast(root(tree))), 0)
}

fn address((tree, key_pair): (u64, u32), kind: Kind, height: usize, index: usize) -> Address {
    Address { layer: 0, tree, kind, key_pair, chain_or_height: height as u32, hash_or_index: index as u32 }
}

/// Algorithm 4: which leaf of each tree the message selects.
fn indices(message: &[u8; MESSAGE_BYTES]) -> [usize; TREES] {
    let bit = |i: usize| usize::from(message[i / 8] >> (7 - i % 8) & 1);
    std::array::from_fn(|tree| (0..HEIGHT).fold(0, |index, i| index << 1 | bit(HEIGHT * tree + i)))
}
